"""Whether the times of a plan can be, without a simulation: each is held against the least and the most."""

import math
from collections.abc import Iterator, Mapping

import msgspec

from kafka_reassign_rpc.pipeline.planning.verify_facts import Fault
from kafka_reassign_rpc.pipeline.planning.verify_sums import BrokerSums, CheckedRows, plus
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary

ALIKE = 1e-9
_SOME_PERCENT = 0.05
"""Of the time of a simulation, which takes steps of many copies."""
_TIMES = (0.2, 0.3, 0.4, 0.5, 0.6, 1, 2, 4, 8)
"""What docs/pipeline.md says of 10 moves at a time: 20, 40, 80, or 6, 5, 4, 3, 2."""
_CHOSEN_UP_TO = 20_000
"""Moves of a plan that may take another number of them at a time."""
_WORTH = 0.98
"""A plan that takes less of the least time gains by another bandwidth alone."""
_SPANS = 60
"""The most of a plan over time."""
SENTENCES = {
    "longest": "a batch takes no longer than its slowest sender and receiver in turn, a plan than all brokers",
}


def faults_of_time(checked: CheckedRows, summary: PlanSummary) -> Iterator[Fault]:
    """Copies share the network max-min fairly: each goes on as fast as its sender or its receiver lets it, which then
    does nothing else. So while anything is copied, a broker sends or receives at its full rate.
    """
    all_in_all = _in_all_batches(checked)
    yield from _of_batches(checked, summary)
    yield from _of_timeline(all_in_all, summary)
    least = max(_slowest(all_in_all, summary))
    if not are_alike(summary.bound_seconds, least):
        yield "summary", "bound_seconds", f"{summary.bound_seconds:.6g}, not {least:.6g}"
    for name in ("expected_seconds", "batches_seconds"):
        if getattr(summary, name) < least * (1 - ALIKE):
            yield "summary", name, f"{getattr(summary, name):.6g} are fewer than the least, {least:.6g}"
    in_turn = _in_turn(all_in_all, summary)
    if summary.expected_seconds > in_turn * (1 + _SOME_PERCENT):
        yield "longest", "plan", f"takes {summary.expected_seconds:.6g} s, all brokers in turn {in_turn:.6g} s"
    yield from _of_gains(checked, least, in_turn, summary)
    within = summary.requested.within
    if within is not None and summary.expected_seconds > within * (1 + ALIKE):
        yield "within", "plan", f"takes {summary.expected_seconds:.6g} s, more than {within} s"
    bottleneck = summary.bottleneck
    if least and bottleneck is None:
        yield "summary", "bottleneck", "no broker decides the time"
    if bottleneck is not None:
        one = all_in_all.get(bottleneck.broker, BrokerSums())
        size, rate = one.sent if bottleneck.sends else one.got, _rate(bottleneck.broker, summary)
        if (bottleneck.bytes, bottleneck.rate) != (size, rate) or not are_alike(size / rate, least):
            yield "summary", "bottleneck", f"broker {bottleneck.broker} is not the one that decides the time"


def _of_timeline(brokers: Mapping[int, BrokerSums], summary: PlanSummary) -> Iterator[Fault]:
    """Spans of equal length until the end, in which each broker sends and receives all its bytes, as fast as it can.
    Whole bytes: each figure is up to half a byte off.
    """
    timeline, copying = summary.timeline, {broker for broker, one in brokers.items() if one.got or one.sent}
    if timeline is None or not timeline.seconds > 0:
        if copying:
            yield "summary", "timeline", "does not say what brokers send and receive"
        return
    if [one.broker for one in timeline.brokers] != sorted(copying):
        yield "summary", "timeline", "has other brokers than those that send and receive, each once and in their order"
        return
    exact = summary.expected_seconds / timeline.seconds
    least, most_spans = (min(_SPANS, math.ceil(exact * (1 + sign * ALIKE))) for sign in (-1, 1))
    for one in timeline.brokers:
        sums, rate = brokers[one.broker], _rate(one.broker, summary) * (1 + ALIKE)
        for what, says, follows in (("sends", one.sent, sums.sent), ("receives", one.received, sums.got)):
            name = f"broker {one.broker} {what}"
            spans = len(says)
            last = max(0.0, summary.expected_seconds - (spans - 1) * timeline.seconds)
            most = [*[rate * timeline.seconds + 1] * (spans - 1), rate * last + 1]
            if not least <= spans <= most_spans:
                yield "summary", "timeline", f"{name} for {spans} spans, not {least}"
            elif abs(sum(says) - follows) > spans + ALIKE * follows:
                yield "summary", "timeline", f"{name} {sum(says)} bytes, not {follows}"
            elif not all(0 <= size <= at_most for size, at_most in zip(says, most, strict=True)):
                yield "summary", "timeline", f"{name} more in a span than it can, {most[0]:.0f} bytes"


