"""What may still come to each broker while a plan is made; and, at the end of one that balances, what each can lose or
get, so that copies can be taken back: a broker stays within the edge of each measure (where the plan's worst broker is,
or a limit nearer to the targets), so no measure becomes worse.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import UNBOUNDED, Spare, other_limits, over_limits, room_of
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.goals_and_options import PlanOptions
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import BucketSums, threshold_within
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, OUT
from kafka_reassign_rpc.planner.proposals.round_sums import TOTAL_COPIED, Thresholds

_NOTHING = Load()


class SpareRooms:
    """arrived  what the plan has brought, by broker
    rooms    of the disks of receivers; `limits`: other ones that an operator sets
    notes    on brokers that hold more than their limits before the plan
    """

    def __init__(
        self,
        brokers: Mapping[int, PlannerBroker],
        receivers: list[int],
        before: Mapping[int, Load],
        typical_size: int,
        options: PlanOptions,
    ) -> None:
        """`before`: what each broker holds; `typical_size`: bytes of a partition of unknown size."""
        held, limits = {broker: before[broker] for broker in receivers}, options.broker_max
        most = limits.get("bytes", {})
        self.notes = list(over_limits(held, limits))
        self.limits = other_limits(before, limits)
        self.rooms = {
            one: room_of(brokers[one], load.bytes, typical_size, options.headroom, most.get(one))
            for one, load in held.items()
        }
        self.arrived: dict[int, Load] = {}

    def bring(self, broker: int, load: Load) -> None:
        self.arrived[broker] = self.arrived.get(broker, _NOTHING).plus(load)

    def spare(self, broker: int, more: Load = _NOTHING) -> Spare:
        """What certainly fits beside what the plan has brought, and `more`."""
        room, came, limits = self.rooms.get(broker), self.arrived.get(broker, _NOTHING), self.limits.get(broker)
        return Spare(
            UNBOUNDED if room is None else room.left(came.bytes + more.bytes),
            None if limits is None else limits.minus(came).minus(more),
        )

    def within_limits(self, spare: dict[tuple[int, int], Load]) -> dict[tuple[int, int], Load]:
        """What comes back to a broker has room there, whatever other limits there are."""
        for broker in self.limits:
            left, given = self.spare(broker).limits, spare.get((broker, IN))
            if left is not None and given is not None:
                spare[broker, IN] = Load._make(map(min, given, left))
        return spare


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
