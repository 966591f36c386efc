"""How often each rack is drawn, so that all brokers become equally full. Some partitions have no choice of the rack,
so a rack weighs more or less than its share.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.rack_evenness import count_by_rack
from kafka_reassign_rpc.planner.brokers.broker_load import Load, total
from kafka_reassign_rpc.planner.placement import fill_levels
from kafka_reassign_rpc.planner.placement.filling_broker import FillingBroker
from kafka_reassign_rpc.planner.placement.placing import Copy

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
    common = fill_levels.fill_level(total(demand.values()), [one for brokers in by_rack.values() for one in brokers])
    for _ in range(_ROUNDS):
        weights = adjusted(weights, arrivals_by_rack(demand, weights), by_rack, common)
        yield dict(weights)


def adjusted(
    weights: Weights, arrivals: Mapping[str, Load], by_rack: Mapping[str, Sequence[FillingBroker]], common: float
) -> dict[str, float]:
    wanted = {}
    for rack, weight in weights.items():
        level = fill_levels.fill_level(arrivals.get(rack, Load()), by_rack[rack])
        step = (common / level) ** _HASTE if level > 0 else _LARGEST_STEP
        wanted[rack] = max(weight, _LEAST_PART) * min(max(step, 1 / _LARGEST_STEP), _LARGEST_STEP)
    limit, found = math.inf, {}
    for rack in sorted(wanted, key=wanted.__getitem__):
        found[rack] = min(wanted[rack], limit)
        limit = _LARGEST_GAP * found[rack]
    whole = sum(found.values())
    return {rack: found[rack] / whole for rack in weights}
