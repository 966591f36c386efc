"""Whether the figures of summary.json follow from the snapshot and the moves, as docstrings of `plan_summary` define
them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.pipeline.planning.verify_claims import faults_of_claims
from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts, RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_rules import USELESS
from kafka_reassign_rpc.pipeline.planning.verify_sums import (
    BrokerDelta,
    BrokerSums,
    CheckedRows,
    LeftOutSums,
    SnapshotSums,
)
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    ImpactFigures,
    LeftOutFigures,
    LoadFigures,
    PlanSummary,
)
from kafka_reassign_rpc.support.counted import counted

_MEASURES = tuple(LoadFigures.__struct_fields__)
_ALIKE = 1e-6


class _Loads(NamedTuple):
    before: Mapping[int, Mapping[str, float]]
    after: Mapping[int, Mapping[str, float]]


def faults_of_figures(
    sums: SnapshotSums, checked: CheckedRows, brokers: Sequence[ListedBroker], facts: PlanFacts, summary: PlanSummary
) -> Iterator[RuleViolation]:
    loads = _loads(sums, checked)
    found: list[tuple[str, str, str]] = [
        *_of_totals(sums, checked, summary),
        *_of_left_out(checked, summary),
        *_of_brokers(loads, brokers, summary),
        *_of_racks(summary),
        *_of_targets(facts, summary),
        *_of_time(checked, summary),
    ]
    if not found:  # what is concluded from figures follows only from right ones
        yield from checked.violations(USELESS)
    for rule, name, detail in found or faults_of_claims(facts, summary):
        yield RuleViolation(rule, name, detail)


def _of_totals(sums: SnapshotSums, checked: CheckedRows, summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    told: dict[str, tuple[object, object]] = {
        "partitions": (summary.partitions, sums.partitions),
        "unknown_sizes": (summary.unknown_sizes, sums.unknown_sizes),
        "largest": (summary.largest and (summary.largest.bytes, summary.largest.partition), sums.largest),
    }
    if summary.impact is not None:
        told["impact"] = (summary.impact, ImpactFigures(**checked.impact))
    for name, (says, follows) in told.items():
        if says != follows:
            yield "summary", name, f"{says}, not {follows}"
    if (summary.complete, summary.missed) != (not checked.missed, checked.missed):
        yield "complete", "plan", f"says {summary.complete}, {counted(checked.missed, 'partition', 'miss')} the goal"


def _of_left_out(checked: CheckedRows, summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    told = {one.reason: one for one in summary.left_out}
    for reason in sorted(told.keys() | checked.left_out.keys()):
        says, found = told.get(reason, LeftOutFigures(reason, 0, [])), checked.left_out.get(reason, LeftOutSums())
        first = [f"{topic}-{partition}" for topic, partition in found.first]
        if (says.partitions, says.first) != (found.partitions, first):
            yield (
                "summary",
                "left_out",
                f"{counted(says.partitions, 'partition')}, {found.partitions} in the table: {reason}",
            )
        staying = {broker: (one.replicas, one.bytes) for broker, one in says.brokers.items()}
        if says.bytes not in {None, found.bytes}:
            yield "summary", "left_out", f"{says.bytes} bytes, {found.bytes} in the snapshot: {reason}"
        for broker in sorted(staying.keys() | found.staying.keys()) if says.bytes is not None else ():
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


def _of_brokers(loads: _Loads, brokers: Sequence[ListedBroker], summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
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
                if not _are_alike(getattr(says, name), follows[name]):
                    yield (
                        "summary",
                        f"broker {broker}",
                        f"{getattr(says, name):.0f} {name} {when}, not {follows[name]:.0f}",
                    )


def _of_racks(summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    inside: dict[str | None, list[BrokerFigures]] = {}
    for one in summary.brokers:
        inside.setdefault(one.rack, []).append(one)
    if sorted(one.rack or "" for one in summary.racks) != sorted(rack or "" for rack in inside):
        yield "summary", "racks", "are not those of the brokers"
    for rack in summary.racks:
        of_rack = inside.get(rack.rack, [])
        sides = ((rack.before, [one.before for one in of_rack]), (rack.after, [one.after for one in of_rack]))
        is_sum = all(
            _are_alike(getattr(says, name), sum(getattr(one, name) for one in of))
            for says, of in sides
            for name in _MEASURES
        )
        if rack.brokers != len(of_rack) or not is_sum:
            yield "summary", f"rack {rack.rack}", "is not the sum of its brokers"


def _of_targets(facts: PlanFacts, summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    """Targets share all load among the brokers that stay; before a plan that empties brokers, they share what these
    held.
    """
    staying = [one for one in summary.brokers if one.broker in facts.staying and not facts.empties(one.broker)]
    for name in _MEASURES:
        after = sum(getattr(one.after, name) for one in summary.brokers)
        of_staying = sum(getattr(one.before, name) for one in summary.brokers if not facts.empties(one.broker))
        targets = {one.broker: getattr(one.target, name) for one in staying}
        if not _are_alike(sum(targets.values()), after):
            yield "summary", "targets", f"of {name} share {sum(targets.values()):.0f} out, not {after:.0f}"
        shares = _shares(name, targets, facts, summary)
        whole = sum(shares.values())
        if any(not _are_alike(targets[broker], after * share / whole) for broker, share in shares.items()):
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
) -> Iterator[tuple[str, str, str]]:
    far = {broker: abs(value / targets[broker] - 1) for broker, value in held.items() if targets[broker]}
    worst, says = max(far.values(), default=0.0), imbalance.get(name, 0.0)
    if not _are_alike(says, worst):
        yield "summary", "imbalance", f"of {title} is {says:.4f}, not {worst:.4f}"
    elif worst > _ALIKE and furthest and not _are_alike(far.get(furthest.get(name, -1), 0.0), worst):
        yield "summary", "furthest", f"by {title} is not broker {furthest.get(name)}"


def _of_time(checked: CheckedRows, summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    all_in_all: dict[int, BrokerSums] = {}
    for (_, broker), one in checked.brokers.items():
        all_in_all.setdefault(broker, BrokerSums()).add(one)
    yield from _of_batches(checked, summary)
    least = max((max(one.got, one.sent) / _rate(broker, summary) for broker, one in all_in_all.items()), default=0.0)
    if not _are_alike(summary.bound_seconds, least):
        yield "summary", "bound_seconds", f"{summary.bound_seconds:.3f}, not {least:.3f}"
    for name in ("expected_seconds", "batches_seconds"):
        if getattr(summary, name) < least * (1 - _ALIKE):
            yield "summary", name, f"{getattr(summary, name):.3f} are fewer than the least, {least:.3f}"
    within = summary.requested.within
    if within is not None and summary.expected_seconds > within * (1 + _ALIKE):
        yield "within", "plan", f"takes {summary.expected_seconds:.3f} s, more than {within} s"
    bottleneck = summary.bottleneck
    if least and bottleneck is None:
        yield "summary", "bottleneck", "no broker decides the time"
    if bottleneck is not None:
        one = all_in_all.get(bottleneck.broker, BrokerSums())
        size, rate = one.sent if bottleneck.sends else one.got, _rate(bottleneck.broker, summary)
        if (bottleneck.bytes, bottleneck.rate) != (size, rate) or not _are_alike(size / rate, least):
            yield "summary", "bottleneck", f"broker {bottleneck.broker} is not the one that decides the time"


def _of_batches(checked: CheckedRows, summary: PlanSummary) -> Iterator[tuple[str, str, str]]:
    """One after the other; each waits for its slowest broker."""
    most: dict[int, dict[int, int]] = {}
    for (batch, broker), one in checked.brokers.items():
        most.setdefault(batch, {})[broker] = max(one.got, one.sent)
    now = 0.0
    for told in summary.batches:
        of_batch, name = most.get(told.batch, {}), f"batch {told.batch}"
        busiest = max(of_batch.values(), default=0)
        named = of_batch.get(-1 if told.busiest is None else told.busiest, 0)
        if not told.busiest_bytes == named == busiest:
            yield "summary", name, f"broker {told.busiest} copies {named} bytes, and the busiest one {busiest}"
        least = max((size / _rate(broker, summary) for broker, size in of_batch.items()), default=0.0)
        if told.expected_seconds < least * (1 - _ALIKE):
            yield "summary", name, f"{told.expected_seconds:.3f} s are fewer than its least, {least:.3f} s"
        first = checked.batches[told.batch].first if told.batch in checked.batches else told.priority
        if told.priority != first:
            yield "summary", name, f"has priority {told.priority}, not {first}"
        if not _are_alike(told.starts_after_seconds, now):
            yield "summary", name, f"starts after {told.starts_after_seconds:.3f} s, not after {now:.3f} s"
        now += told.expected_seconds
    if summary.batches and not _are_alike(summary.batches_seconds, now):
        yield "summary", "batches_seconds", f"{summary.batches_seconds:.3f}, not {now:.3f}"


def _rate(broker: int, summary: PlanSummary) -> int:
    rate = summary.broker_bandwidth.get(broker, summary.bandwidth)
    return rate if summary.throttle is None else min(rate, summary.throttle)


def _are_alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ALIKE * max(1.0, abs(one), abs(other))
