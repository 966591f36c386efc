from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions


def lower_bound(
    goal: Goal,
    before: Mapping[int, Load],
    after: Mapping[int, Load],
    targets: BrokerTargets,
    leaving: frozenset[int],
    mended: int,
    options: PlanOptions,
) -> int:
    """The bytes that every plan with the same result copies:

    HEAL, DRAIN          what left the leaving brokers must lie elsewhere
    COMBINE              the larger part: a replica that leaves one broker may come to a new one
    SET_FACTOR           what the cluster holds more afterwards
    EXPAND, REBALANCE    the larger of what brokers above the band must give (down to the band, or to where the plan
                         left them), and what brokers below it must get. EXPAND counts only the latter
    RACKS                what was copied to repair racks (`mended`): each copy gained one rack, and none gains two
    """
    if goal.kind is GoalKind.RACKS:
        return mended
    if goal.kind is GoalKind.SET_FACTOR:
        return max(0, sum(load.bytes for load in after.values()) - sum(load.bytes for load in before.values()))
    left = sum(before[broker].bytes - after[broker].bytes for broker in leaving if broker in before)
    if not goal.balances:
        return left
    given = taken = 0.0
    for broker, (share, *_) in targets.targets.items():
        low, high = share * (1 - options.tolerance), share * (1 + options.tolerance)
        given += max(0.0, before[broker].bytes - max(high, after[broker].bytes))
        taken += max(0.0, min(low, after[broker].bytes) - before[broker].bytes)
    return int(max(left, taken) if goal.joining else max(given, taken, mended))
