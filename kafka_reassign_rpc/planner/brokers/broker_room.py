"""Bytes of replicas that still fit on a broker, and that it can hold. A broker places a whole replica on one volume
(`LogManager.nextLogDirs`), so what certainly fits is what fits on the roomiest, whichever took the replicas before:
at least the mean of all remaining room, and what it had less all that arrived.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import BrokerLimits
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume
from kafka_reassign_rpc.support.counted import those

UNBOUNDED = 2**62
"""The room of a broker of unknown capacity."""


class Spare(NamedTuple):
    """What may still come to a broker. `limits`: by measure, where an operator limits more than bytes."""

    bytes: int
    limits: Load | None = None

    def without(self, load: Load) -> "Spare":
        return Spare(self.bytes - load.bytes, None if self.limits is None else self.limits.minus(load))

    def fits(self, load: Load) -> bool:
        return load.bytes <= self.bytes and (self.limits is None or min(self.limits.minus(load)) >= 0)

    @property
    def is_over(self) -> bool:
        return self.bytes < 0 or (self.limits is not None and min(self.limits) < 0)

    @property
    def for_replicas(self) -> int:
        """Bytes; -1 where not even an empty replica may come."""
        return self.bytes if self.limits is None or self.limits.replicas > 0 else -1

    def load(self) -> Load:
        return (self.limits or _UNLIMITED)._replace(bytes=self.bytes)


NO_LIMIT = Spare(UNBOUNDED)
_UNLIMITED = Load._make([UNBOUNDED] * len(MEASURES))


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


def over_limits(held: Mapping[int, Load], limits: BrokerLimits) -> Iterator[str]:
    """Notes on brokers that hold more than they may. `held`: by broker."""
    for name, by_broker in limits.items():
        over = [one for one, load in held.items() if getattr(load, name) > by_broker.get(one, UNBOUNDED)]
        if over:
            flag, them = f"--broker-max-{name.replace('_', '-')}", "it" if len(over) == 1 else "them"
            what = "nothing" if name in ("bytes", "replicas") else "no more of that"
            yield f"{those(over, verb='hold')} more than {flag} allows already: {what} comes to {them}"


def other_limits(held: Mapping[int, Load], limits: BrokerLimits) -> dict[int, Load]:
    """By limited broker: what may come beside bytes."""
    found: dict[int, Load] = {}
    for name, by_broker in limits.items():
        for broker, most in by_broker.items() if name != "bytes" else ():
            load = held.get(broker, Load())
            left = {name: max(0, most - getattr(load, name))}
            found[broker] = found.get(broker, _UNLIMITED)._replace(**left)
    return found


def holdable_bytes(broker: PlannerBroker, held: int, typical_size: int) -> int:
    """Other data on the disks makes them smaller. UNKNOWN if not known."""
    if broker.free == UNKNOWN:
        return broker.capacity
    return max(0, broker.free + held - bytes_on_their_way(broker, typical_size))


def bytes_on_their_way(broker: PlannerBroker, typical_size: int) -> int:
    """What the broker does not show yet."""
    return broker.arriving + broker.arriving_unknown * typical_size
