"""Changes that a goal forces: heal, drain and a new replication factor, case by case."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.placement import forced_rounds
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, forced_bucket
from kafka_reassign_rpc.planner.proposals.forced_proposals import ON_ITS_WAY
from kafka_reassign_rpc.planner.proposals.piecewise import FEW
from tests.effort import examples
from tests.planner.clusters import MIB, brokers, clusters, partition, random_cluster, topic
from tests.planner.column_plans import make_plan
from tests.tables import for_each

HEAL = Goal(GoalKind.HEAL)


def test_46_3_only_the_lost_replica_is_replaced_in_its_place_and_its_rack() -> None:
    listed = brokers(["a", "b", "c", "a", "b", "c"], dead=[2])
    made = make_plan(
        PlannerCluster(listed, [topic("t", partition(0, 2, 1, 3, live=[1, 3]), partition(1, 1, 6, 4))]),
        HEAL,
    )
    assert [(move.partition, move.target) for move in made.moves] == [(0, (5, 1, 3))]
    assert made.moves[0].reason == "broker 2 is lost"
    assert made.moves[0].rule == "live-brokers"
    assert made.summary.bytes == made.summary.lower_bound == MIB


def test_46_3_replicas_of_a_lost_rack_go_to_racks_with_the_fewest_replicas() -> None:
    listed = brokers(["a", "b", "c", "a", "b"], dead=[3])
    made = make_plan(PlannerCluster(listed, [topic("t", partition(0, 1, 2, 3, live=[1, 2]))]), HEAL)
    assert made.moves[0].target in {(1, 2, 4), (1, 2, 5)}


def test_46_3_the_most_endangered_partitions_go_first() -> None:
    listed = brokers(["a"] * 6, dead=[1])
    parts = (
        partition(0, 1, 2, 3, live=[2, 3]),
        partition(1, 1, 2, 3, live=[2], min_isr=1),
        partition(2, 1, 2, 3, live=[2], min_isr=2),
        partition(3, 1, 2, 3, live=[2, 3], min_isr=3),
    )
    made = make_plan(PlannerCluster(listed, [topic("t", *parts)]), HEAL)
    assert [(move.partition, move.priority) for move in made.moves] == [(2, 0), (3, 0), (1, 1), (0, 2)]


def test_46_3_repair_spreads_by_bytes_over_racks_and_by_count_where_no_size_is_known() -> None:
    cluster = random_cluster(20, 5, 6000, dead=[7])
    made = make_plan(cluster, HEAL, PlanOptions(weights=GoalWeights(1, *[0] * 9))).summary
    rack = [broker.id for broker in cluster.brokers if broker.id % 5 == 2 and broker.id != 7]
    level = min(made.after[broker].bytes for broker in rack)
    assert all(made.after[b].bytes < level * 1.02 or made.after[b].bytes == made.before[b].bytes for b in rack)
    blind = [topic(t.name, *[without_size(held) for held in t.partitions]) for t in cluster.topics]
    counted = make_plan(PlannerCluster(cluster.brokers, blind), HEAL, PlanOptions(weights=GoalWeights(time=0))).summary
    assert counted.notes == ("no size is known: replicas are counted instead of bytes",)
    counts = [counted.after[broker].replicas for broker in rack]
    assert max(counts) - min(counts) < 0.05 * max(counts)


@pytest.mark.parametrize("few", [FEW, 100], ids=["placed one by one", "distributed"])
@pytest.mark.parametrize("kind", [GoalKind.HEAL, GoalKind.DRAIN])
def test_dp_2_where_no_size_is_known_at_all_moves_are_spread_by_their_number(
    kind: GoalKind, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forced_rounds, "FEW", few)
    cluster = random_cluster(12, 1, 4000, dead=[7] if kind is GoalKind.HEAL else ())
    blind = [topic(one.name, *[without_size(held) for held in one.partitions]) for one in cluster.topics]
    made = make_plan(PlannerCluster(cluster.brokers, blind), Goal(kind, (7,)))
    got = Counter(broker for move in made.moves for broker in set(move.target) - set(move.original))
    assert made.left_out == ()
    assert made.summary.bytes == 0
    assert sorted(got) == [broker for broker in range(12) if broker != 7]
    assert sum(got.values()) == len(made.moves) > 900
    assert max(got.values()) - min(got.values()) <= 0.05 * max(got.values())


def without_size(held: PlannerPartition) -> PlannerPartition:
    return PlannerPartition(held.index, held.replicas, held.leader, held.isr)


def test_dp_2_missing_sizes_are_estimated_and_a_note_says_so() -> None:
    listed = brokers(["a"] * 4, dead=[1])
    parts = (partition(0, 1, 2, live=[2], size=100), partition(1, 1, 2, live=[2], size=-1))
    made = make_plan(PlannerCluster(listed, [topic("t", *parts)]), HEAL)
    assert made.summary.notes == (
        "1 of 2 partitions has no known size: the plan assumes 100 bytes for each, the mean of the others",
    )
    assert made.summary.bytes == 200
    assert made.summary.before[2] == Load(200, 2)


def test_46_3_partitions_that_cannot_be_healed_are_left_out_with_the_reason() -> None:
    listed = brokers(["a", "a", "a"], dead=[1])
    parts = (
        partition(0, 1, 2, 3, live=[2, 3]),
        partition(1, 1, 2, live=[]),
        PlannerPartition(2, (1, 2), 2, (2,), moving=True),
        PlannerPartition(3, (1, 2), 2, (2,), moving=True, destination=(2, 1)),
        PlannerPartition(4, (1, 2), 2, (2,), moving=True, destination=(2, 3)),
    )
    made = make_plan(PlannerCluster(listed, [topic("t", *parts)]), HEAL)
    assert made.moves == ()
    assert [left.reason for left in made.left_out] == [
        "replication factor 3 is larger than the 2 brokers that can hold a replica",
        "no live replica is in sync: there is nothing to copy from",
        "its reassignment is in flight",
        "its reassignment is in flight",
        "its reassignment, in flight or waiting, does that already",
    ]
    assert [left.missed for left in made.left_out] == [True, True, True, True, False]


def test_dp_2_what_a_reassignment_does_is_not_missed_at_a_partition_that_the_cluster_shows_wrongly_either() -> None:
    odd = PlannerPartition(0, (1, 2), 9, (2,), moving=True, destination=(2, 3), fault="its leader is outside")
    (left,) = make_plan(PlannerCluster(brokers(["a"] * 3, dead=[1]), [topic("t", odd)]), HEAL).left_out
    assert (left.reason, left.missed) == ("its leader is outside", False)


@pytest.mark.parametrize(("destination", "is_enough"), [((1, 2, 3), True), ((1, 4), False), ((), False)])
def test_dp_2_a_reassignment_in_flight_is_enough_if_it_leads_to_the_replication_factor(
    destination: tuple[int, ...], is_enough: bool
) -> None:
    held = PlannerPartition(0, (1, 2), 1, (1, 2), moving=True, destination=destination)
    made = make_plan(
        PlannerCluster(brokers(["a"] * 4), [topic("t", held)]), Goal(GoalKind.SET_FACTOR, factor=3, topics=("t",))
    )
    [left] = made.left_out
    assert (left.reason == ON_ITS_WAY) == is_enough


def test_46_3_healing_one_broker_leaves_the_replicas_of_another_lost_broker() -> None:
    listed = brokers(["a"] * 5, dead=[1, 2])
    cluster = PlannerCluster(listed, [topic("t", partition(0, 1, 2, 3, live=[3]), partition(1, 2, 3, 4, live=[3, 4]))])
    made = make_plan(cluster, Goal(GoalKind.HEAL, (1,)))
    assert [(move.partition, move.target[1:]) for move in made.moves] == [(0, (2, 3))]


def test_dp_2_a_full_broker_gets_nothing() -> None:
    listed = brokers(["a"] * 4, dead=[1], capacity=10 * MIB)
    full = [partition(n, 2, size=MIB) for n in range(9)]
    made = make_plan(PlannerCluster(listed, [topic("t", *full, partition(9, 1, 3, live=[3], size=4 * MIB))]), HEAL)
    assert made.moves[0].target == (4, 3)
    huge = topic("t", partition(0, 1, 3, live=[3], size=11 * MIB))
    (left,) = make_plan(PlannerCluster(listed, [huge]), HEAL).left_out
    assert (left.reason, left.bytes) == ("no broker has room for it", 11 * MIB)


def test_dp_2_draining_empties_the_brokers_and_copies_no_more_than_they_hold() -> None:
    cluster = random_cluster(12, 4, 3000)
    made = make_plan(cluster, Goal(GoalKind.DRAIN, (1, 2)))
    assert [made.summary.after[broker].replicas for broker in (1, 2)] == [0, 0]
    assert made.left_out == ()
    assert made.summary.bytes == made.summary.lower_bound
    assert {move.rule for move in made.moves} == {"drain"}


def test_dp_2_a_higher_replication_factor_takes_new_racks_and_a_lower_one_never_the_leader() -> None:
    cluster = random_cluster(12, 4, 800)
    up = make_plan(cluster, Goal(GoalKind.SET_FACTOR, factor=4))
    assert all(len({broker % 4 for broker in move.target}) == 4 for move in up.moves)
    assert all(move.target[:3] == move.original for move in up.moves)
    down = make_plan(cluster, Goal(GoalKind.SET_FACTOR, factor=2, topics=("t0",)))
    assert {move.topic for move in down.moves} == {"t0"}
    assert all(move.target[0] == move.original[0] == move.leader for move in down.moves)
    assert down.summary.bytes == 0
    listed = brokers(["a", "a", "b"])
    (move,) = make_plan(
        PlannerCluster(listed, [topic("t", partition(0, 1, 2, 3))]), Goal(GoalKind.SET_FACTOR, factor=2)
    ).moves
    assert move.target == (1, 3)
    led_by_2 = PlannerPartition(0, (1, 2, 3), 2, (1, 2, 3))
    (move,) = make_plan(PlannerCluster(listed, [topic("t", led_by_2)]), Goal(GoalKind.SET_FACTOR, factor=1)).moves
    assert move.target == (2,)


@for_each(
    ("leader", "isr", "free", "factor", "kept"),
    [
        (2, (1, 2, 3), {1: 900, 2: 100, 3: 900}, 1, (2,)),
        (3, (2, 3), {1: 900, 2: 100, 3: 100}, 2, (2, 3)),
        (3, (1, 2, 3), {1: 100, 2: 900, 3: 100}, 2, (1, 3)),
        (1, (1, 2, 3), {1: 100, 2: 800, 3: 900}, 2, (1, 3)),
        (1, (1, 2, 3), {1: 100, 2: 900, 3: 800}, 2, (1, 2)),
        (1, (1,), {1: 100, 2: 800, 3: 900}, 2, (1, 3)),
    ],
    ids=[
        "the leader, though others are emptier",
        "one in sync before the preferred leader, though that is emptier",
        "the preferred leader before an emptier one",
        "the emptiest of the others, the last",
        "the emptiest of the others, the second",
        "the emptiest of those out of sync where no other is in sync",
    ],
)
def test_dp_2_a_lower_replication_factor_keeps_the_leader_then_those_in_sync_the_preferred_one_and_the_emptiest(
    leader: int, isr: tuple[int, ...], free: dict[int, int], factor: int, kept: tuple[int, ...]
) -> None:
    listed = [PlannerBroker(one, None, True, 1_000, room) for one, room in free.items()]
    held = PlannerPartition(0, (1, 2, 3), leader, isr, bytes=10)
    (move,) = make_plan(PlannerCluster(listed, [topic("t", held)]), Goal(GoalKind.SET_FACTOR, factor=factor)).moves
    assert move.target == kept, "in the order that they had"


def test_dp_2_a_replication_factor_below_min_insync_replicas_is_left_out() -> None:
    held = partition(0, 1, 2, 3, min_isr=2)
    (left,) = make_plan(
        PlannerCluster(brokers(["a"] * 3), [topic("t", held)]), Goal(GoalKind.SET_FACTOR, factor=1)
    ).left_out
    assert left.reason == "min.insync.replicas is 2: producers could not write to 1 replica"


@pytest.mark.parametrize(
    ("goal", "saying"),
    [
        (Goal(GoalKind.DRAIN), "drain: name the brokers"),
        (Goal(GoalKind.DRAIN, (9,)), "drain: the snapshot has no broker 9"),
        (Goal(GoalKind.DRAIN, (1, 2)), "drain: no live broker would be left"),
        (Goal(GoalKind.EXPAND, (3,)), "expand: broker 3 is not live"),
        (Goal(GoalKind.HEAL, (1,)), "heal: broker 1 is live; drain empties a live broker"),
        (Goal(GoalKind.HEAL, (1, 2)), "heal: brokers 1, 2 are live; drain empties a live broker"),
        (Goal(GoalKind.DRAIN, (8, 9)), "drain: the snapshot has no brokers 8, 9"),
        (Goal(GoalKind.HEAL, (3, 9)), "heal: the snapshot has no broker 9"),
        (Goal(GoalKind.SET_FACTOR, factor=3), "the replication factor 3 is larger than the 2 live brokers"),
        (Goal(GoalKind.SET_FACTOR), "must be at least 1"),
    ],
)
def test_dp_2_a_goal_that_makes_no_sense_is_refused(goal: Goal, saying: str) -> None:
    with pytest.raises(PlanError, match=saying):
        make_plan(PlannerCluster(brokers(["a"] * 3, dead=[3]), []), goal)
    with pytest.raises(PlanError, match="no broker is live"):
        make_plan(PlannerCluster(brokers(["a"], dead=[1]), []), goal)


def test_dp_2_brokers_without_a_rack_count_as_one_more_rack_and_a_note_says_so() -> None:
    listed = brokers(["a", None, None, "b"], dead=[4])
    made = make_plan(PlannerCluster(listed, [topic("t", partition(0, 1, 4, live=[1]))]), HEAL)
    assert made.moves[0].target in {(1, 2), (1, 3)}
    assert made.summary.notes == ("brokers 2, 3 have no rack: the plan takes them for one more rack",)


@given(clusters(most=5), st.integers(0, 2))
@pytest.mark.more
@settings(max_examples=examples(60))
def test_46_3_no_repair_copies_fewer_bytes(cluster: PlannerCluster, seed: int) -> None:
    """Compares with every other assignment of each partition, one by one."""
    racks = {broker.id: broker.rack or "" for broker in cluster.brokers}
    live = {broker.id for broker in cluster.brokers if broker.live}
    sizes = [held.bytes for one in cluster.topics for held in one.partitions if held.bytes >= 0]
    mean = sum(sizes) // len(sizes) if sizes else 0
    stood = {(one.name, held.index): held for one in cluster.topics for held in one.partitions}
    for move in make_plan(cluster, HEAL, PlanOptions(seed=seed)).moves:
        held = stood[move.topic, move.partition]
        size = held.bytes if held.bytes >= 0 else mean
        reach = min(len({racks[b] for b in move.original}), len({racks[b] for b in live}), len(move.original))
        least = min(
            size * len(set(other) - set(move.original))
            for other in itertools.combinations(sorted(live), len(move.original))
            if len({racks[b] for b in other}) >= reach
        )
        assert move.bytes == least


BY_SIZE = [(10**6, 128), (127, 64), (63, 32), (31, 16), (15, 8), (7, 4), (3, 1)]
"""Sizes that are in one step each where 64 bytes are copied to each broker at best, the largest first."""


@pytest.mark.parametrize("urgent_first", [False, True])
def test_dp_2_larger_partitions_go_first_and_of_one_size_the_most_urgent_unless_there_is_not_room_for_all(
    urgent_first: bool,
) -> None:
    """Of one step and priority chance decides."""
    order = [(priority, step) for step in range(len(BY_SIZE)) for priority in range(3)]
    before = -1
    for priority, step in sorted(order) if urgent_first else order:
        drawn = {
            forced_bucket(size, priority, 64, chance, urgent_first=urgent_first)
            for chance in range(200)
            for size in BY_SIZE[step]
        }
        assert before < min(drawn) < max(drawn) < ALL_BUCKETS, (priority, step)
        assert drawn == set(range(min(drawn), max(drawn) + 1)), "all of them alike"
        before = max(drawn)


def test_dp_2_where_nothing_has_to_be_copied_all_partitions_are_small() -> None:
    of_any_size = [forced_bucket(size, 1, 0, 7, urgent_first=False) for size in (0, 1, 10**12)]
    assert set(of_any_size) == {forced_bucket(3, 1, 64, 7, urgent_first=False)}
