"""Racks: every goal leaves a partition in as many racks as before, or in as many as the remaining brokers have."""

import itertools
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from tests.planner.clusters import MIB, QUICK, broken_rules, brokers, partition, spread, topic
from tests.planner.column_plans import make_plan
from tests.planner.shapes import roomy, shaped, without_gain

HEAL = Goal(GoalKind.HEAL)
EIGHT_ROUNDS = PlanOptions(rounds=8, effort=Effort.QUICK)


def targets(made: Plan) -> list[tuple[int, ...]]:
    return [move.target for move in made.moves]


def three_racks(*new: str) -> PlannerCluster:
    """Brokers 1 to 6 in racks a, b, c with 300 partitions, each in all three racks; 7 and on are new and empty."""
    parts = []
    for n in range(300):
        one = (1 + n % 2, 3 + n // 2 % 2, 5 + n // 4 % 2)
        parts.append(partition(n, *one[n % 3 :], *one[: n % 3]))
    return PlannerCluster(brokers(["a", "a", "b", "b", "c", "c", *new]), [topic("t", *parts)])


@pytest.mark.parametrize("new", [("a",), ("a", "b"), ("a", "b", "c")], ids="".join)
def test_dp_2_new_brokers_in_some_racks_take_their_share_and_no_partition_loses_a_rack(new: tuple[str, ...]) -> None:
    cluster = three_racks(*new)
    added = tuple(range(7, 7 + len(new)))
    goal = Goal(GoalKind.EXPAND, added)
    made = make_plan(cluster, goal)
    assert [spread(cluster, move.target) for move in made.moves] == [3] * len(made.moves)
    assert broken_rules(cluster, goal, made, 0.05) == []
    fair = 900 / (6 + len(new))
    assert all(made.summary.after[broker].replicas >= 0.9 * fair for broker in added)


def test_dp_2_a_rebalance_and_a_drain_keep_the_racks_of_brokers_that_get_nothing() -> None:
    """Broker 7 is alone in rack d and full: it gets nothing, and its rack counts all the same."""
    full = PlannerBroker(7, "d", True, 1 << 20, 0)
    room = [PlannerBroker(n, rack, True, 1 << 40, 1 << 39) for n, rack in enumerate("aabbcc", 1)]
    parts = [partition(n, 1 + n % 2, 3 + n // 2 % 2, 7) for n in range(60)]
    cluster = PlannerCluster([*room, full], [topic("t", *parts)])
    for goal in (Goal(GoalKind.REBALANCE), Goal(GoalKind.DRAIN, (1,))):
        made = make_plan(cluster, goal, EIGHT_ROUNDS)
        assert made.moves
        assert broken_rules(cluster, goal, made, 0.05) == []


def test_46_3_a_lost_broker_whose_rack_nobody_knows_is_not_one_more_rack() -> None:
    """Three racks are there, one of them is full: a partition of 1, 2 and the lost broker was in two racks for sure."""
    listed = [
        *(PlannerBroker(n, rack, True, 1000, 900) for n, rack in ((1, "a"), (2, "b"), (4, "a"))),
        PlannerBroker(5, "c", True, 1000, 0),
        PlannerBroker(3, None, False),
    ]
    lost = topic("t", partition(0, 1, 2, 3, live=[1, 2], size=10))
    made = make_plan(PlannerCluster(listed, [lost]), HEAL)
    assert targets(made) == [(1, 2, 4)]
    assert made.left_out == ()


def test_46_3_a_lost_broker_whose_rack_is_known_counts_with_it() -> None:
    listed = [
        *(PlannerBroker(n, rack, True, 1000, 900) for n, rack in ((1, "a"), (2, "b"), (4, "a"))),
        PlannerBroker(5, "c", True, 1000, 0),
        PlannerBroker(3, "c", False),
    ]
    lost = topic("t", partition(0, 1, 2, 3, live=[1, 2], size=10))
    (left,) = make_plan(PlannerCluster(listed, [lost]), HEAL).left_out
    assert left.reason == "no broker has room that leaves the partition as even over racks as it was"


SMALLER = [
    # replicas, leader, ISR, racks, the two that stay
    ((1, 2, 3), 1, (1, 2, 3), "aba", (1, 2)),
    ((1, 2, 3), 3, (1, 2, 3), "aba", (2, 3)),  # the preferred leader shares the leader's rack
    ((1, 2, 3), 3, (1, 3), "aba", (2, 3)),  # rack b is worth more than a replica in sync
    ((1, 2, 3), 1, (1, 3), "abc", (1, 3)),
    ((1, 2, 3, 4), 2, (1, 2, 3, 4), "aabb", (2, 3)),
    ((1, 2, 3, 4), 4, (2, 3, 4), "abab", (3, 4)),
]


@pytest.mark.parametrize(("replicas", "leader", "isr", "racks", "kept"), SMALLER)
def test_dp_2_a_smaller_factor_keeps_the_leader_and_finds_the_replicas_that_keep_the_racks(
    replicas: tuple[int, ...], leader: int, isr: tuple[int, ...], racks: str, kept: tuple[int, ...]
) -> None:
    # The emptiest broker decides among equals.
    listed = [PlannerBroker(n, rack, True, 1000, 900 - n) for n, rack in enumerate(racks, 1)]
    cluster = PlannerCluster(listed, [topic("t", PlannerPartition(0, replicas, leader, isr, bytes=5))])
    goal = Goal(GoalKind.SET_FACTOR, factor=2)
    made = make_plan(cluster, goal)
    assert made.left_out == ()
    assert targets(made) == [kept]
    assert broken_rules(cluster, goal, made, 0.05) == []


def test_dp_2_a_smaller_factor_that_only_lost_replicas_could_give_is_left_out_with_the_reason() -> None:
    held = partition(0, 1, 2, 3, live=[1, 2])
    one, two = (Goal(GoalKind.SET_FACTOR, factor=factor) for factor in (1, 2))
    made = make_plan(PlannerCluster(brokers("aab", dead=[3]), [topic("t", held)]), one)
    assert targets(made) == [(1,)], "one rack is all that one replica can have"
    made = make_plan(PlannerCluster(brokers("aabb", dead=[3]), [topic("t", held)]), two)
    assert [one.reason for one in made.left_out] == [
        "its live replicas are less even over racks than all of them: heal it first"
    ]
    made = make_plan(PlannerCluster(brokers("aabb", dead=[2, 3]), [topic("t", held)]), two)
    assert [one.reason for one in made.left_out] == ["brokers 2, 3 are not live: heal it first"]


@pytest.mark.parametrize(
    ("racks", "dead", "replicas"),
    [
        ((None, None, None, "a", "a"), (2, 4), (1, 2, 3, 4)),  # broker 5 could have what 4 had, and 2 may go
        (("b", "c", "b", "a"), (4,), (1, 3, 4)),  # broker 2 could have what 4 had
    ],
)
def test_dp_2_a_smaller_factor_gives_up_no_rack_that_a_repair_would_keep(
    racks: tuple[str | None, ...], dead: tuple[int, ...], replicas: tuple[int, ...]
) -> None:
    """Both replicas that are left would share a rack. What is lost of unknown rack leaves first."""
    listed = [PlannerBroker(n, rack, n not in dead) for n, rack in enumerate(racks, 1)]
    held = PlannerPartition(0, replicas, 3, (3,))
    made = make_plan(PlannerCluster(listed, [topic("t", held)]), Goal(GoalKind.SET_FACTOR, factor=2))
    assert (made.moves, [one.reason for one in made.left_out]) == (
        (),
        ["its live replicas are less even over racks than all of them: heal it first"],
    )


GOALS = [
    (HEAL, 1, 0),
    (Goal(GoalKind.DRAIN, (1, 2)), 0, 0),
    (Goal(GoalKind.EXPAND, (10, 11)), 0, 2),
    (Goal(GoalKind.REBALANCE), 0, 0),
    (Goal(GoalKind.SET_FACTOR, factor=4), 0, 0),
]


@pytest.mark.parametrize(("goal", "lost", "fresh"), GOALS, ids=lambda one: getattr(one, "kind", ""))
def test_dp_8_a_copy_that_is_made_anyway_goes_where_the_partition_gains_a_rack(
    goal: Goal, lost: int, fresh: int
) -> None:
    cluster = roomy(shaped("plain", 12, 400, lost=lost, fresh=fresh))
    made = make_plan(cluster, goal, EIGHT_ROUNDS)
    places = {one.id for one in cluster.brokers if one.live}
    if goal.kind is GoalKind.EXPAND:
        places = set(goal.brokers)
    elif goal.kind is GoalKind.DRAIN:
        places -= set(goal.brokers)
    assert any(set(move.target) - set(move.original) for move in made.moves)
    assert without_gain(cluster, made.moves, places) == []


def on_too_few_racks(cluster: PlannerCluster, targets: Mapping[tuple[str, int], tuple[int, ...]]) -> dict[Any, int]:
    """The partitions that are on fewer racks than possible, or have more than ⌈RF/racks⌉ replicas in one, and how many
    copies they lack. All brokers have racks."""
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    there = len({broker.rack for broker in cluster.brokers if broker.live})
    found = {}
    for one in cluster.topics:
        for held in one.partitions:
            replicas = targets.get((one.name, held.index), held.replicas)
            counts = Counter(racks[broker] for broker in replicas)
            above = sum(max(0, count - -(-len(replicas) // there)) for count in counts.values())
            lacking = max(above, min(len(replicas), there) - len(counts))
            if lacking > 0:
                found[one.name, held.index] = lacking
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_dp_8_a_plan_of_its_own_mends_every_rack_violation_and_copies_one_replica_for_each_rack(seed: int) -> None:
    cluster = roomy(shaped("plain", 12, 400, seed=seed))
    lacking = on_too_few_racks(cluster, {})
    made = make_plan(cluster, Goal(GoalKind.RACKS))
    assert len(lacking) > 20
    assert {move[:2] for move in made.moves} == lacking.keys()
    assert on_too_few_racks(cluster, {move[:2]: move.target for move in made.moves}) == {}
    sizes = {(one.name, held.index): held.bytes for one in cluster.topics for held in one.partitions}
    assert made.summary.bytes == made.summary.lower_bound == sum(sizes[name] * count for name, count in lacking.items())
    assert broken_rules(cluster, Goal(GoalKind.RACKS), made, 0.05) == []


def test_dp_8_a_rebalance_can_mend_all_racks_before_it_balances() -> None:
    cluster = roomy(shaped("plain", 12, 400))
    goal = Goal(GoalKind.REBALANCE, racks=True)
    made = make_plan(cluster, goal, QUICK)
    assert on_too_few_racks(cluster, {move[:2]: move.target for move in made.moves}) == {}
    mended = make_plan(cluster, Goal(GoalKind.RACKS)).summary
    after = made.summary.imbalance_after
    assert all(after[name] < mended.imbalance_after[name] for name in ("bytes", "replicas", "leaders"))
    assert made.summary.bytes >= made.summary.lower_bound >= mended.bytes
    assert broken_rules(cluster, goal, made, 0.05) == []


def test_dp_8_a_rebalance_that_spreads_topics_too_mends_all_racks_first() -> None:
    """The round that measures topics before all is no round that mends."""
    cluster = roomy(shaped("plain", 12, 400))
    goal = Goal(GoalKind.REBALANCE, racks=True)
    made = make_plan(
        cluster, goal, msgspec.structs.replace(QUICK, weights=GoalWeights(topic_replicas=1, topic_leaders=1))
    )
    assert on_too_few_racks(cluster, {move[:2]: move.target for move in made.moves}) == {}
    assert not made.left_out


def test_dp_8_the_replica_that_shares_a_rack_and_is_needed_least_gives_way() -> None:
    """Of three in rack a the two that stay are the leader's and one in sync; a full rack is no way out."""
    listed = [PlannerBroker(n, rack, True, 1000, 900) for n, rack in enumerate("aaab", 1)]
    held = PlannerPartition(0, (1, 2, 3), 3, (2, 3), bytes=5), PlannerPartition(1, (1, 4), 1, (1, 4), bytes=5)
    cluster = PlannerCluster(listed, [topic("t", *held)])
    assert targets(make_plan(cluster, Goal(GoalKind.RACKS))) == [(4, 2, 3)]
    full = PlannerCluster([*listed[:3], PlannerBroker(4, "b", True, 1000, 3)], cluster.topics)
    made = make_plan(full, Goal(GoalKind.RACKS))
    assert [one.reason for one in made.left_out] == ["no broker of another rack has room for it"]
    made = make_plan(
        PlannerCluster([*listed[:2], PlannerBroker(3, "a", False), listed[3]], cluster.topics), Goal(GoalKind.RACKS)
    )
    assert [one.reason for one in made.left_out] == ["broker 3 is not live: heal it first"]


def test_dp_8_brokers_without_a_rack_mend_nothing_and_partitions_there_are_left_alone() -> None:
    """`audit` reports only what it can tell: partition 1 has a replica on broker 3, which has no rack."""
    held = partition(0, 1, 2), partition(1, 1, 3), partition(2, 1, 2, 3)
    cluster = PlannerCluster(brokers(["a", "a", None, "b"]), [topic("t", *held)])
    made = make_plan(cluster, Goal(GoalKind.RACKS))
    assert [(move.partition, set(move.target) - {1, 2}) for move in made.moves] == [(0, {4})]
    for goal in (Goal(GoalKind.RACKS), Goal(GoalKind.REBALANCE, racks=True)):
        with pytest.raises(PlanError, match="no live broker has a rack"):
            make_plan(PlannerCluster(brokers([None, None]), []), goal)
        with pytest.raises(PlanError, match="have no limit"):
            make_plan(cluster, goal, PlanOptions(max_bytes=5))
    with pytest.raises(PlanError, match="only a rebalance"):
        make_plan(cluster, Goal(GoalKind.HEAL, racks=True))


NO_SOURCE = "no live replica is in sync: there is nothing to copy from"


@pytest.mark.parametrize(
    "goal",
    [
        HEAL,
        Goal(GoalKind.DRAIN, (1,)),
        Goal(GoalKind.SET_FACTOR, factor=3),
        Goal(GoalKind.SET_FACTOR, factor=1),
    ],
    ids=lambda goal: f"{goal.kind}{goal.factor or ''}",
)
def test_dp_2_a_partition_without_a_live_replica_in_sync_is_left_out_with_the_reason(goal: Goal) -> None:
    """Broker 1 is lost. It alone was in sync on t-0; on t-1 broker 2 is as well."""
    held = (PlannerPartition(0, (1, 2), -1, (1,), bytes=5), PlannerPartition(1, (1, 2), 2, (1, 2), bytes=5))
    made = make_plan(PlannerCluster(brokers("abab", dead=[1]), [topic("t", *held)]), goal)
    reasons = {one.partition: one.reason for one in made.left_out}
    assert reasons[0] == NO_SOURCE
    assert reasons.get(1) != NO_SOURCE


@pytest.mark.parametrize("goal", [Goal(GoalKind.REBALANCE), Goal(GoalKind.EXPAND, (3,))], ids=lambda goal: goal.kind)
def test_dp_2_balancing_leaves_partitions_without_a_live_replica_in_sync_alone(goal: Goal) -> None:
    """All brokers are live, but no replica on brokers 1 and 2 is in sync: their log dirs are offline."""
    held = [PlannerPartition(n, (1, 2), -1, (), bytes=5) for n in range(20)]
    made = make_plan(PlannerCluster(brokers("aaa"), [topic("t", *held)]), goal)
    assert made.moves == ()
    assert {one.reason for one in made.left_out} == {NO_SOURCE}


EVEN_GOALS = [
    Goal(GoalKind.DRAIN, (1,)),
    HEAL,
    Goal(GoalKind.REBALANCE),
    Goal(GoalKind.EXPAND, (9, 10)),
    Goal(GoalKind.SET_FACTOR, factor=5),
    Goal(GoalKind.SET_FACTOR, factor=3),
]


@pytest.mark.parametrize("goal", EVEN_GOALS, ids=lambda goal: f"{goal.kind}{goal.factor or ''}")
def test_dp_10_replicas_that_are_even_over_two_racks_stay_so_whatever_the_goal(goal: Goal) -> None:
    """Four replicas, two in each rack; brokers 9 and 10 are empty, so that one would like to give them more."""
    chance, parts = random.Random(7), []
    for n in range(200):
        replicas = [*chance.sample((1, 2, 3, 4), 2), *chance.sample((5, 6, 7, 8), 2)]
        chance.shuffle(replicas)
        parts.append(partition(n, *replicas, live=set(replicas) - ({1} if goal == HEAL else set()), size=MIB + n))
    dead = [1] if goal == HEAL else []
    cluster = PlannerCluster(brokers([*"aaaabbbb", "b", "a"], dead=dead), [topic("t", *parts)])
    made = make_plan(cluster, goal, EIGHT_ROUNDS)
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    assert len(made.moves) > 30
    assert made.left_out == ()
    for move in made.moves:
        held = Counter(racks[broker] for broker in move.target)
        assert max(held.values()) == -(-len(move.target) // 2), f"{move.original} to {move.target}"


def test_dp_10_a_copy_that_is_made_anyway_makes_an_uneven_partition_more_even() -> None:
    """Three replicas in rack a, one in rack b: one of the three leaves broker 1 for rack b, whatever is emptier."""
    parts = [partition(n, 1, *chosen, 5 + n % 3) for n, chosen in enumerate(itertools.permutations((2, 3, 4), 2))]
    cluster = PlannerCluster(brokers("aaaabbbba"), [topic("t", *parts)])
    made = make_plan(cluster, Goal(GoalKind.DRAIN, (1,)))
    assert len(made.moves) == len(parts)
    assert all(len({5, 6, 7, 8} & set(move.target)) == 2 for move in made.moves)


def test_dp_10_racks_with_too_few_brokers_give_more_to_the_others_and_no_more_than_needed() -> None:
    """Rack a has one live broker left: of four replicas three must be in rack b."""
    held = [partition(0, 1, 2, 3, 4, live=[2, 3, 4])]
    cluster = PlannerCluster(brokers("aabbb", dead=[1]), [topic("t", *held)])
    assert targets(make_plan(cluster, HEAL)) == [(5, 2, 3, 4)]


def test_dp_10_no_room_in_the_other_rack_leaves_the_partition_out_and_its_racks_as_they_are() -> None:
    listed = [PlannerBroker(n, rack, True, 1000, 0 if rack == "a" else 900) for n, rack in enumerate("aaabbb", 1)]
    made = make_plan(
        PlannerCluster(listed, [topic("t", partition(0, 1, 2, 4, 5, size=10))]), Goal(GoalKind.DRAIN, (1,))
    )
    assert targets(made) == []
    assert [one.reason for one in made.left_out] == [
        "no broker has room that leaves the partition as even over racks as it was"
    ]


UNEVEN = [
    # replicas, racks, how many each rack has afterwards, copies
    ((1, 2, 3, 4), "aaabbb", [2, 2], 1),
    ((1, 2, 3, 4, 5), "aaaabbcc", [2, 2, 1], 2),
    ((1, 2, 3, 4, 5, 6), "aaabbccdd", [2, 2, 1, 1], 1),
    ((1, 2, 3), "aab", None, 0),
    ((1, 2, 3, 4), "aabbb", None, 0),
    ((1, 2, 3, 4), "abbb", None, 0),
]


@pytest.mark.parametrize(("replicas", "racks", "after", "copies"), UNEVEN)
def test_dp_10_a_plan_for_racks_evens_them_with_the_fewest_copies(
    replicas: tuple[int, ...], racks: str, after: list[int] | None, copies: int
) -> None:
    cluster = PlannerCluster(brokers(racks), [topic("t", partition(0, *replicas))])
    made = make_plan(cluster, Goal(GoalKind.RACKS))
    assert made.left_out == ()
    if after is None:
        assert made.moves == ()
        return
    (target,) = targets(made)
    assert sorted(Counter(racks[broker - 1] for broker in target).values(), reverse=True) == after
    assert len(set(target) - set(replicas)) == copies
