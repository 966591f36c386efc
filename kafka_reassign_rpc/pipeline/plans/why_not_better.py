"""By measure: what keeps the broker that is furthest from its target there. Each reason follows from the plan's
figures, so it is true whatever the planner tried, and `plan verify` holds it against them; there may be others.
"""

import math
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.pipeline.plans.plan_summary import BrokerFigures, PlanSummary, ShortfallFigures, known_imbalance
from kafka_reassign_rpc.planner.brokers.broker_load import LEADER_MEASURES
from kafka_reassign_rpc.planner.brokers.broker_targets import is_within
from kafka_reassign_rpc.support.counted import counted, those
from kafka_reassign_rpc.support.human_units import size

_WORTH = 0.01
"""Closer brokers are not mentioned."""
_SPENT = 0.95
"""A plan that copies a larger share of --max-bytes was held back by it."""
_NAMED = 5


class _Worst(NamedTuple):
    """`share`: the load over the target."""

    broker: BrokerFigures
    share: float
    measure: str

    @property
    def is_above(self) -> bool:
        return self.share > 1


def shortfalls(summary: PlanSummary) -> list[ShortfallFigures]:
    return [
        ShortfallFigures(measure, worst.broker.broker, worst.share, list(_reasons(summary, worst)))
        for measure in known_imbalance(summary)
        if (worst := _worst(summary, measure)) is not None and abs(worst.share - 1) > _WORTH
    ]


def shortfall_lines(summary: PlanSummary) -> list[str]:
    """`bytes: broker 5 has 152% of its target: rack c as a whole has 150%, and …`; measures with the same reasons share
    a line.
    """
    lines: dict[str, list[str]] = {}
    for one in summary.why_not_better:
        lines.setdefault("; ".join(one.reasons), []).append(
            f"{one.measure}: broker {one.broker} has {one.share:.0%} of its target"
        )
    return [f"{', '.join(told)}: {reasons}" for reasons, told in lines.items()]


def _worst(summary: PlanSummary, measure: str) -> _Worst | None:
    shares = [
        _Worst(one, getattr(one.after, measure) / target, measure)
        for one in summary.brokers
        if (target := getattr(one.target, measure)) > 0
    ]
    return max(shares, key=lambda one: (abs(one.share - 1), -one.broker.broker), default=None)


