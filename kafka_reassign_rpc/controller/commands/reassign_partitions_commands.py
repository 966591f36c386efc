"""The batch in `/admin/reassign_partitions`, its cancel, `/admin/reassign_cancel` (KIP-236).

`core.reassignment.reassign_partitions` decides about one entry. The commands do that slice by slice, within the room
that the znode has left: original replicas make it longer, so some entries wait until others have left.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.queue import holding, queue_admission
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.reassign_partitions import waiting_route_conflict
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import BATCH, LAST_ZXID
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, Held
from kafka_reassign_rpc.core.state.requesters import BY_BATCH, BY_CANCEL
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import AdminZnodes, AdminZnodesFound, ZnodeProblem


def process_batch_and_queue(work: Round, held: Held | None = None) -> Iterator[None]:
    """`held`: entries that would start join the queue as held.

    A batch that is being cancelled comes before the queue: its rollback makes room in flight. Otherwise it comes after
    it: moves of the queue have waited longer, and requests that go before the batch may be among them.
    """
    cluster, changes = work.view.cluster, work.view.batch
    batch, cancel = cluster.batch, cluster.cancel_all
    if cancel is None:
        yield from work.start_queued_moves()
    asked_by, work.view.by = work.view.by, BY_BATCH if cancel is None else BY_CANCEL
    if batch is not None and cancel is not None:
        changes.rewrite = True
        yield from _roll_back(work, batch)
    elif batch is not None and not batch.unreadable:
        changes.rewrite |= batch.needs_rewrite or not (batch.entries or batch.has_children)
        yield from work.count_moves_in_flight()
        yield from _start_entries(work, batch, held)
    if cancel is not None and changes.cancelled is None:
        yield from _roll_back_legacy_requests(work, {} if batch is None else batch.entries)
        changes.cancelled = cancel
        reason = "the znode cannot be deleted: it has children" if cancel.has_children else None
        work.view.report(Event(catalogue.BATCH_CANCELLED, reason=reason))
    work.view.by = asked_by
    if cancel is not None:
        yield from work.start_queued_moves()


def _entries(work: Round, batch: BatchZnode) -> Iterator[tuple[TopicPartition, BatchEntry]]:
    changes = work.view.batch
    for name, entry in batch.entries.items():
        if name not in changes.ended and name not in changes.withdrawn:
            yield name, changes.started.get(name, entry)


def _start_entries(work: Round, batch: BatchZnode, held: Held | None) -> Iterator[None]:
    changes = work.view.batch
    changes.lacks_room = False
    room = batch.room - sum(map(_growth, changes.started.values()))
    changes.waiting = 0
    for name, entry in _entries(work, batch):
        yield
        outcome = _outcome(work, name, entry, held, stripped=name in batch.stripped)
        started = outcome.entry is not None and outcome.entry != entry
        if started and entry.original is None and outcome.entry is not None:
            growth = _growth(outcome.entry)
            if growth > room:
                changes.lacks_room = True
                continue
            room -= growth
        for change in outcome.changes:
            work.view.add(change)
        waiting = queue_admission.find(work.view, name) if outcome.changes else None
        if waiting is not None and waiting.held is not None:
            queue_admission.withdraw(work.view, name)
        if outcome.report is not None:
            what = catalogue.ENTRY_REFUSED if outcome.entry is None else catalogue.ENTRY_WAITING
            work.view.report(Event(what, *name, reason=outcome.report, target=entry.target))
        if outcome.entry is None:
            changes.ended[name] = None
        elif started:
            changes.started[name] = outcome.entry
        changes.waiting += outcome.waits
    if changes.waiting and changes.waiting != batch.waiting:
        disabled = restrictions.reassignments_disabled(work.view.cluster)
        later = "in the next window" if work.in_flight.caps.closed else "as moves in flight end"
        what = f"They start {later}." if disabled is None else str(disabled)
        work.view.report(Event(catalogue.ENTRY_WAITING, reason=f"{changes.waiting} of its entries wait. {what}"))
    if changes.lacks_room and not batch.lacks_room:
        reason = "the znode is full; the rest of its entries wait until others have left it"
        work.view.report(Event(catalogue.ENTRY_WAITING, reason=reason))


def _outcome(
    work: Round, name: TopicPartition, entry: BatchEntry, held: Held | None, *, stripped: bool
) -> reassign_partitions.BatchEntryOutcome:
    before = work.view.get(*name)
    if before is not None and before.target != entry.target:
        move = queue_admission.find(work.view, name)
        ignored = None if move is None else waiting_route_conflict(move.terms.route, move.terms.target)
        if ignored is not None:
            return reassign_partitions.BatchEntryOutcome(None, report=ignored)
        if held is None and work.in_flight.is_full:
            return reassign_partitions.BatchEntryOutcome(entry, waits=True)
    outcome = reassign_partitions.decide_entry(work.view, name, entry, stripped=stripped, waits=held is None)
    refused = work.refused.get(name[0])
    if outcome.changes and refused is not None:
        return reassign_partitions.BatchEntryOutcome(None, report=str(refused))
    if not outcome.changes or before is None:
        return outcome
    if held is not None:
        error = holding.join_held(work.view, name, replace(entry.terms, expected=entry.original), held)
        return reassign_partitions.BatchEntryOutcome(None, report=None if error is None else str(error))
    if not work.starts(name, before, outcome.changes[-1].value):
        return reassign_partitions.BatchEntryOutcome(entry, waits=True)
    return outcome


def _growth(entry: BatchEntry) -> int:
    return len(f',"original_replicas":{list(entry.original or ())}')


def _roll_back(work: Round, batch: BatchZnode) -> Iterator[None]:
    changes = work.view.batch
    room = batch.room
    for name, entry in _entries(work, batch):
        outcome = _roll_back_move(work, name, entry)
        if outcome.entry is None:
            changes.ended[name] = None
        else:
            room -= len(outcome.entry.not_cancelled or "") + len(',"cancel_skipped":""')
            if room > 0:
                changes.noted[name] = outcome.entry
        yield


def _roll_back_legacy_requests(work: Round, entries: Mapping[TopicPartition, BatchEntry]) -> Iterator[None]:
    """Also withdraws those that wait. They have no entry in the batch, unless a user has made one; their records have
    the original replicas."""
    for name in _moving(work):
        partition = work.view.get(*name)
        if partition is not None and partition.is_moving and partition.move is not None and partition.move.legacy:
            entry = entries.get(name)
            if entry is None or entry.target != partition.target:
                _roll_back_move(work, name, BatchEntry(partition.target, partition.original))
        yield
    for name in _waiting(work):
        move = queue_admission.find(work.view, name)
        if move is not None and move.terms.route == BATCH:
            queue_admission.withdraw(work.view, name)
        yield


def _moving(work: Round) -> Iterator[TopicPartition]:
    moving = work.view.cluster.moving
    for topic, indexes in list(moving.items()):
        for index in list(indexes):
            yield TopicPartition(topic, index)
    yield from [name for name in work.view.partitions if name.partition not in moving.get(name.topic, ())]


def _waiting(work: Round) -> Iterator[TopicPartition]:
    for topic, places in list(work.view.cluster.queue.topics.items()):
        for index in list(places):
            yield TopicPartition(topic, index)
    yield from list(work.view.queue.appended)


def _roll_back_move(work: Round, name: TopicPartition, entry: BatchEntry) -> reassign_partitions.BatchEntryOutcome:
    before = work.view.get(*name)
    outcome = reassign_partitions.roll_back(work.view, name, entry)
    refused = work.refused.get(name[0])
    if outcome.changes and refused is not None:
        outcome = reassign_partitions.not_cancelled_outcome(entry, str(refused))
    for change in outcome.changes:
        work.view.add(change)
    if outcome.changes and before is not None:
        work.view.unthrottle(*name, before.replicas)
    if outcome.report is not None:
        what = catalogue.ENTRY_ROLLED_BACK if outcome.entry is None else catalogue.ENTRY_CANCEL_SKIPPED
        work.view.report(Event(what, *name, reason=outcome.report, target=entry.target))
    return outcome


class ProcessBatchAndQueue(Command[None]):
    """`topics`: their queued moves are decided again even if they were known to wait."""

    def __init__(self, topics: Collection[str] = ()) -> None:
        super().__init__()
        self._topics = topics

    def decide(self, work: Round) -> Iterator[None]:
        for topic in self._topics:
            queue_admission.renew(work.view, topic)
        yield from process_batch_and_queue(work)
        self.answer(None)


class AdminZnodesRead(Command[None]):
    """Without `batch_read` the known batch stays."""

    def __init__(self, read: AdminZnodes, *, batch_read: bool, read_at: int = LAST_ZXID) -> None:
        super().__init__()
        self._found = AdminZnodesFound(read, batch_read, read_at)
        self._problems: Sequence[ZnodeProblem] = ()

    def learn(self, cluster: Cluster) -> Iterator[None]:
        if (yield from self._found.apply(cluster)):
            self._problems = self._found.read.problems

    def decide(self, work: Round) -> Iterator[None]:
        for problem in self._problems:
            work.view.report(Event(catalogue.ENTRY_REFUSED, who=BY_BATCH.who, reason=problem.text))
        yield from process_batch_and_queue(work)
        self.answer(None)
