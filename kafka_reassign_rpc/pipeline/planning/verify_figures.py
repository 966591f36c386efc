"""Whether a plan keeps its limits, and whether the figures of summary.json follow from the snapshot and the moves, as
docstrings of `plan_summary` define them.

Whether what a summary concludes from its own figures is so: they are checked before.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from kafka_reassign_rpc.pipeline.planning.verify_facts import (
    EXPAND,
    RACKS,
    SET_FACTOR,
    Fault,
    ListedBroker,
    PlanFacts,
    RuleViolation,
)
from kafka_reassign_rpc.pipeline.planning.verify_rules import USELESS
from kafka_reassign_rpc.pipeline.planning.verify_sums import (
    BatchSums,
    BrokerDelta,
    BrokerSums,
    CheckedRows,
    LeftOutSums,
    SnapshotSums,
)
from kafka_reassign_rpc.pipeline.planning.verify_time import ALIKE, are_alike, faults_of_moves_at_a_time, faults_of_time
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    LeftOutFigures,
    LoadFigures,
    PlanRequest,
    PlanSummary,
)
from kafka_reassign_rpc.pipeline.plans.why_not_better import filled_brokers, shortfalls
from kafka_reassign_rpc.support.counted import counted


def faults_of_claims(facts: PlanFacts, summary: PlanSummary) -> Iterator[Fault]:
    yield from _of_least_bytes(facts, summary)
    yield from faults_of_moves_at_a_time(summary)
    yield from _of_limits(summary)
    yield from _of_reasons(summary)
    if summary.filled != filled_brokers(summary):
        yield "summary", "filled", f"{summary.filled}, not {filled_brokers(summary)}"
    for name, aims in summary.reachable.items():
        wanted = sum(getattr(one.target, name, 0.0) for one in summary.brokers if one.broker in aims)
        if abs(sum(aims.values()) - wanted) > ALIKE * max(1.0, wanted):
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


def shares_before(summary: PlanSummary) -> dict[str, dict[int, float]]:
    """As `PlanFacts.shares_before`."""
    return {
        name: {
            one.broker: getattr(one.before, name) / target
            for one in summary.brokers
            if (target := getattr(one.target, name))
        }
        for name in LoadFigures.__struct_fields__
        if summary.requested.weights.get(name)
    }


def _of_reasons(summary: PlanSummary) -> Iterator[Fault]:
    told = {(one.measure, one.broker): one for one in summary.why_not_better}
    follow = {(one.measure, one.broker): one for one in shortfalls(summary)}
    if len(told) < len(summary.why_not_better):
        yield "why", "plan", "names a measure twice"
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
    if not least - 1 - ALIKE * least <= summary.lower_bound <= most + 1 + ALIKE * most:
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
        aim = target if abs(aim - target) <= (tolerance + ALIKE) * target else aim
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


_ROUNDING = 1e-13
"""Of sums of whole numbers, which are exact up to 2^53."""
_MEASURES = tuple(LoadFigures.__struct_fields__)
SENTENCES = {
    "impact": "the plan says what it does to partitions",
}


def brokers_over_limits(sums: Mapping[tuple[int, int], BrokerSums], requested: PlanRequest) -> Iterator[RuleViolation]:
    """A single move may exceed a limit on bytes. `sums`: by batch number and broker id."""
    for (batch, broker), one in sorted(sums.items()):
        moves = one.receives + one.sends
        too_many = 0 <= requested.moves_per_broker < moves
        too_large = requested.bytes_per_broker >= 0 and any(
            count > 1 and size > requested.bytes_per_broker
            for count, size in ((one.receives, one.got), (one.sends, one.sent))
        )
        if too_many or too_large:
            yield RuleViolation(
                "limits-of-a-broker",
                f"batch {batch}",
                f"broker {broker} has {counted(moves, 'move')}, receives {one.got} and sends {one.sent} bytes",
            )


def faults_of_batches(sums: Mapping[int, BatchSums], summary: PlanSummary) -> list[RuleViolation]:
    """The limits of batches, their order, and their figures."""
    requested, found = summary.requested, []
    before = -1
    for batch, one in sorted(sums.items()):
        name = f"batch {batch}"
        if 0 <= requested.bytes_per_batch < one.bytes and one.copying > 1:
            found.append(RuleViolation("limits-of-a-batch", name, f"{one.bytes} bytes"))
        if 0 <= requested.moves_per_batch < one.moves:
            found.append(RuleViolation("limits-of-a-batch", name, counted(one.moves, "move")))
        if one.first < before:
            found.append(RuleViolation("order", name, f"has priority {one.first} after priority {before}"))
        before = one.last
    in_summary = [(one.batch, one.moves, one.bytes) for one in summary.batches]
    in_moves = [(batch, one.moves, one.bytes) for batch, one in sorted(sums.items())]
    if in_summary != in_moves or [one[0] for one in in_summary] != list(range(1, len(in_summary) + 1)):
        found.append(RuleViolation("summary", "batches", "do not match the table of moves"))
    if (summary.moves, summary.bytes) != (sum(one[1] for one in in_moves), sum(one[2] for one in in_moves)):
        told = f"{counted(summary.moves, 'move')} of {summary.bytes} bytes"
        found.append(RuleViolation("summary", "moves", f"{told} do not match the table of moves"))
    if 0 <= requested.max_bytes < summary.bytes and summary.kind in ("rebalance", EXPAND):
        found.append(RuleViolation("max-bytes", "plan", f"copies {summary.bytes} bytes"))
    return found


class _Loads(NamedTuple):
    before: Mapping[int, Mapping[str, float]]
    after: Mapping[int, Mapping[str, float]]


def faults_of_figures(
    sums: SnapshotSums, checked: CheckedRows, brokers: Sequence[ListedBroker], facts: PlanFacts, summary: PlanSummary
) -> Iterator[RuleViolation]:
    loads = _loads(sums, checked)
    found: list[Fault] = [
        *_of_totals(sums, checked, summary),
        *_of_left_out(checked, summary),
        *_of_brokers(loads, brokers, summary),
        *_of_racks(summary),
        *_of_targets(facts, summary),
        *faults_of_time(checked, summary),
    ]
    if not found:  # what is concluded from figures follows only from right ones
        yield from checked.violations(USELESS)
    for rule, name, detail in found or faults_of_claims(facts, summary):
        yield RuleViolation(rule, name, detail)


def _of_totals(sums: SnapshotSums, checked: CheckedRows, summary: PlanSummary) -> Iterator[Fault]:
    told: dict[str, tuple[object, object]] = {
        "partitions": (summary.partitions, sums.partitions),
        "unknown_sizes": (summary.unknown_sizes, sums.unknown_sizes),
        "other_topics": (summary.other_topics, sums.other_topics),
        "too_small": (summary.too_small, sums.too_small),
        "largest": (summary.largest and (summary.largest.bytes, summary.largest.partition), sums.largest),
    }
    if summary.impact is None:  # without it nobody is warned of lost racks
        yield "impact", "plan", "does not say what it does to partitions"
    else:
        for name, says in asdict(summary.impact).items():
            told[f"{name} of impact"] = says, checked.impact.get(name, 0)
    for name, (says, follows) in told.items():
        if says != follows:
            yield "summary", name, f"{says}, not {follows}"
    if (summary.complete, summary.missed) != (not checked.missed, checked.missed):
        yield "complete", "plan", f"says {summary.complete}, {counted(checked.missed, 'partition', 'miss')} the goal"


def _of_left_out(checked: CheckedRows, summary: PlanSummary) -> Iterator[Fault]:
    told = {one.reason: one for one in summary.left_out}
    if len(told) < len(summary.left_out):
        yield "summary", "left_out", "has a reason twice"
    for reason in sorted(told.keys() | checked.left_out.keys()):
        says, found = told.get(reason, LeftOutFigures(reason, 0, [], 0)), checked.left_out.get(reason, LeftOutSums())
        first = [f"{topic}-{partition}" for topic, partition in found.first]
        if (says.partitions, says.first) != (found.partitions, first):
            yield (
                "summary",
                "left_out",
                f"{counted(says.partitions, 'partition')}, {found.partitions} in the table: {reason}",
            )
        staying = {broker: (one.replicas, one.bytes) for broker, one in says.brokers.items()}
        if says.bytes != found.bytes:
            yield "summary", "left_out", f"{says.bytes} bytes, {found.bytes} in the snapshot: {reason}"
        for broker in sorted(staying.keys() | found.staying.keys()):
            (listed, listed_bytes), (stay, stay_bytes) = (of.get(broker, (0, 0)) for of in (staying, found.staying))
            if (listed, listed_bytes) != (stay, stay_bytes):
                kept = f"{counted(listed, 'replica')} of {listed_bytes} bytes"
                detail = f"broker {broker} keeps {kept}, {stay} of {stay_bytes} in the table"
                yield "summary", "left_out", f"{detail}: {reason}"


def _loads(sums: SnapshotSums, checked: CheckedRows) -> _Loads:
    before: dict[int, dict[str, float]] = {}
    after: dict[int, dict[str, float]] = {}
    for broker in sums.loads.keys() | checked.deltas.keys():
        stood, change = sums.loads.get(broker, BrokerDelta()), checked.deltas.get(broker, BrokerDelta())
        before[broker] = _with_unknown(stood, sums.typical)
        after[broker] = {
            name: value + _with_unknown(change, sums.typical)[name] for name, value in before[broker].items()
        }
    return _Loads(before, after)


def _with_unknown(load: BrokerDelta, typical: int) -> dict[str, float]:
    return {**{name: getattr(load, name) for name in _MEASURES}, "bytes": load.bytes + load.unknown * typical}


def _of_brokers(loads: _Loads, brokers: Sequence[ListedBroker], summary: PlanSummary) -> Iterator[Fault]:
    listed = {one.id: (one.rack or None, one.live, one.cordoned) for one in brokers}
    disks = {one.id: (one.capacity, one.free) for one in brokers}
    for broker in loads.before.keys() - listed.keys():
        listed[broker] = (None, False, False)
    told = {one.broker: one for one in summary.brokers}
    if [one.broker for one in summary.brokers] != sorted(listed):
        yield "summary", "brokers", "are not those of the snapshot, each once and in their order"
    for broker, one in sorted(told.items()):
        if (one.rack, one.live, one.cordoned) != listed.get(broker):
            detail = f"is not in rack {one.rack}, or not live or not cordoned as the summary says"
            yield "summary", f"broker {broker}", detail
        if (one.capacity, one.free) != disks.get(broker, (None, None)):
            yield "summary", f"broker {broker}", f"{one.free} bytes are free of {one.capacity}, not as in the snapshot"
        for when, says, of in (("before", one.before, loads.before), ("after", one.after, loads.after)):
            follows = of.get(broker, dict.fromkeys(_MEASURES, 0.0))
            for name in _MEASURES:
                if getattr(says, name) != float(follows[name]):
                    yield (
                        "summary",
                        f"broker {broker}",
                        f"{getattr(says, name):.0f} {name} {when}, not {follows[name]:.0f}",
                    )


def _of_racks(summary: PlanSummary) -> Iterator[Fault]:
    inside: dict[str | None, list[BrokerFigures]] = {}
    for one in summary.brokers:
        inside.setdefault(one.rack, []).append(one)
    if sorted(one.rack or "" for one in summary.racks) != sorted(rack or "" for rack in inside):
        yield "summary", "racks", "are not those of the brokers"
    for rack in summary.racks:
        of_rack = inside.get(rack.rack, [])
        sides = ((rack.before, [one.before for one in of_rack]), (rack.after, [one.after for one in of_rack]))
        is_sum = all(
            math.isclose(getattr(says, name), sum(getattr(one, name) for one in of), rel_tol=_ROUNDING)
            for says, of in sides
            for name in _MEASURES
        )
        if rack.brokers != len(of_rack) or not is_sum:
            yield "summary", f"rack {rack.rack}", "is not the sum of its brokers"


def _of_targets(facts: PlanFacts, summary: PlanSummary) -> Iterator[Fault]:
    """Targets share all load among the brokers that stay; before a plan that empties brokers, they share what these
    held.
    """
    staying = [one for one in summary.brokers if one.broker in facts.staying and not facts.empties(one.broker)]
    for name in _MEASURES:
        after = sum(getattr(one.after, name) for one in summary.brokers)
        of_staying = sum(getattr(one.before, name) for one in summary.brokers if not facts.empties(one.broker))
        targets = {one.broker: getattr(one.target, name) for one in staying}
        if not are_alike(sum(targets.values()), after):
            yield "summary", "targets", f"of {name} share {sum(targets.values()):.0f} out, not {after:.0f}"
        shares = _shares(name, targets, facts, summary)
        whole = sum(shares.values())
        if any(not are_alike(targets[broker], after * share / whole) for broker, share in shares.items()):
            yield "summary", "targets", f"of {name} do not follow the weights of the brokers"
        if any(getattr(one.target, name) for one in summary.brokers if one.broker not in targets):
            yield "summary", "targets", f"a broker that is lost or emptied has one of {name}"
        scale = of_staying / after if after else 0.0
        yield from _of_distances(
            f"{name} after", name, {one.broker: getattr(one.after, name) for one in staying}, targets,
            summary.imbalance_after, summary.furthest_after,
        )  # fmt: skip
        yield from _of_distances(
            f"{name} before", name, {one.broker: getattr(one.before, name) for one in staying},
            {broker: target * scale for broker, target in targets.items()},
            summary.imbalance_before, summary.furthest_before,
        )  # fmt: skip


def _shares(name: str, staying: Collection[int], facts: PlanFacts, summary: PlanSummary) -> Mapping[int, int | float]:
    """Weights of brokers: from the request, else by the size of their disks where all tell it, else equal. Bytes
    follow what the disks can hold where all tell that; empty if it cannot be said.
    """
    given = {broker: summary.requested.broker_weights.get(broker, {}).get(name, 0.0) for broker in staying}
    if given and all(given.values()):
        return given
    if name == "bytes":
        if facts.holdable is None:
            return {}
        room = {broker: facts.holdable.get(broker, -1) for broker in staying}
        return room if any(room.values()) and min(room.values()) >= 0 else dict.fromkeys(staying, 1)
    sizes = {broker: facts.disk_sizes.get(broker, 0) for broker in staying}
    return sizes if all(sizes.values()) else dict.fromkeys(staying, 1)


def _of_distances(
    title: str,
    name: str,
    held: Mapping[int, float],
    targets: Mapping[int, float],
    imbalance: Mapping[str, float],
    furthest: Mapping[str, int],
) -> Iterator[Fault]:
    far = {broker: abs(value / targets[broker] - 1) for broker, value in held.items() if targets[broker]}
    worst, says = max(far.values(), default=0.0), imbalance.get(name, 0.0)
    if not are_alike(says, worst):
        yield "summary", "imbalance", f"of {title} is {says:.4f}, not {worst:.4f}"
        return
    named = furthest.get(name)
    is_right = worst <= ALIKE if named is None else worst > ALIKE / 2 and are_alike(far.get(named, 0.0), worst)
    if not is_right:
        yield "summary", "furthest", f"by {title} is not broker {named}"