def _of_gains(checked: CheckedRows, least: float, in_turn: float, summary: PlanSummary) -> Iterator[Fault]:
    """Which settings are tried, by docs/pipeline.md; other caps do not change the least time, another throttle does."""
    cap, throttle, in_all = summary.moves_per_broker, summary.throttle, summary.requested.moves_per_batch
    is_small = sum(one.copying for one in checked.batches.values()) <= _CHOSEN_UP_TO
    times = (2, 4, 8, 16) if is_small else (2,)
    tried = {"moves_per_broker": [cap * one for one in times], "moves_per_batch": [in_all * one for one in times]}
    must, may = list[str](), list[str]()
    if _WORTH * summary.expected_seconds > summary.bound_seconds:
        must += ["moves_per_broker"] * (1 + (is_small and cap > 1))
        may = [*must, "moves_per_batch"]
    if throttle is not None:
        must, may = [*must, "throttle"], [*may, "throttle"]
    settings = [one.setting for one in summary.gains]
    if settings not in (must, may):
        yield "summary", "gains", f"of {', '.join(settings) or 'nothing'}, not of {', '.join(must) or 'nothing'}"
    for place, one in enumerate(summary.gains):
        values, quickest, longest = tried.get(one.setting, [2 * (throttle or 0)]), least, in_turn
        if one.setting == "moves_per_broker" and place:
            values = [cap // 2]
        if one.setting == "throttle":
            twice = msgspec.structs.replace(summary, throttle=one.value)
            of_each = _in_all_batches(checked)
            quickest, longest = max(_slowest(of_each, twice)), _in_turn(of_each, twice)
        if one.setting == "moves_per_batch":
            longest = min(longest, summary.expected_seconds)
        fits = quickest * (1 - ALIKE) <= one.seconds <= longest * (1 + _SOME_PERCENT)
        if one.value not in values or not fits:
            yield "summary", "gains", f"{one.seconds:.6g} s with {one.value} of {one.setting}"


def _of_batches(checked: CheckedRows, summary: PlanSummary) -> Iterator[Fault]:
    """One after the other; each waits for its slowest broker."""
    of_batches: dict[int, dict[int, BrokerSums]] = {}
    for (batch, broker), one in checked.brokers.items():
        of_batches.setdefault(batch, {})[broker] = one
    now = 0.0
    for told in summary.batches:
        of_batch, name = of_batches.get(told.batch, {}), f"batch {told.batch}"
        most = {broker: max(one.got, one.sent) for broker, one in of_batch.items()}
        busiest = max(most.values(), default=0)
        named = most.get(-1 if told.busiest is None else told.busiest, 0)
        if not told.busiest_bytes == named == busiest:
            says = f"says {told.busiest_bytes} bytes of broker {told.busiest}"
            yield "summary", name, f"{says}, which copies {named}; the busiest one copies {busiest}"
        slowest = _slowest(of_batch, summary)
        if told.expected_seconds < max(slowest) * (1 - ALIKE):
            yield "summary", name, f"{told.expected_seconds:.6g} s are fewer than its least, {max(slowest):.6g} s"
        if told.expected_seconds > sum(slowest) * (1 + _SOME_PERCENT):
            yield "longest", name, f"takes {told.expected_seconds:.6g} s, its slowest brokers {sum(slowest):.6g} s"
        first = checked.batches[told.batch].first if told.batch in checked.batches else told.priority
        if told.priority != first:
            yield "summary", name, f"has priority {told.priority}, not {first}"
        if not are_alike(told.starts_after_seconds, now):
            yield "summary", name, f"starts after {told.starts_after_seconds:.6g} s, not after {now:.6g} s"
        now += told.expected_seconds
    if summary.batches and not are_alike(summary.batches_seconds, now):
        yield "summary", "batches_seconds", f"{summary.batches_seconds:.6g}, not {now:.6g}"


def _in_all_batches(checked: CheckedRows) -> dict[int, BrokerSums]:
    found: dict[int, BrokerSums] = {}
    for (_, broker), one in checked.brokers.items():
        found[broker] = plus(found.get(broker, BrokerSums()), one)
    return found


def _in_turn(brokers: Mapping[int, BrokerSums], summary: PlanSummary) -> float:
    return sum((one.got + one.sent) / _rate(broker, summary) for broker, one in brokers.items())


def _slowest(brokers: Mapping[int, BrokerSums], summary: PlanSummary) -> tuple[float, float]:
    """Seconds of the sender that takes longest, and of the receiver."""
    times = [(one.sent / rate, one.got / rate) for broker, one in brokers.items() for rate in [_rate(broker, summary)]]
    sends, receives = zip(*times, strict=True) if times else ((0.0,), (0.0,))
    return max(sends), max(receives)


def _rate(broker: int, summary: PlanSummary) -> int:
    rate = summary.broker_bandwidth.get(broker, summary.bandwidth)
    return rate if summary.throttle is None else min(rate, summary.throttle)


def faults_of_moves_at_a_time(summary: PlanSummary) -> Iterator[Fault]:
    """`submit` carries so many moves of a broker at a time."""
    given, cap = summary.moves_at_a_time, summary.requested.moves_per_broker
    may = {cap, *(max(1, int(cap * times)) for times in _TIMES if cap > 0 and summary.moves <= _CHOSEN_UP_TO)}
    if given is not None and given not in may:
        yield "moves-at-a-time", "plan", f"{given} of a broker, where {cap} were asked for"


def are_alike(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(1.0, abs(one), abs(other))
