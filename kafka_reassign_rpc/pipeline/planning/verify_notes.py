"""The notes that follow from a snapshot and from what was asked for, each written a second time."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.pipeline.planning.verify_facts import Fault, ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_sums import BrokerDelta, NamedRows, SnapshotSums
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import disk_notes, size_notes
from kafka_reassign_rpc.pipeline.snapshots.rate_notes import stricter_rate_notes
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those

_USUAL = {"produce": 0.25, "fetch": 0.25, "bytes_in": 0.25, "potential_out": 0.0, "messages_in": 0.0, "cpu": 0.0}
"""The weights of rates that nobody has given."""
_NAMED = 20
_FIRST = 5


def faults_of_notes(
    path: StorePath, listed: Sequence[ListedBroker], sums: SnapshotSums, facts: PlanFacts, summary: PlanSummary
) -> Iterator[Fault]:
    follow = [
        *disk_notes(path),
        *size_notes(path),
        *_of_cordoned(facts),
        *_of_rows(sums, {one.id for one in listed}),
        *_of_departure(sums, facts),
        *stricter_rate_notes(path, summary.throttle, sorted(facts.live)),
        *_of_cordons(facts),
        *_of_sizes(sums),
        *_of_racks(listed),
        *_of_limits(sums, facts, summary),
        *_of_weights(sums, summary),
        *_of_disks(facts, summary),
    ]
    for note in dict.fromkeys([*summary.notes, *follow]):
        says, counts = summary.notes.count(note), follow.count(note)
        if says != counts:
            yield "summary", "notes", f"{'do not say' if says < counts else 'say without ground'}: {note}"
    if sorted(summary.notes) == sorted(follow) and summary.notes != follow:
        yield "summary", "notes", "are in another order"


def _of_cordoned(facts: PlanFacts) -> Iterator[str]:
    if facts.cordoned:
        yield f"{those(facts.cordoned, verb='are')} cordoned: the plan brings no replica there"


def _of_rows(sums: SnapshotSums, listed: set[int]) -> Iterator[str]:
    if count := sums.unusable.count:
        stay, them = counted(count, "partition", "stay"), agreeing(count, "them")
        yield f"{stay} as the cluster shows {them}, since no change can begin there: {_named(sums.unusable, '; ')}"
    for broker, names in sorted(sums.unlisted.items()):
        if broker not in listed:
            first = f"{', '.join(names.first[:_FIRST])}{', …' if names.count > _FIRST else ''}"
            but = "but the snapshot does not list it: the plan takes it for lost"
            yield f"broker {broker} holds replicas, {but} ({first})"
    if sums.unsized.count:
        yield f"no size is known of {_named(sums.unsized)}"


def _of_departure(sums: SnapshotSums, facts: PlanFacts) -> Iterator[str]:
    held, them = ("its replicas", "it") if len(facts.drained) == 1 else ("their replicas", "them")
    for lost, verb, what in (
        (sums.last_in_sync, "lose", "the last in-sync replica"),
        (sums.below_min_isr, "fall", "under min.insync.replicas"),
    ):
        if lost.count:
            fewer = f"{counted(lost.count, 'partition', verb)} {what} without {them} ({_named(lost)})"
            yield f"{those(facts.drained)} may not go before the plan has moved {held}: {fewer}"


def _of_cordons(facts: PlanFacts) -> Iterator[str]:
    if not facts.drained or facts.topics:
        return
    server = "where the controller is a kafka-reassign-rpc server (--no-cordon: not)"
    yield f"`submit` cordons {those(facts.drained)} first {server}"
    if lost := facts.drained - facts.live:
        them = agreeing(len(lost), "them")
        yield (
            f"{those(lost, verb='are')} lost: the cordon keeps {them} empty after a return, until somebody opens {them}"
        )


def _of_sizes(sums: SnapshotSums) -> Iterator[str]:
    if not sums.known and sums.partitions:
        yield "no size is known: replicas are counted instead of bytes"
    elif sums.unknown_sizes:
        yield (
            f"{sums.unknown_sizes} of {counted(sums.partitions, 'partition')} {agreeing(sums.unknown_sizes, 'have')} no"
            f" known size: the plan assumes {sums.typical} bytes for each, the mean of the others"
        )


def _of_racks(listed: Sequence[ListedBroker]) -> Iterator[str]:
    without = [one.id for one in listed if one.live and not one.rack]
    if without and any(one.live and one.rack for one in listed):
        them = agreeing(len(without), "them")
        yield f"{those(without, verb='have')} no rack: the plan takes {them} for one more rack"


def _of_limits(sums: SnapshotSums, facts: PlanFacts, summary: PlanSummary) -> Iterator[str]:
    loads = {broker: _load(sums, broker) for broker in facts.receivers}
    for name, limits in summary.requested.broker_max.items():
        over = [broker for broker, load in loads.items() if broker in limits and load[name] > limits[broker]]
        if over:
            what = "nothing" if name in ("bytes", "replicas") else "no more of that"
            flag = f"--broker-max-{name.replace('_', '-')}"
            them = agreeing(len(over), "them")
            yield f"{those(over, verb='hold')} more than {flag} allows already: {what} comes to {them}"


def _of_weights(sums: SnapshotSums, summary: PlanSummary) -> Iterator[str]:
    for name, usual in _USUAL.items():
        given = summary.requested.weights.get(name, usual)
        if given > usual and not any(getattr(load, name) for load in sums.loads.values()):
            yield f"--weight {name}={given:g} changes nothing: the snapshot has no such rate (`export --rates`)"


def _of_disks(facts: PlanFacts, summary: PlanSummary) -> Iterator[str]:
    staying = {broker for broker in facts.staying if not facts.empties(broker)}
    unknown = [broker for broker in staying if not facts.disk_sizes.get(broker)]
    if facts.balances and unknown and not summary.requested.broker_weights:
        whose = "any broker" if len(unknown) == len(staying) else those(unknown)
        yield f"the disks of {whose} are not known: all brokers count alike (--broker-weights)"


def _load(sums: SnapshotSums, broker: int) -> Mapping[str, int]:
    load = sums.loads.get(broker, BrokerDelta())
    return load._asdict() | {"bytes": load.bytes + load.unknown * sums.typical}


def _named(rows: NamedRows, between: str = ", ") -> str:
    return first_of(rows.first, _NAMED, of=rows.count, between=between)
