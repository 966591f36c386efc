"""Racks: every goal leaves a partition in as many racks as before, or in as many as the remaining brokers have."""

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import make_plan
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from tests.planner.clusters import broken_rules, brokers, partition, spread, topic

HEAL = Goal(GoalKind.HEAL)


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
        made = make_plan(cluster, goal, PlanOptions(rounds=8))
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
    assert left.reason == "no broker has room without giving up a rack"


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
        "its live replicas are in fewer racks than all of them: heal it first"
    ]
    made = make_plan(PlannerCluster(brokers("aabb", dead=[2, 3]), [topic("t", held)]), two)
    assert [one.reason for one in made.left_out] == ["brokers 2, 3 are not live: heal it first"]


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
