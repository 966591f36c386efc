"""Whether what a summary concludes from its own figures is so: they are checked before."""

from collections.abc import Iterator

from kafka_reassign_rpc.pipeline.planning.verify_facts import RACKS, SET_FACTOR, PlanFacts
from kafka_reassign_rpc.pipeline.plans.plan_summary import LoadFigures, PlanSummary
from kafka_reassign_rpc.pipeline.plans.why_not_better import filled_brokers, shortfalls

_ALIKE = 1e-6
_TIMES = (0.2, 0.3, 0.4, 0.5, 0.6, 1, 2, 4, 8)
"""What docs/pipeline.md says of 10 moves at a time: 20, 40, 80, or 6, 5, 4, 3, 2."""
_CHOSEN_UP_TO = 20_000
"""Moves of a plan that may take another number of them at a time."""

Fault = tuple[str, str, str]


def faults_of_claims(facts: PlanFacts, summary: PlanSummary) -> Iterator[Fault]:
    yield from _of_least_bytes(facts, summary)
    yield from _of_moves_at_a_time(summary)
    yield from _of_limits(summary)
    yield from _of_reasons(summary)
    if summary.filled != filled_brokers(summary):
        yield "summary", "filled", f"{summary.filled}, not {filled_brokers(summary)}"
    for name, aims in summary.reachable.items():
        wanted = sum(getattr(one.target, name, 0.0) for one in summary.brokers if one.broker in aims)
        if abs(sum(aims.values()) - wanted) > _ALIKE * max(1.0, wanted):
            yield "summary", "reachable", f"of {name} does not share out what the targets of these brokers do"


def loads_after(summary: PlanSummary) -> dict[str, dict[int, tuple[float, float, float]]]:
    """As `PlanFacts.loads`."""
    return {
        name: {
            one.broker: (getattr(one.after, name), aim := getattr(one.target, name), reachable.get(one.broker, aim))
            for one in summary.brokers
        }
        for name in LoadFigures.__struct_fields__
        if summary.requested.weights.get(name)
        for reachable in [summary.reachable.get(name, {})]
    }


def _of_reasons(summary: PlanSummary) -> Iterator[Fault]:
    told = {(one.measure, one.broker): one for one in summary.why_not_better}
    follow = {(one.measure, one.broker): one for one in shortfalls(summary)}
    for name in sorted(told.keys() | follow.keys()):
        says, follows = told.get(name), follow.get(name)
        if says != follows:
            of_both = ([] if one is None else [f"{one.share:.2%}", *one.reasons] for one in (says, follows))
            detail = ", not ".join("; ".join(one) or "nothing" for one in of_both)
            yield "why", f"{name[0]} of broker {name[1]}", detail


def _of_least_bytes(facts: PlanFacts, summary: PlanSummary) -> Iterator[Fault]:
    """It says how good the plan is: the bytes that every plan with this result copies."""
    least = min(summary.bytes, _least_bytes(facts, summary))
    most = summary.bytes if facts.mends and facts.balances else least  # what mended racks is not in the figures
    if not least - 1 - _ALIKE * least <= summary.lower_bound <= most + 1 + _ALIKE * most:
        yield "summary", "lower_bound", f"{summary.lower_bound} bytes, not {least}"


def _least_bytes(facts: PlanFacts, summary: PlanSummary) -> int:
    """What leaves emptied brokers, or what the cluster gains by a larger factor, or all copies that mend racks, since
    each gains one. Of a plan that balances, what brokers above the tolerance gave until they were inside, and what
    those below it got. The tolerance is of what racks aim at only where that is outside of the target's.
    """
    brokers, tolerance = summary.brokers, summary.requested.tolerance
    if facts.kind == RACKS:
        return summary.bytes
    if facts.kind == SET_FACTOR:
        return max(0, round(sum(one.after.bytes - one.before.bytes for one in brokers)))
    left = sum(one.before.bytes - one.after.bytes for one in brokers if facts.empties(one.broker))
    if not facts.balances:
        return round(left)
    aims = summary.reachable.get("bytes", {})
    given = taken = 0.0
    for one in brokers:
        target, aim = one.target.bytes, aims.get(one.broker, one.target.bytes)
        aim = target if abs(aim - target) <= (tolerance + _ALIKE) * target else aim
        if aim:
            given += max(0.0, one.before.bytes - max(aim * (1 + tolerance), one.after.bytes))
            taken += max(0.0, min(aim * (1 - tolerance), one.after.bytes) - one.before.bytes)
    return int(max(left, taken) if facts.new else max(given, taken))


def _of_limits(summary: PlanSummary) -> Iterator[Fault]:
    """A broker that held more before the plan gets nothing more."""
    for name, limits in summary.requested.broker_max.items():
        for one in summary.brokers:
            before, after = getattr(one.before, name), getattr(one.after, name)
            most = max(limits.get(one.broker, after), before)
            if after > most:
                yield "broker-max", f"broker {one.broker}", f"has {after:.0f} of {name}, may have {most:.0f}"


def _of_moves_at_a_time(summary: PlanSummary) -> Iterator[Fault]:
    """`submit` carries so many moves of a broker at a time."""
    given, cap = summary.moves_at_a_time, summary.requested.moves_per_broker
    may = {cap, *(max(1, int(cap * times)) for times in _TIMES if cap > 0 and summary.moves <= _CHOSEN_UP_TO)}
    if given is not None and given not in may:
        yield "moves-at-a-time", "plan", f"{given} of a broker, where {cap} were asked for"
