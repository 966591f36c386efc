"""How full brokers become: levels, as of water in tanks."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.rack_rule import NO_RACK
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import ROUNDING, BucketSums
from kafka_reassign_rpc.planner.placement.filling_broker import FillingBroker
from kafka_reassign_rpc.planner.proposals.change_proposal import IN


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
