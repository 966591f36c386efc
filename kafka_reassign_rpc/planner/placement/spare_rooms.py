"""What may still come to each broker while a plan is made, beside what the plan has brought there."""

from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_room import UNBOUNDED, Spare, other_limits, over_limits, room_of
from kafka_reassign_rpc.planner.goals_and_options import PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker
from kafka_reassign_rpc.planner.proposals.change_proposal import IN

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
