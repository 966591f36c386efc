"""How many bytes every plan with the same result copies: docs/pipeline.md."""

from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.brokers.reachable_targets import lower_bound
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from tests.tables import for_each

REBALANCE, DRAIN = Goal(GoalKind.REBALANCE), Goal(GoalKind.DRAIN, (3,))
EXPAND, RACKS, FACTOR = Goal(GoalKind.EXPAND, (3,)), Goal(GoalKind.RACKS), Goal(GoalKind.SET_FACTOR, factor=2)
EVEN = {1: 100, 2: 100, 3: 100}


@for_each(
    ("goal", "before", "after", "mended", "bound"),
    [
        (REBALANCE, EVEN, EVEN, 0, 0),
        # One broker gives down to the edge of its band, 110; two others need less.
        (REBALANCE, {1: 150, 2: 75, 3: 75}, EVEN, 0, 40),
        # It was left above the band: only what it gave was needed.
        (REBALANCE, {1: 150, 2: 75, 3: 75}, {1: 120, 2: 90, 3: 90}, 0, 30),
        # Two give to one, which needs to come up to 90.
        (REBALANCE, {1: 125, 2: 125, 3: 50}, EVEN, 0, 40),
        (REBALANCE, {1: 125, 2: 125, 3: 50}, {1: 115, 2: 115, 3: 70}, 0, 20),
        # Within the band nothing is needed, however much a plan does.
        (REBALANCE, {1: 110, 2: 100, 3: 90}, EVEN, 0, 0),
        (REBALANCE, {1: 150, 2: 75, 3: 75}, EVEN, 60, 60),
        # What a new broker needs, not what an old one could give.
        (EXPAND, {1: 200, 2: 100, 3: 0}, EVEN, 0, 90),
        (DRAIN, {1: 100, 2: 100, 3: 70}, {1: 135, 2: 135, 3: 0}, 0, 70),
        (RACKS, EVEN, EVEN, 33, 33),
        (FACTOR, EVEN, {1: 150, 2: 150, 3: 200}, 0, 200),
        (FACTOR, {1: 150, 2: 150, 3: 200}, EVEN, 0, 0),
    ],
)
def test_dp_2_no_plan_with_the_same_result_copies_less(
    goal: Goal, before: Mapping[int, int], after: Mapping[int, int], mended: int, bound: int
) -> None:
    targets = BrokerTargets({broker: (100.0,) * len(MEASURES) for broker in EVEN}, GoalWeights())
    first, last = ({broker: Load(held) for broker, held in held_by.items()} for held_by in (before, after))
    leaving = frozenset(goal.brokers if goal is DRAIN else ())
    options = PlanOptions(tolerance=0.1)
    # The bound is a whole number of bytes below an edge of the band that has no exact number.
    assert abs(lower_bound(goal, first, last, targets, leaving, mended, options) - bound) <= 1
