"""What brokers can lose or get at the end of a balancing plan, so that copies can be taken back. A broker stays within
the edge of each measure (where the plan's worst broker is, or a limit nearer to the targets): so no measure becomes
worse.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import UNBOUNDED
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import BucketSums, threshold_within
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, OUT
from kafka_reassign_rpc.planner.proposals.round_sums import TOTAL_COPIED, Thresholds


def spare_loads(targets: BrokerTargets, loads: Mapping[int, Load], widest: float) -> dict[tuple[int, int], Load]:
    """A measure without weight sets no limit. `widest`: the furthest edge, as a share of the target."""
    worst, weights = targets.imbalance(loads), targets.weights.by_measure()
    edges = [min(worst[name], widest) for name in MEASURES]
    spare = {}
    for broker, wanted in targets.targets.items():
        can_lose, can_get = [], []
        for held, target, edge, weight in zip(loads[broker], wanted, edges, weights, strict=True):
            can_lose.append(max(0, int(held - target * (1 - edge))) if weight else UNBOUNDED)
            can_get.append(max(0, int(target * (1 + edge) - held)) if weight else UNBOUNDED)
        spare[broker, OUT], spare[broker, IN] = Load._make(can_lose), Load._make(can_get)
    return spare


def thresholds_of_returns(
    buckets: Mapping[tuple[int, int], BucketSums], spare: Mapping[tuple[int, int], Load]
) -> Thresholds:
    return Thresholds({key: threshold_within(sums, spare[key]) for key, sums in buckets.items() if key != TOTAL_COPIED})
