"""Places replicas one by one: how full brokers become (levels, as of water in tanks), and how often each rack is drawn,
so that all brokers become equally full. Some partitions have no choice of the rack, so a rack weighs more or less than
its share.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.planner.brokers.broker_load import Load, total
from kafka_reassign_rpc.planner.brokers.broker_room import Spare
from kafka_reassign_rpc.planner.brokers.rack_rule import NO_RACK
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import ROUNDING, BucketSums
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN, ChangeProposal, PartitionName
from kafka_reassign_rpc.planner.proposals.piecewise import BetterPlace, even_out, lowest


class FillingBroker(NamedTuple):
    """The lowest brokers get most. `factors`: how much one unit of each measure raises the height."""

    height: float
    factors: tuple[float, ...]

    def rise(self, load: Load) -> float:
        return sum([factor * value for factor, value in zip(self.factors, load, strict=True)])


def expected_arrivals(
    leaving: Iterable[tuple[str | None, Load]], racks: Mapping[str, Sequence[int]]
) -> dict[str, Load]:
    """By rack, before the first proposal. The load of a leaving broker stays in a known rack with destinations;
    otherwise all racks share it.
    """
    found: dict[str, Load] = dict.fromkeys(racks, Load())
    for rack, load in leaving:
        if rack is not None and rack in found:
            found[rack] = found[rack].plus(load)
        else:
            part = Load(*[value // len(found) for value in load])
            found = {name: held.plus(part) for name, held in found.items()}
    return found


def proposed_arrivals(buckets: Mapping[tuple[int, int], BucketSums], racks: Mapping[int, str]) -> dict[str, Load]:
    found: dict[str, Load] = {}
    for (broker, side), sums in buckets.items():
        if side == IN and broker >= 0:
            rack = racks.get(broker, NO_RACK)
            for _, load, _ in sums:
                found[rack] = found.get(rack, Load()).plus(load)
    return found


def fill_level(arrivals: Load, filling: Sequence[FillingBroker]) -> float:
    """The height that `arrivals` fills the brokers to, the emptiest first."""
    rises = [(one.height, one.rise(arrivals)) for one in filling]
    low = min(height for height, _ in rises)
    high = max(height for height, _ in rises) + max(rise for _, rise in rises)
    if high - low <= ROUNDING:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        taken = sum([max(0.0, middle - height) / rise for height, rise in rises if rise])
        low, high = (middle, high) if taken < 1 else (low, middle)
    return high


def shares_of_arrivals(arrivals: Load, filling: Mapping[int, FillingBroker]) -> dict[int, float]:
    level = fill_level(arrivals, list(filling.values()))
    found = {}
    for broker, one in filling.items():
        rise = one.rise(arrivals)
        found[broker] = max(0.0, level - one.height) / rise if rise else 1 / len(filling)
    return found


def threshold_at_level(buckets: BucketSums, broker: FillingBroker, level: float, room: Spare) -> int:
    """The bucket below which the broker stays under the fill level and has room."""
    height = broker.height
    for bucket, brought, _ in buckets:
        room = room.without(brought)
        height += broker.rise(brought)
        if room.is_over or height > level + ROUNDING:
            return bucket
    return ALL_BUCKETS


class Copy(NamedTuple):
    name: PartitionName
    place: int
    load: Load


def copies_of(proposal: ChangeProposal) -> list[Copy]:
    name = proposal.name
    assert name is not None
    return [
        Copy(name, proposal.replicas.index(change.broker), change.load)
        for change in proposal.load_changes
        if change.side == IN and change.load.replicas
    ]


class Placing:
    """Iterate over `steps()`, then read `placed`: the partitions for which there is room. A copy goes to the lowest
    broker with room, in a rack with the fewest replicas of the partition. Then copies leave the highest brokers for
    lower ones, while no partition becomes less even over racks.
    """

    def __init__(
        self,
        by_rack: Mapping[str, Sequence[Sequence[int]]],
        racks: Mapping[int, str],
        filling: Mapping[int, FillingBroker],
        room: Callable[[int, Load], Spare],
        *,
        home_first: bool,
    ) -> None:
        """Arguments are those of ForcedRounds; `by_rack` has brokers of one speed together. With `home_first` a copy
        stays in the rack that is proposed, where that is one of the emptiest.
        """
        self._by_rack = by_rack
        self._racks = racks
        self._filling = filling
        self._room, self._home_first = room, home_first
        self._heights = {broker: one.height for broker, one in filling.items()}
        self._got: dict[int, Load] = defaultdict(Load)
        self._held: dict[int, list[Copy]] = defaultdict(list)
        self.placed: dict[PartitionName, tuple[int, ...]] = {}

    def steps(self, proposals: Iterable[ChangeProposal]) -> Iterator[None]:
        for proposal in proposals:
            self._place(proposal)
            yield
        yield from even_out(self._heights, self._held, self._better, self._move)

    def _place(self, proposal: ChangeProposal) -> None:
        copies, new = copies_of(proposal), list(proposal.replicas)
        absent = {copy.place for copy in copies}
        kept = [broker for place, broker in enumerate(new) if place not in absent]
        for copy in copies:
            chosen = self._choose(copy, kept, self._racks.get(proposal.replicas[copy.place]))
            if chosen is None:
                return
            new[copy.place] = chosen
            kept.append(chosen)
        counts, proposed = (count_by_rack(replicas, self._racks).values() for replicas in (new, proposal.replicas))
        if not is_as_even(counts, proposed):
            return
        self.placed[copies[0].name] = tuple(new)
        for copy in copies:
            self._held[new[copy.place]].append(copy)
            self._take(copy, new[copy.place])

    def _choose(self, copy: Copy, kept: Sequence[int], proposed: str | None) -> int | None:
        held = [self._racks.get(broker) for broker in kept]
        for count in sorted({held.count(rack) for rack in self._by_rack}):
            racks = [rack for rack in self._by_rack if held.count(rack) == count]
            if self._home_first and proposed in racks:
                home = self._lowest(copy, [proposed], kept)
                if home is not None:
                    return home.broker
            found = self._lowest(copy, racks, kept)
            if found is not None:
                return found.broker
        return None

    def _lowest(self, copy: Copy, racks: Iterable[str], kept: Sequence[int]) -> BetterPlace | None:
        found = []
        for alike in (brokers for rack in racks for brokers in self._by_rack[rack]):
            broker = lowest(
                self._heights,
                alike,
                lambda one: one not in kept and self._room(one, self._got[one]).fits(copy.load),
            )
            if broker is not None:
                found.append(BetterPlace(self._heights[broker] + self._filling[broker].rise(copy.load), broker))
        return min(found, default=None)

    def _better(self, copy: Copy, broker: int) -> BetterPlace | None:
        replicas = self.placed[copy.name]
        others, rack = count_by_rack([one for one in replicas if one != broker], self._racks), self._racks[broker]
        most = -1 if self._home_first else others.get(rack, 0)
        racks = [one for one in self._by_rack if one == rack or others.get(one, 0) <= most]
        return self._lowest(copy, racks, replicas)

    def _move(self, copy: Copy, source: int, destination: int) -> None:
        self._heights[source] -= self._filling[source].rise(copy.load)
        self._got[source] = self._got[source].minus(copy.load)
        self._take(copy, destination)
        new = list(self.placed[copy.name])
        new[copy.place] = destination
        self.placed[copy.name] = tuple(new)

    def _take(self, copy: Copy, broker: int) -> None:
        self._heights[broker] += self._filling[broker].rise(copy.load)
        self._got[broker] = self._got[broker].plus(copy.load)


_ROUNDS = 20
_HASTE = 2.0
"""Above 1, because a part of what a rack has and gets does not depend on its weight."""
_LARGEST_STEP = 6.0
"""By how much one round may change a weight."""
_LARGEST_GAP = 200.0
"""How much more a rack weighs than the next. More brings it nothing, and the others would weigh nothing."""
_LEAST_PART = 1e-9

Weights = Mapping[str, float]
Demand = dict[tuple[frozenset[tuple[str, int]], int], Load]
"""By (replicas that stay in each rack, number of copies): what such partitions bring."""


def add_demand(demand: Demand, replicas: Sequence[int], copies: Sequence[Copy], racks: Mapping[int, str]) -> None:
    """`replicas` include the copies; `racks`: by broker, as far as known."""
    absent = {copy.place for copy in copies}
    kept = count_by_rack([one for place, one in enumerate(replicas) if place not in absent], racks)
    key = frozenset(kept.items()), len(copies)
    demand[key] = total([demand.get(key, Load()), *(copy.load for copy in copies)])


def scaled(demand: Demand, to: Load) -> Demand:
    whole = total(demand.values())
    times = [value / max(1, part) for value, part in zip(to, whole, strict=True)]
    return {
        key: Load._make(int(value * factor) for value, factor in zip(load, times, strict=True))
        for key, load in demand.items()
    }


def arrivals_by_rack(demand: Demand, weights: Weights) -> dict[str, Load]:
    """What each rack gets if one of those with the fewest replicas is drawn by weight."""
    found = dict.fromkeys(weights, Load())
    for (kept, copies), load in demand.items():
        for rack, part in _parts(weights, dict(kept), copies).items():
            found[rack] = found[rack].plus(Load._make(int(value * part) for value in load))
    return found


def _parts(weights: Weights, kept: Mapping[str, int], copies: int) -> dict[str, float]:
    """Each rack's share: nearly that of drawing without replacement."""
    fewest = min([kept.get(rack, 0) for rack in weights])
    free = {rack: weight for rack, weight in weights.items() if kept.get(rack, 0) == fewest}
    found = dict.fromkeys(free, 0.0)
    for _ in range(min(copies, len(free))):
        rest = 1.0
        while rest > 1e-6:
            left = {rack: weight * (1 - found[rack]) for rack, weight in free.items() if found[rack] < 1}
            whole, drawn = sum(left.values()), rest
            if not whole:
                break
            for rack, weight in left.items():
                part = min(1 - found[rack], drawn * weight / whole)
                found[rack] += part
                rest -= part
    whole = sum(found.values())
    return {rack: part / whole for rack, part in found.items()}


