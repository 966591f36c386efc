"""Proposals that the soft goals make: a replica or a leadership that would do more good elsewhere.

A broker costs, for each goal, its weight times the square of its distance from the band around its target; inside
the band it costs nothing, so what is good enough stays where it is. A partition proposes the one change that saves
most cost for a byte. Moves are exact for one partition; the coordinator sees to it that many at once do not overshoot.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.planner.load_changes import GAIN_UNIT, Touch, replica_load, touches
from kafka_reassign_rpc.planner.round_input import BUCKETS, CLASSES, Balance, RoundInput
from kafka_reassign_rpc.planner.stable_hash import WHOLE, mix
from kafka_reassign_rpc.planner.values import MEASURES, Kind, Load, PlannerPartition, Weights

_DRAWS = 4
_LEAST_GAIN = 1e-12
_FREE = 1
"""What a change costs that copies nothing, in bytes: so that gain per byte is defined."""


class Wish(NamedTuple):
    """A partition's best change."""

    replicas: tuple[int, ...]
    touches: list[Touch]
    bucket: int
    reason: str
    rule: str
    gain: int


def distance(standing: float, low: float, high: float) -> float:
    """How far outside the band a share of the target is."""
    if standing > high:
        return standing - high
    return low - standing if standing < low else 0.0


def cost(standing: tuple[float, ...], weights: Weights, low: float, high: float) -> float:
    """What a broker costs where it stands."""
    return sum(
        weight * distance(share, low, high) ** 2 for weight, share in zip(measured(weights), standing, strict=True)
    )


def measured(weights: Weights) -> tuple[float, ...]:
    """The weights of MEASURES, in their order."""
    return weights.bytes, weights.replicas, weights.leaders, weights.produce, weights.fetch


def wish(partition: PlannerPartition, view: RoundInput, key: int, held: Mapping[int, int]) -> Wish | None:
    """The best change for a partition; `held`: replicas of its topic by broker. None: it has none, or not now."""
    balance = view.balance
    assert balance is not None
    chance = mix(key, view.round * 7919 + view.seed) / WHOLE
    sources = [broker for broker in partition.replicas if chance < balance.rates.get(broker, 0.0)]
    if not sources or partition.moving or not view.live.issuperset(partition.replicas):
        return None
    size, weights = view.size(partition), measured(view.weights)
    best: tuple[float, float, tuple[int, ...], int, int] | None = None
    taken, relief = None, 0.0
    for source, chosen, load, target in _candidates(partition, view, balance, sources, size, key):
        if load is not taken:
            taken, relief = load, -_change(source, -1, load, balance, weights)
        gain = relief - _change(chosen, 1, load, balance, weights)
        if load.replicas:
            gain -= _crowding(held, source, chosen, balance, view.weights.topic)
        value = gain / (load.bytes + _FREE)
        if gain > _LEAST_GAIN and (best is None or value > best[0]):
            best = (value, gain, target, source, chosen)
    if best is None:
        return None
    value, gain, target, source, chosen = best
    bucket = _bucket(value, balance, chance_of(key, view))
    explained = _explained(source, chosen, balance, view)
    return Wish(target, touches(partition, size, target), bucket, *explained, round(gain / GAIN_UNIT))


def chance_of(key: int, view: RoundInput) -> int:
    """A bucket within a class, another one in every round."""
    return mix(key, view.round * 104729 + view.seed + 1) % BUCKETS


def _candidates(
    partition: PlannerPartition, view: RoundInput, balance: Balance, sources: list[int], size: int, key: int
) -> Iterator[tuple[int, int, Load, tuple[int, ...]]]:
    """From which broker to which, what it takes along, and the replicas then.

    A new broker that leads too much gives leaderships back; its replicas stay.
    """
    old = partition.replicas
    if old[0] in sources:
        for place in range(1, len(old)):
            if old[place] in partition.isr and (old[0] in view.rooms or old[place] in view.rooms):
                yield old[0], old[place], Load(leaders=1, fetch=partition.fetch), _swapped(old, place)
    for turn, source in enumerate(sources):
        if view.kind is Kind.EXPAND and source in view.rooms:
            continue
        place = old.index(source)
        load = replica_load(partition, size, leads=place == 0)
        others = (*old[:place], *old[place + 1 :])
        racks = {view.rack(broker) for broker in others}
        for broker in _destinations(source, view, balance, mix(key, 50 + turn + 10 * view.round + view.seed)):
            if broker in old or not view.fits(broker, size):
                continue
            target = (*old[:place], broker, *old[place + 1 :])
            rack = view.rack(broker)
            if rack not in racks or rack == view.rack(source) or view.keeps_racks(old, target):
                yield source, broker, load, target


def _destinations(source: int, view: RoundInput, balance: Balance, key: int) -> Iterator[int]:
    for draw in range(_DRAWS):
        yield balance.cold.draw(mix(key, draw))
    same = view.tables.get(view.rack(source))
    if same is not None and len(view.tables) > 1:
        for draw in range(_DRAWS // 2):
            yield same.draw(mix(key, 100 + draw))


def _swapped(replicas: tuple[int, ...], place: int) -> tuple[int, ...]:
    """The replica at `place` leads, the first one takes its place."""
    swapped = list(replicas)
    swapped[0], swapped[place] = swapped[place], swapped[0]
    return tuple(swapped)


def _change(broker: int, sign: int, load: Load, balance: Balance, weights: tuple[float, ...]) -> float:
    """What it costs to take a load off a broker (-1) or to give it (1). Most of a rebalance's time is spent here."""
    standing, inverse = balance.standing[broker], balance.inverse[broker]
    low, high, added = balance.low, balance.high, 0.0
    for turn, part in enumerate(load):
        weight = weights[turn]
        if part and weight:
            now = standing[turn]
            then = now + sign * part * inverse[turn]
            before = now - high if now > high else low - now if now < low else 0.0
            after = then - high if then > high else low - then if then < low else 0.0
            added += weight * (after * after - before * before)
    return added


def _crowding(held: Mapping[int, int], source: int, chosen: int, balance: Balance, weight: float) -> float:
    """What a topic's spread adds: as if one more replica on the fuller broker were one above a broker's target."""
    if not weight or source == chosen:
        return 0.0
    more = held.get(chosen, 0) + 1 - held.get(source, 0)
    inverse = balance.inverse[chosen][1]
    return weight * more * inverse * inverse


def _bucket(value: float, balance: Balance, chance: int) -> int:
    """Classes by gain per byte, each four times as good as the next; inside a class by chance."""
    step, bound = 0, balance.efficient
    while step < CLASSES - 1 and value < bound:
        step, bound = step + 1, bound / 4
    return step * BUCKETS + chance


def _explained(source: int, chosen: int, balance: Balance, view: RoundInput) -> tuple[str, str]:
    """The goal that the change serves most, in words."""
    parts = []
    for place, (name, weight) in enumerate(zip(MEASURES, measured(view.weights), strict=True)):
        for broker in (source, chosen):
            share = balance.standing[broker][place]
            parts.append((weight * distance(share, balance.low, balance.high), -place, name, broker, share))
    _, _, name, broker, share = max(parts)
    return f"broker {broker} has {share:.0%} of its share of {name}", name
