"""How many bytes of replicas still fit on a broker, and how many it can hold.

A broker places a replica on one of its volumes (`LogManager.nextLogDirs`), and never divides it. So what fits is what
fits on the roomiest volume that is left for certain, whichever volumes the replicas before went to: it has at least the
mean of all room that is left, and at least what the roomiest volume had less all that arrived. A broker with one volume
has all its room there.
"""

import msgspec

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume

UNBOUNDED = 2**62
"""The room of a broker whose capacity is not known."""


class BrokerRoom(msgspec.Struct, frozen=True):
    """What a broker has room for before the plan, in bytes; its headroom is taken off.

    free       on all its volumes together
    roomiest   on the volume with the most
    volumes    their number
    """

    free: int
    roomiest: int
    volumes: int = 1

    def left(self, arrived: int) -> int:
        """The bytes that fit on one volume for certain after the plan has brought `arrived` bytes."""
        return max(0, (self.free - arrived) // self.volumes, self.roomiest - arrived)


def room_of(broker: PlannerBroker, held: int, typical_size: int, headroom: float) -> BrokerRoom:
    """held: bytes of its replicas, in full where these are on their way; headroom: the share of a volume left free.

    What moves have yet to bring is taken off: no broker takes it off itself.
    """
    coming = bytes_on_their_way(broker, typical_size)
    if broker.free == UNKNOWN:
        if broker.capacity == UNKNOWN:
            return BrokerRoom(UNBOUNDED, UNBOUNDED)
        free = broker.capacity - held - int(broker.capacity * headroom) - coming
        return BrokerRoom(free, free)
    size = broker.capacity if broker.capacity != UNKNOWN else broker.free + held
    volumes = broker.volumes or (Volume(size, broker.free),)
    rooms = [max(0, volume.free - int(volume.size * headroom)) for volume in volumes]
    return BrokerRoom(sum(rooms) - coming, max(rooms) - coming, len(rooms))


def holdable_bytes(broker: PlannerBroker, held: int, typical_size: int) -> int:
    """The bytes of replicas that a broker can hold in all, UNKNOWN if that is not known.

    Other data on its disks counts as if the disks were smaller.
    """
    if broker.free == UNKNOWN:
        return broker.capacity
    return max(0, broker.free + held - bytes_on_their_way(broker, typical_size))


def bytes_on_their_way(broker: PlannerBroker, typical_size: int) -> int:
    """The bytes that moves will bring to the broker, and that it does not show yet."""
    return broker.arriving + broker.arriving_unknown * typical_size
