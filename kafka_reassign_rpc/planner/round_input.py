"""What every chunk is told before a round: small, the same for all, made by the coordinator."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from kafka_reassign_rpc.planner.stable_hash import WHOLE, mix
from kafka_reassign_rpc.planner.values import UNKNOWN, Kind, PlannerPartition, Weights

BUCKETS = 64
"""Of one class of proposals."""
CLASSES = 4
ALL = BUCKETS * CLASSES

_DRAWS = 6


class Table(msgspec.Struct, frozen=True):
    """Brokers to draw from, each with a weight; `sums` are the weights added up, broker after broker."""

    brokers: tuple[int, ...]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        return self.sums[-1] if self.sums else 0.0

    def draw(self, chance: int) -> int:
        """The broker at `chance` (0 … WHOLE - 1)."""
        place = bisect_right(self.sums, chance / WHOLE * self.sums[-1])
        return self.brokers[min(place, len(self.brokers) - 1)]

    @classmethod
    def of(cls, weights: dict[int, float]) -> "Table":
        sums, total = [], 0.0
        for weight in weights.values():
            total += weight
            sums.append(total)
        return cls(tuple(weights), tuple(sums))


class Balance(msgspec.Struct, frozen=True):
    """What balancing needs besides: where each broker stands, as shares of its targets.

    rates      the chance with which a replica on this broker is considered in this round
    standing   by broker and measure: load / target
    inverse    by broker and measure: 1 / target
    cold       where replicas should go, by weight
    low, high  the band in which a broker costs nothing
    efficient  gain per byte of the best moves: the measure for classes of proposals
    """

    rates: dict[int, float]
    standing: dict[int, tuple[float, ...]]
    inverse: dict[int, tuple[float, ...]]
    cold: Table
    low: float
    high: float
    efficient: float


class RoundInput(msgspec.Struct, frozen=True):
    """The round's broadcast.

    leaving    brokers that replicas must leave
    live       brokers that may keep a replica
    partial    replicas may stay on brokers that are not live: only some of the lost ones are healed
    racks      of every broker that has one; "" is one rack of its own: nobody knows what is in there together
    tables     brokers that may get a replica, by rack; all under "" where no broker has a rack
    rooms      bytes that still fit on each of them
    typical    what stands for the size of a partition that is not known
    """

    kind: Kind
    seed: int
    round: int
    leaving: frozenset[int]
    live: frozenset[int]
    partial: bool
    factor: int
    topics: frozenset[str]
    racks: dict[int, str]
    tables: dict[str, Table]
    by_rack: Table
    rack_names: tuple[str, ...]
    rooms: dict[int, int]
    typical: int
    weights: Weights
    balance: Balance | None = None

    def size(self, partition: PlannerPartition) -> int:
        return self.typical if partition.bytes == UNKNOWN else partition.bytes

    def concerns(self, topic: str) -> bool:
        return not self.topics or topic in self.topics

    def rack(self, broker: int) -> str:
        return self.racks.get(broker, "")

    def spread(self, replicas: Sequence[int]) -> int:
        """In how many racks they lie."""
        return len({self.racks.get(broker, "") for broker in replicas})

    def keeps_racks(self, before: Sequence[int], after: Sequence[int]) -> bool:
        """The rack rule: no fewer racks than before, or than live brokers allow."""
        if len(self.tables) == 1:
            return True
        return self.spread(after) >= min(self.spread(before), len(after), len(self.tables))

    def fits(self, broker: int, size: int) -> bool:
        return self.rooms.get(broker, 0) >= size

    def choose(self, kept: Sequence[int], size: int, key: int) -> int | None:
        """Where a further replica goes: a rack with as few of `kept` as there is, a broker by weight. None: no room."""
        held: dict[str, int] = {}
        for broker in kept:
            rack = self.racks.get(broker, "")
            held[rack] = held.get(rack, 0) + 1
        tried = set()
        for draw in range(_DRAWS):
            rack = (
                self.rack_names[self.by_rack.draw(mix(key, draw))] if len(self.rack_names) > 1 else self.rack_names[0]
            )
            if (held.get(rack, 0) == 0 or len(self.rack_names) == 1) and rack not in tried:
                tried.add(rack)
                chosen = self._in_rack(rack, kept, size, key)
                if chosen is not None:
                    return chosen
        for rack in sorted(self.tables, key=lambda name: (held.get(name, 0), -self.tables[name].total, name)):
            if rack not in tried:
                chosen = self._in_rack(rack, kept, size, key)
                if chosen is not None:
                    return chosen
        return None

    def _in_rack(self, rack: str, kept: Sequence[int], size: int, key: int) -> int | None:
        table = self.tables[rack]
        for draw in range(_DRAWS):
            broker = table.draw(mix(key, 100 + draw))
            if broker not in kept and self.fits(broker, size):
                return broker
        weights = [after - before for before, after in zip((0.0, *table.sums), table.sums, strict=False)]
        left = [
            (-weight, mix(key, broker), broker)
            for weight, broker in zip(weights, table.brokers, strict=True)
            if broker not in kept and self.fits(broker, size)
        ]
        return min(left)[2] if left else None
