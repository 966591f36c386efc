"""Bytes of replicas that still fit on a broker, and that it can hold. A broker places a whole replica on one volume
(`LogManager.nextLogDirs`), so what certainly fits is what fits on the roomiest, whichever took the replicas before:
at least the mean of all remaining room, and what it had less all that arrived.
"""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume
from kafka_reassign_rpc.support.counted import those

UNBOUNDED = 2**62
"""The room of a broker of unknown capacity."""


class BrokerRoom(msgspec.Struct, frozen=True):
    """Bytes before the plan, without the headroom; `roomiest`: on the volume with most. `allowed`: what the limit of
    the broker leaves, whatever its disks have.
    """

    free: int
    roomiest: int
    volumes: int = 1
    allowed: int = UNBOUNDED

    def left(self, arrived: int) -> int:
        """What certainly fits on one volume after `arrived` bytes of the plan."""
        fits = max((self.free - arrived) // self.volumes, self.roomiest - arrived)
        return max(0, min(fits, self.allowed - arrived))


def room_of(
    broker: PlannerBroker, held: int, typical_size: int, headroom: float, most: int | None = None
) -> BrokerRoom:
    """`held`: bytes of its replicas, in full if they are on their way; `headroom`: the share of a volume left free;
    `most`: bytes that the broker may hold, None: any. Subtracts what moves have yet to bring, since no broker does
    that; what a plan takes away does not count.
    """
    coming = bytes_on_their_way(broker, typical_size)
    allowed = UNBOUNDED if most is None else most - held - coming
    if broker.free == UNKNOWN:
        if broker.capacity == UNKNOWN:
            return BrokerRoom(UNBOUNDED, UNBOUNDED, allowed=allowed)
        free = broker.capacity - held - int(broker.capacity * headroom) - coming
        return BrokerRoom(free, free, allowed=allowed)
    volumes = broker.volumes or (Volume(broker.capacity, broker.free),)
    rooms = [max(0, volume.free - int(volume.size * headroom)) for volume in volumes]
    return BrokerRoom(sum(rooms) - coming, max(rooms) - coming, len(rooms), allowed)


def over_limits(held: Mapping[int, int], limits: Mapping[int, int]) -> list[str]:
    """A note, where there are such. `held`: bytes by broker."""
    over = [broker for broker, size in held.items() if size > limits.get(broker, UNBOUNDED)]
    if not over:
        return []
    them = "it" if len(over) == 1 else "them"
    return [f"{those(over, verb='hold')} more than --broker-max-bytes allows already: nothing comes to {them}"]


def holdable_bytes(broker: PlannerBroker, held: int, typical_size: int) -> int:
    """Other data on the disks makes them smaller. UNKNOWN if not known."""
    if broker.free == UNKNOWN:
        return broker.capacity
    return max(0, broker.free + held - bytes_on_their_way(broker, typical_size))


def bytes_on_their_way(broker: PlannerBroker, typical_size: int) -> int:
    """What the broker does not show yet."""
    return broker.arriving + broker.arriving_unknown * typical_size
