"""With locality copies stay in their racks, as far as rules, room and the tolerance allow."""

from collections.abc import Iterable

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition, PlannerTopic
from tests.planner.clusters import partition, random_cluster, topic
from tests.planner.column_plans import make_plan

RACKS = 5
LOCAL = PlanOptions(locality=True, effort=Effort.QUICK)


def rack_of(broker: int) -> int:
    return broker % RACKS


def crossing(moves: Iterable[PlannedMove]) -> list[PlannedMove]:
    return [move for move in moves if sorted(map(rack_of, move.original)) != sorted(map(rack_of, move.target))]


@pytest.mark.parametrize("partitions", [120, 6_000], ids=["placed one by one", "many"])
def test_dp_13_what_a_drain_copies_stays_in_the_rack(partitions: int) -> None:
    """Five racks, three replicas: without the option most go to another rack that has none."""
    goal = Goal(GoalKind.DRAIN, (1, 6))
    free = make_plan(random_cluster(20, RACKS, partitions), goal, PlanOptions(effort=Effort.QUICK))
    made = make_plan(random_cluster(20, RACKS, partitions), goal, LOCAL)
    assert len(made.moves) == len(free.moves)
    assert len(crossing(free.moves)) > len(free.moves) // 2
    assert crossing(made.moves) == []


def test_dp_13_a_drain_leaves_the_rack_where_the_rest_of_it_has_no_room() -> None:
    brokers = [PlannerBroker(one, f"r{rack_of(one)}", True, 10**13) for one in range(10)]
    brokers[6] = PlannerBroker(6, "r1", True, 100, 0)
    cluster = PlannerCluster(brokers, [topic("t", *[partition(index, 1, 2, 3, size=10) for index in range(6)])])
    made = make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), LOCAL)
    assert len(made.moves) == len(crossing(made.moves)) == 6


@pytest.mark.parametrize("effort", [Effort.NONE, Effort.QUICK])
@pytest.mark.parametrize("partitions", [150, 3_000])
def test_dp_13_brokers_become_even_inside_racks_where_that_is_enough(partitions: int, effort: Effort) -> None:
    """Each rack has what it should have: one of its brokers holds all of that, the other nothing."""
    chosen = [[index % RACKS, (index + 1) % RACKS, (index + 2) % RACKS] for index in range(partitions)]

    def cluster() -> PlannerCluster:
        brokers = [PlannerBroker(one, f"r{rack_of(one)}", True, 10**13) for one in range(2 * RACKS)]
        parts = [partition(index, *replicas, size=10**6) for index, replicas in enumerate(chosen)]
        return PlannerCluster(brokers, [PlannerTopic("t", parts)])

    free = make_plan(cluster(), Goal(GoalKind.REBALANCE), PlanOptions(effort=effort))
    made = make_plan(cluster(), Goal(GoalKind.REBALANCE), PlanOptions(effort=effort, locality=True))
    assert crossing(free.moves)
    assert made.moves
    assert crossing(made.moves) == []
    assert made.summary.imbalance_after["bytes"] <= 0.1 + 1e-6
    assert made.summary.bytes <= 1.1 * free.summary.bytes


@pytest.mark.parametrize("effort", [Effort.NONE, Effort.QUICK])
@pytest.mark.parametrize("partitions", [100, 3_000])
def test_dp_13_racks_are_crossed_where_a_broker_would_stay_outside_the_tolerance(
    partitions: int, effort: Effort
) -> None:
    """One rack has nothing, and replicas can come to it from others alone."""

    def parts() -> list[PlannerPartition]:
        return [
            partition(index, *[(index + turn) % (RACKS - 1) + RACKS * (index % 2) for turn in range(3)], size=10**6)
            for index in range(partitions)
        ]

    brokers = [PlannerBroker(one, f"r{rack_of(one)}", True, 10**13) for one in range(2 * RACKS)]
    cluster = PlannerCluster(brokers, [PlannerTopic("t", parts())])
    made = make_plan(cluster, Goal(GoalKind.REBALANCE), PlanOptions(effort=effort, locality=True))
    assert crossing(made.moves)
    assert made.summary.imbalance_after["bytes"] <= 0.1 + 1e-6
