"""Small partitions stay where they are, where an operator says so."""

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from tests.planner.clusters import QUICK, random_cluster
from tests.planner.column_plans import make_plan

LEAST = 4_000_000


def sizes() -> dict[tuple[str, int], int]:
    return {(one.name, held.index): held.bytes for one in random_cluster(6, 3, 300).topics for held in one.partitions}


@pytest.mark.parametrize("goal", [Goal(GoalKind.REBALANCE), Goal(GoalKind.EXPAND, (5,))], ids=["rebalance", "expand"])
def test_dp_13_partitions_below_the_least_size_stay_and_larger_ones_move(goal: Goal) -> None:
    known, cluster = sizes(), random_cluster(6, 3, 300)
    of_any = make_plan(cluster, goal, QUICK)
    assert any(known[move[:2]] < LEAST for move in of_any.moves)
    only_large = Goal(goal.kind, goal.brokers, least_bytes=LEAST)
    moved = make_plan(random_cluster(6, 3, 300), only_large, QUICK).moves
    assert moved
    assert all(known[move[:2]] >= LEAST for move in moved)


def test_dp_13_a_least_size_is_refused_where_partitions_have_to_move_or_topics_are_spread() -> None:
    cluster = random_cluster(6, 3, 30)
    with pytest.raises(PlanError, match="small partitions"):
        make_plan(cluster, Goal(GoalKind.DRAIN, (1,), least_bytes=LEAST))
    spread = PlanOptions(weights=GoalWeights(topic_replicas=1))
    with pytest.raises(PlanError, match="small partitions"):
        make_plan(cluster, Goal(GoalKind.REBALANCE, least_bytes=LEAST), spread)
