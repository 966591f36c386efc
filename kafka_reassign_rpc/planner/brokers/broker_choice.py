"""Which broker gets a new replica: a rack with few replicas of the partition, then a broker by weight."""

import math
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from kafka_reassign_rpc.planner.brokers.rack_rule import RackRule
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, random_bits

_DRAWS = 6


class WeightedBrokers(msgspec.Struct, frozen=True):
    """Brokers, or other numbers, to draw from; `sums`: cumulative weights."""

    brokers: tuple[int, ...]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        return self.sums[-1] if self.sums else 0.0

    def weights(self) -> list[float]:
        return [after - before for before, after in zip((0.0, *self.sums), self.sums, strict=False)]

    def draw(self, chance: int) -> int:
        """`chance` is 0 … RANDOM_RANGE - 1."""
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
    """by_rack        the brokers that may get a replica, by weight; all under "" if no broker has a rack
    rack_weights   numbers are indexes of `rack_names`
    free_bytes     that still fit, on whichever volume (`broker_room.py`)
    rack_room      the most that fits on one of its brokers
    scarce         racks that more replicas want than have room: the share of these that may try
    home_first     a copy stays in the rack of the replica that it replaces, where that is one of the emptiest
    """

    by_rack: dict[str, WeightedBrokers]
    rack_weights: WeightedBrokers
    rack_names: tuple[str, ...]
    free_bytes: dict[int, int]
    rack_room: dict[str, int]
    rack_rule: RackRule
    scarce: dict[str, float] = {}
    home_first: bool = False

    def has_room(self, broker: int, size: int) -> bool:
        return self.free_bytes.get(broker, 0) >= size

    def choose(self, kept: Sequence[int], size: int, key: int, home: str | None = None) -> int | None:
        """None if no broker has room. `home`: the rack of the replica that is replaced."""
        if len(self.rack_names) == 1:
            return self._choose_in_rack(self.rack_names[0], kept, size, key)
        held = self.rack_rule.counts(kept)
        fewest = min([held.get(rack, 0) for rack in self.rack_names])
        tried = set()
        if self.home_first and home in self.rack_names and held.get(home, 0) == fewest:
            tried.add(home)
            chosen = self._choose_in_rack(home, kept, size, key)
            if chosen is not None:
                return chosen
        for draw in range(_DRAWS):
            rack = self.rack_names[self.rack_weights.draw(random_bits(key, draw))]
            if held.get(rack, 0) == fewest and rack not in tried and self._may_try(rack, key):
                tried.add(rack)
                chosen = self._choose_in_rack(rack, kept, size, key)
                if chosen is not None:
                    return chosen
        weights = dict(zip(self.rack_names, self.rack_weights.weights(), strict=True))

        def rank(rack: str) -> tuple[bool, int, float, str]:
            """Weighted drawing without replacement (Efraimidis and Spirakis): the least of -log(chance) / weight."""
            chance = (random_bits(key, 200 + self.rack_names.index(rack)) + 1) / RANDOM_RANGE
            return not self._may_try(rack, key), held.get(rack, 0), -math.log(chance) / weights[rack], rack

        for rack in sorted((name for name in self.rack_names if name not in tried), key=rank):
            chosen = self._choose_in_rack(rack, kept, size, key)
            if chosen is not None:
                return chosen
        return None

    def _may_try(self, rack: str, key: int) -> bool:
        part = self.scarce.get(rack)
        return part is None or random_bits(key, 300 + self.rack_names.index(rack)) < part * RANDOM_RANGE

    def _choose_in_rack(self, rack: str, kept: Sequence[int], size: int, key: int) -> int | None:
        """Draws by weight; if the drawn do not fit, takes the heaviest that does."""
        candidates = self.by_rack[rack]
        for draw in range(_DRAWS):
            broker = candidates.draw(random_bits(key, 100 + draw))
            if broker not in kept and self.has_room(broker, size):
                return broker
        left = [
            (-weight, random_bits(key, broker), broker)
            for weight, broker in zip(candidates.weights(), candidates.brokers, strict=True)
            if broker not in kept and self.has_room(broker, size)
        ]
        return min(left)[2] if left else None