def _reasons(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    request = summary.requested
    if _balances(summary) and is_within(abs(worst.share - 1), request.tolerance):
        yield f"within the tolerance of {request.tolerance:.0%}"
        return
    found = [
        *_weight(summary, worst),
        *_limit_of_bytes(summary),
        *_limit_of_time(summary),
        *_large_partition(summary, worst),
        *_rack(summary, worst),
        *_full_brokers(summary, worst),
        *_limited_brokers(summary, worst),
        *_receivers(summary, worst),
        *_cordoned(summary, worst),
        *_topics(summary),
        *_small_partitions(summary),
        *_unsearched(summary),
    ]
    yield from found
    if not _balances(summary) and not found:
        yield f"{summary.kind} moves only what has to move: `plan rebalance` evens out the rest"
    elif not found:
        yield (
            f"the plan has found nothing that leads nearer, no proof that there is nothing: "
            f"--weight {worst.measure}=… lets this measure count more, another --seed tries other changes"
        )


def _balances(summary: PlanSummary) -> bool:
    return summary.kind == "rebalance" or bool(summary.brokers_of("expand"))


def _weight(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    if summary.requested.weights.get(worst.measure) == 0 and _balances(summary):
        yield f"it does not count (--weight {worst.measure}=0)"


def _limit_of_bytes(summary: PlanSummary) -> Iterator[str]:
    limit = summary.requested.max_bytes
    if limit >= 0 and _balances(summary) and summary.bytes >= _SPENT * limit:
        yield f"--max-bytes allows to copy {size(limit)}, the plan copies {size(summary.bytes)}"


def _limit_of_time(summary: PlanSummary) -> Iterator[str]:
    left = sum(one.partitions for one in summary.left_out if "--within" in one.reason)
    if left:
        yield f"{counted(left, 'move')} would take longer than --within"


def _large_partition(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    largest = summary.largest
    if largest is None or worst.measure != "bytes" or not worst.is_above or worst.broker.after.bytes < largest.bytes:
        return
    if largest.bytes > (1 + summary.requested.tolerance) * max(one.target.bytes for one in summary.brokers):
        yield f"one replica of {largest.partition} has {size(largest.bytes)}, more than the target of any broker"


def _rack(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    """Leaders change places with another replica of their partition, whatever its rack is."""
    if worst.measure in LEADER_MEASURES:
        return
    if len({one.rack for one in summary.brokers if _counts(one, worst.measure)}) < 2:
        return
    rack = worst.broker.rack
    name = "the rack of brokers without one" if rack is None else f"rack {rack}"
    inside = [one for one in summary.brokers if one.rack == rack and _counts(one, worst.measure)]
    wanted = sum(getattr(one.target, worst.measure) for one in inside)
    share = _sum(inside, worst.measure) / wanted
    if summary.kind == "rebalance":
        yield from _aims_of_racks(summary, worst, name, share)
    elif _explains(share, worst) and not (summary.impact is not None and summary.impact.fewer_racks):
        yield f"{name} as a whole has {share:.0%}, and partitions end on as many racks as before, or more"


def _aims_of_racks(summary: PlanSummary, worst: _Worst, name: str, share: float) -> Iterator[str]:
    """Only where the plan could not aim at the target itself: an uneven rack alone may be what the plan has missed."""
    aims = summary.reachable.get(worst.measure, {})
    held, target = worst.broker.broker, getattr(worst.broker.target, worst.measure)
    if held in aims and _explains(aims[held] / target, worst):
        yield (
            f"racks that keep the replicas of partitions apart let the plan aim at {aims[held] / target:.0%} here; "
            f"{name} as a whole has {share:.0%}"
        )


def _explains(share: float, worst: _Worst) -> bool:
    return (share > 1) == worst.is_above and abs(share - 1) > max(_WORTH, abs(worst.share - 1) / 2)


def filled_brokers(summary: PlanSummary) -> list[int]:
    """They have room for one more replica before the plan, and none afterwards."""
    return [
        one.broker
        for one in summary.brokers
        if one.live and _is_full(one, summary) and not _is_full(msgspec.structs.replace(one, after=one.before), summary)
    ]


def _receivers_for(summary: PlanSummary, worst: _Worst) -> list[BrokerFigures]:
    """Those that would have to get more bytes for the worst broker to come nearer to its target."""
    below = [one for one in summary.brokers if _counts(one, "bytes") and one.after.bytes < one.target.bytes]
    return below if worst.is_above else [worst.broker]


def _full_brokers(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    asked = _receivers_for(summary, worst)
    full = [one for one in asked if _is_full(one, summary)]
    if not full or len(full) < len(asked):
        return
    named = those([one.broker for one in full], verb="have", most=_NAMED)
    headroom = f"the headroom of {summary.requested.headroom:.0%}"
    yield f"{named} no room for one more replica of the mean size beside {headroom}"


def _is_full(broker: BrokerFigures, summary: PlanSummary) -> bool:
    """A replica of the mean size does not fit. Room that the plan makes does not count."""
    if broker.capacity is None or broker.free is None:
        return False
    room = (
        broker.free - summary.requested.headroom * broker.capacity - max(0.0, broker.after.bytes - broker.before.bytes)
    )
    return room < _mean_replica(summary)


def _limited_brokers(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    asked = _receivers_for(summary, worst)
    for name, limits in summary.requested.broker_max.items():
        mean, load = _mean_load(summary, name), attrgetter(name)
        if asked and all(
            limits.get(one.broker, math.inf) - max(load(one.before), load(one.after)) < mean for one in asked
        ):
            named, flag = those([one.broker for one in asked], most=_NAMED), f"--broker-max-{name.replace('_', '-')}"
            what = "one more leader" if name in LEADER_MEASURES else "one more replica"
            of_mean = "" if name in ("replicas", "leaders") else " of the mean size"
            yield f"{what}{of_mean} on {named} would be more than {flag} allows"


def _mean_replica(summary: PlanSummary) -> float:
    """Bytes, at least 1."""
    return _mean_load(summary, "bytes")


def _mean_load(summary: PlanSummary, measure: str) -> float:
    """Of a replica, or of a leader; at least 1."""
    whole = _sum(summary.brokers, "leaders" if measure in LEADER_MEASURES else "replicas")
    return max(1.0, _sum(summary.brokers, measure) / whole if whole else 0.0)


def _receivers(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    """`expand` gives replicas only to new brokers, and no more than these need."""
    new = summary.brokers_of("expand")
    if new and worst.broker.broker not in new:
        yield (
            f"{summary.kind} brings replicas to {those(new, most=_NAMED)} alone, for balance, and leaves the other "
            "brokers as they are: `plan rebalance` evens them out"
        )


def _cordoned(summary: PlanSummary, worst: _Worst) -> Iterator[str]:
    asked = [one for one in summary.brokers if _counts(one, worst.measure) and _is_below(one, worst.measure)]
    if worst.is_above and asked and all(one.cordoned for one in asked):
        yield "the brokers below their targets are cordoned"
    elif worst.broker.cordoned and not worst.is_above:
        yield f"broker {worst.broker.broker} is cordoned: it gets no new replica"


def _is_below(broker: BrokerFigures, measure: str) -> bool:
    return bool(getattr(broker.after, measure) < getattr(broker.target, measure))


def _topics(summary: PlanSummary) -> Iterator[str]:
    topics = summary.requested.topics
    if summary.other_topics:
        yield f"only partitions of {f'the topic {topics[0]}' if len(topics) == 1 else f'{len(topics)} topics'} may move"


def _small_partitions(summary: PlanSummary) -> Iterator[str]:
    if summary.too_small:
        yield f"partitions below {size(summary.requested.least_bytes)} stay as they are (--least-bytes)"


def _unsearched(summary: PlanSummary) -> Iterator[str]:
    """Rounds see sums: only the search sees which partitions can change places."""
    if summary.kind != "rebalance":
        return
    weights, limits = summary.requested.weights, summary.requested.broker_max
    if spread := [name for name in ("topic_replicas", "topic_leaders") if weights.get(name)]:
        yield f"topics stay spread (--weight {', '.join(spread)}), so partitions are not searched one by one"
    elif limited := [f"--broker-max-{name.replace('_', '-')}" for name in limits if name != "bytes"]:
        yield f"with {', '.join(limited)} partitions are not searched one by one"


def _counts(broker: BrokerFigures, measure: str) -> bool:
    return bool(getattr(broker.target, measure) > 0)


def _sum(brokers: Iterable[BrokerFigures], measure: str) -> float:
    return float(sum(getattr(one.after, measure) for one in brokers))
