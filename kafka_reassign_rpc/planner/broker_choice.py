"""Which broker gets a new replica: first a rack with few replicas of the partition, then a broker by weight."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, random_bits
from kafka_reassign_rpc.planner.rack_rule import RackRule

_DRAWS = 6


class WeightedBrokers(msgspec.Struct, frozen=True):
    """Brokers (or other numbers) to draw from by weight; `sums` are the weights added up, broker after broker."""

    brokers: tuple[int, ...]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        return self.sums[-1] if self.sums else 0.0

    def draw(self, chance: int) -> int:
        """The broker at `chance` (0 … RANDOM_RANGE - 1)."""
        place = bisect_right(self.sums, chance / RANDOM_RANGE * self.sums[-1])
        return self.brokers[min(place, len(self.brokers) - 1)]

    @classmethod
    def of(cls, weights: dict[int, float]) -> "WeightedBrokers":
        sums, total = [], 0.0
        for weight in weights.values():
            total += weight
            sums.append(total)
        return cls(tuple(weights), tuple(sums))


class BrokerChoice(msgspec.Struct, frozen=True):
    """The brokers that may get a replica.

    by_rack        these brokers with their weights, by rack; all under "" where no broker has a rack
    rack_weights   the racks to draw from: numbers are indexes of `rack_names`
    free_bytes     by broker: bytes that still fit, whichever of its volumes they go to (see `broker_room.py`)
    """

    by_rack: dict[str, WeightedBrokers]
    rack_weights: WeightedBrokers
    rack_names: tuple[str, ...]
    free_bytes: dict[int, int]
    rack_rule: RackRule

    def has_room(self, broker: int, size: int) -> bool:
        return self.free_bytes.get(broker, 0) >= size

    def choose(self, kept: Sequence[int], size: int, key: int) -> int | None:
        """The broker for one more replica beside `kept`; None: no broker has room.

        A rack without a replica comes first, drawn by weight; after that the racks in order of their replicas.
        """
        held: dict[str | None, int] = {}
        for broker in kept:
            rack_held = self.rack_rule.racks.get(broker)
            held[rack_held] = held.get(rack_held, 0) + 1
        tried = set()
        names = self.rack_names
        for draw in range(_DRAWS):
            rack = names[self.rack_weights.draw(random_bits(key, draw))] if len(names) > 1 else names[0]
            if (not held.get(rack) or len(names) == 1) and rack not in tried:
                tried.add(rack)
                chosen = self._choose_in_rack(rack, kept, size, key)
                if chosen is not None:
                    return chosen
        for rack in sorted(self.by_rack, key=lambda name: (held.get(name, 0), -self.by_rack[name].total, name)):
            if rack not in tried:
                chosen = self._choose_in_rack(rack, kept, size, key)
                if chosen is not None:
                    return chosen
        return None

    def _choose_in_rack(self, rack: str, kept: Sequence[int], size: int, key: int) -> int | None:
        """Draw by weight; where the drawn brokers do not do, the heaviest broker that does."""
        candidates = self.by_rack[rack]
        for draw in range(_DRAWS):
            broker = candidates.draw(random_bits(key, 100 + draw))
            if broker not in kept and self.has_room(broker, size):
                return broker
        weights = [after - before for before, after in zip((0.0, *candidates.sums), candidates.sums, strict=False)]
        left = [
            (-weight, random_bits(key, broker), broker)
            for weight, broker in zip(weights, candidates.brokers, strict=True)
            if broker not in kept and self.has_room(broker, size)
        ]
        return min(left)[2] if left else None
