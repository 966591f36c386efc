"""Cordoned brokers keep what they hold, and no plan puts a replica there."""

from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from tests.planner.clusters import MIB, QUICK, brokers, partition, random_cluster, topic
from tests.planner.column_plans import make_plan

CORDONED = (3, 7)
ELSEWHERE = " with a kafka-reassign-rpc server as the controller; elsewhere delete cordoned.log.dirs from their configs"
"""A snapshot does not say whose brokers these are: a stock controller answers no `kafka-reassign cordon`."""


def _plan(cluster: PlannerCluster, kind: GoalKind, cordoned: tuple[int, ...] = CORDONED, **goal: Any) -> Plan:
    closed = [msgspec.structs.replace(one, cordoned=one.id in cordoned) for one in cluster.brokers]
    return make_plan(PlannerCluster(closed, cluster.topics), Goal(kind, **goal), QUICK)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("kind", "goal", "dead"),
    [
        (GoalKind.HEAL, {}, (4,)),
        (GoalKind.DRAIN, {"brokers": (5, 7)}, ()),
        (GoalKind.REBALANCE, {}, ()),
        (GoalKind.REBALANCE, {"racks": True}, ()),
        (GoalKind.SET_FACTOR, {"factor": 4}, ()),
        (GoalKind.RACKS, {}, ()),
        (GoalKind.EXPAND, {"brokers": (8,)}, ()),
    ],
)
def test_dh_2_no_goal_puts_a_replica_on_a_cordoned_broker(
    kind: GoalKind, goal: dict[str, Any], dead: tuple[int, ...], seed: int
) -> None:
    plan = _plan(random_cluster(9, 3, 40, seed=seed, dead=dead), kind, **goal)
    new = {broker for move in plan.moves for broker in set(move.target) - set(move.original)}
    assert new.isdisjoint(CORDONED)
    assert plan.moves or kind in (GoalKind.RACKS, GoalKind.EXPAND)


def test_dh_2_a_rack_whose_brokers_are_all_cordoned_keeps_no_repair_back() -> None:
    cluster = PlannerCluster(
        brokers(["a", "a", "b", "b", "c", "c"], dead=[6]), [topic("t", partition(0, 1, 3, 6, live=[1, 3]))]
    )
    [move] = _plan(cluster, GoalKind.HEAL, (5,)).moves
    assert set(move.target) - {1, 3} <= {2, 4}


def test_dh_2_the_reason_of_a_partition_left_out_says_how_many_brokers_are_cordoned() -> None:
    listed = brokers(["a"] * 6, dead=[1], capacity=10 * MIB)
    few = PlannerCluster(listed, [topic("t", partition(0, 1, 2, 3, live=[2, 3]))])
    huge = PlannerCluster(listed, [topic("t", partition(0, 1, 2, live=[2], size=11 * MIB))])
    reasons = [
        [one.reason for one in _plan(cluster, GoalKind.HEAL, closed).left_out]
        for cluster, closed in ((few, (3, 4, 5, 6)), (huge, (3, 4)), (few, (4, 5)))
    ]
    assert reasons == [
        ["replication factor 3 is larger than the 2 brokers that can hold a replica; 3 others are cordoned"],
        ["no broker has room for it; 2 others are cordoned"],
        [],
    ]


@pytest.mark.parametrize(
    ("cordoned", "failed", "reason"),
    [
        ((3, 4), (), "2 others are cordoned"),
        ((3, 4), (5,), "2 others are cordoned; 1 broker has failed log dirs"),
        ((3,), (3, 4, 5), "3 brokers have failed log dirs"),
        ((), (4,), "1 broker has failed log dirs"),
    ],
)
def test_dh_3_the_reason_tells_failed_log_dirs_from_a_cordon(
    cordoned: tuple[int, ...], failed: tuple[int, ...], reason: str
) -> None:
    [left] = _heal_with_failed_log_dirs(cordoned, failed).left_out
    assert left.reason == f"no broker has room for it; {reason}"