def floored(parts: Weights) -> dict[str, float]:
    """No rack weighs nothing, since some partitions have no other."""
    return {rack: max(part, _LEAST_PART) for rack, part in parts.items()}


def fit(weights: Weights, demand: Demand, by_rack: Mapping[str, Sequence[FillingBroker]]) -> Iterator[dict[str, float]]:
    common = fill_level(total(demand.values()), [one for brokers in by_rack.values() for one in brokers])
    for _ in range(_ROUNDS):
        weights = adjusted(weights, arrivals_by_rack(demand, weights), by_rack, common)
        yield dict(weights)


def adjusted(
    weights: Weights, arrivals: Mapping[str, Load], by_rack: Mapping[str, Sequence[FillingBroker]], common: float
) -> dict[str, float]:
    wanted = {}
    for rack, weight in weights.items():
        level = fill_level(arrivals.get(rack, Load()), by_rack[rack])
        step = (common / level) ** _HASTE if level > 0 else _LARGEST_STEP
        wanted[rack] = max(weight, _LEAST_PART) * min(max(step, 1 / _LARGEST_STEP), _LARGEST_STEP)
    limit, found = math.inf, {}
    for rack in sorted(wanted, key=wanted.__getitem__):
        found[rack] = min(wanted[rack], limit)
        limit = _LARGEST_GAP * found[rack]
    whole = sum(found.values())
    return {rack: found[rack] / whole for rack in weights}
