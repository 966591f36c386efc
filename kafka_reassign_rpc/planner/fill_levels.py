"""How far each broker may be filled: levels as of water, and the buckets of proposals that reach them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_reassign_rpc.planner.broker_targets import Targets
from kafka_reassign_rpc.planner.load_changes import GAIN_UNIT, IN
from kafka_reassign_rpc.planner.round_input import ALL
from kafka_reassign_rpc.planner.values import Load

Steps = Sequence[tuple[int, Load, int]]
"""Buckets in ascending order, each with the sums of its proposals: what they bring or take, and what they gain."""

_SMALL = 1e-12
_BORNE = 0.1


def guess(leaving: Iterable[tuple[str, Load]], racks: Mapping[str, Sequence[int]]) -> dict[str, Load]:
    """What each rack will have to take in, before anybody has proposed: from the broker's own rack, else equally."""
    found: dict[str, Load] = dict.fromkeys(racks, Load())
    for rack, load in leaving:
        if rack in found:
            found[rack] = found[rack].plus(load)
        else:
            part = Load(*[value // len(found) for value in load])
            found = {name: held.plus(part) for name, held in found.items()}
    return found


def by_rack(ordered: Mapping[tuple[int, int], Steps], racks: Mapping[int, str]) -> dict[str, Load]:
    """What the proposals bring to each rack."""
    found: dict[str, Load] = {}
    for (broker, side), steps in ordered.items():
        if side == IN and broker >= 0:
            rack = racks.get(broker, "")
            for _, load, _ in steps:
                found[rack] = found.get(rack, Load()).plus(load)
    return found


def level(demand: Load, brokers: Sequence[int], loads: Mapping[int, Load], targets: Targets) -> float:
    """The height to which `demand`, poured over these brokers, fills them."""
    heights = [(targets.worth(broker, loads[broker]), targets.worth(broker, demand)) for broker in brokers]
    low = min(height for height, _ in heights)
    high = max(height for height, _ in heights) + max(width for _, width in heights)
    if high - low <= _SMALL:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        taken = sum(max(0.0, middle - height) / width for height, width in heights if width)
        low, high = (middle, high) if taken < 1 else (low, middle)
    return high


def shares(demand: Load, brokers: Sequence[int], loads: Mapping[int, Load], targets: Targets) -> dict[int, float]:
    """Which part of `demand` each broker gets."""
    reached = level(demand, brokers, loads, targets)
    found = {}
    for broker in brokers:
        width = targets.worth(broker, demand)
        found[broker] = max(0.0, reached - targets.worth(broker, loads[broker])) / width if width else 1 / len(brokers)
    return found


def below(steps: Steps, broker: int, load: Load, targets: Targets, height: float, room: int) -> int:
    """The bucket below which what comes in stays under the level and fits."""
    filled, prices = targets.worth(broker, load), targets.prices(broker)
    for bucket, step, _ in steps:
        room -= step.bytes
        filled += sum([price * value for price, value in zip(prices, step, strict=True)])
        if room < 0 or filled > height + _SMALL:
            return bucket
    return ALL


def within(steps: Steps, limit: int) -> int:
    """The bucket below which no more than `limit` bytes are copied."""
    for bucket, step, _ in steps:
        limit -= step.bytes
        if limit < 0:
            return bucket
    return ALL


def nearest(steps: Steps, load: Load, sign: int, cost: Callable[[Load], float], room: int) -> tuple[int, int]:
    """(need, allow): the buckets below which a broker's cost gets as low as it can, and below which it bears it.

    A broker bears what costs it no more than a part of what everyone gains.
    """
    first = least = cost(load)
    following = [bucket for bucket, *_ in steps[1:]] + [ALL]
    need = allow = steps[0][0]
    gained = 0.0
    for (_, step, gain), end in zip(steps, following, strict=True):
        load = load.plus(step) if sign > 0 else load.minus(step)
        room -= step.bytes
        if room < 0:
            break
        now, gained = cost(load), gained + gain * GAIN_UNIT
        if now < least - _SMALL:
            least, need = now, end
        if now <= max(least, first + _BORNE * gained) + _SMALL:
            allow = end
    return need, allow