def test_dh_3_what_a_live_broker_with_a_failed_log_dir_holds_is_moved_by_a_drain_and_by_no_heal() -> None:
    """So texts about failed log dirs name `plan drain`."""
    listed = [msgspec.structs.replace(one, failed_log_dirs=one.id == 3) for one in brokers(["a"] * 3)]
    half_lost = PlannerCluster(listed, [topic("t", partition(0, 1, 3, live=[1]))])
    assert _plan(half_lost, GoalKind.HEAL, (3,)).moves == ()
    [move] = _plan(half_lost, GoalKind.DRAIN, (3,), brokers=(3,)).moves
    assert move.target == (1, 2)
    with pytest.raises(PlanError, match="broker 3 is live; drain empties a live broker"):
        _plan(half_lost, GoalKind.HEAL, (3,), brokers=(3,))


@pytest.mark.parametrize(
    ("cordoned", "failed", "reason"),
    [
        ((2, 3, 4, 5, 6), (), f"are cordoned: `kafka-reassign cordon` opens them{ELSEWHERE}"),
        ((2, 3, 4), (4, 5, 6), f"are cordoned or have failed log dirs: `kafka-reassign cordon` opens them{ELSEWHERE}"),
        ((2,), (2, 3, 4, 5, 6), "have failed log dirs: repair the disks, then restart the brokers"),
    ],
)
def test_dh_3_a_repair_without_any_target_says_what_closes_the_others(
    cordoned: tuple[int, ...], failed: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(PlanError) as refused:
        _heal_with_failed_log_dirs(cordoned, failed)
    assert str(refused.value) == f"heal: the other live brokers {reason}"


def _heal_with_failed_log_dirs(cordoned: tuple[int, ...], failed: tuple[int, ...]) -> Plan:
    """Broker 1 is lost, with one of two replicas that are too large for any other."""
    listed = [
        msgspec.structs.replace(one, failed_log_dirs=one.id in failed)
        for one in brokers(["a"] * 6, dead=[1], capacity=10 * MIB)
    ]
    huge = PlannerCluster(listed, [topic("t", partition(0, 1, 2, live=[2], size=11 * MIB))])
    return _plan(huge, GoalKind.HEAL, (*cordoned, *failed))


def test_dh_2_a_plan_that_fills_a_cordoned_broker_says_so() -> None:
    with pytest.raises(PlanError, match="broker 3 is cordoned"):
        _plan(random_cluster(9, 3, 20), GoalKind.EXPAND, brokers=(3,))
    with pytest.raises(PlanError, match="the other live brokers are cordoned"):
        _plan(random_cluster(3, 3, 20), GoalKind.DRAIN, (1, 2), brokers=(0,))
    with pytest.raises(PlanError, match="the other live broker is cordoned: "):
        _plan(random_cluster(3, 3, 20), GoalKind.DRAIN, (2,), brokers=(0, 1))


def test_dh_2_a_partition_with_a_replica_in_a_cordoned_rack_loses_no_other_rack() -> None:
    """Broker 4 has no room for what broker 3, of the same rack, has lost."""
    listed = brokers(["a", "a", "b", "b", "c"], dead=[3])
    listed[3] = msgspec.structs.replace(listed[3], capacity=100 * MIB, free=0)
    plan = _plan(PlannerCluster(listed, [topic("t", partition(0, 1, 3, 5, live=[1, 5]))]), GoalKind.HEAL, (5,))
    assert plan.moves == ()
    assert [one.reason for one in plan.left_out] == [
        "no broker has room that leaves the partition as even over racks as it was"
    ]


def test_dh_2_a_cordoned_broker_beside_an_open_one_keeps_no_repair_back() -> None:
    """Broker 3 is the only one of its rack that may get a replica, and it has one of the two that were there."""
    cluster = PlannerCluster(
        brokers(["a", "a", "b", "b", "b"], dead=[4]), [topic("t", partition(0, 1, 3, 4, live=[1, 3]))]
    )
    [move] = _plan(cluster, GoalKind.HEAL, (5,)).moves
    assert move.target == (1, 3, 2)


def test_dh_2_racks_whose_brokers_are_all_cordoned_cannot_be_mended() -> None:
    cluster = PlannerCluster(brokers([None, "a", "a"], dead=[2]), [topic("t", partition(0, 1, 2, live=[1]))])
    with pytest.raises(PlanError, match="all live brokers with a rack are cordoned"):
        _plan(cluster, GoalKind.RACKS, (3,))
