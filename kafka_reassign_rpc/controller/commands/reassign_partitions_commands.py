"""Commands about KIP-236's znodes: the batch in `/admin/reassign_partitions`, its cancellation, the guard.

What becomes of an entry stands in `core.znode_routes.reassign_partitions`; here it is done for all of them, in
slices, within ZooKeeper's
limit on the size of a znode: original replicas make the znode longer, so that entries for which there is no room wait
until others have left.
"""

from collections.abc import Collection, Iterator

from kafka_reassign_rpc.controller.commands.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.commit.durable_store import MAX_STEP_BYTES
from kafka_reassign_rpc.controller.loading.load_cluster import AdminZnodes
from kafka_reassign_rpc.controller.loading.load_queue import ZnodeProblem
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchEntry, BatchZnode
from kafka_reassign_rpc.core.znode_routes import queue_admission, reassign_partitions
from kafka_reassign_rpc.core.znode_routes.route_rules import waiting_route_conflict
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import encode_reassignments

BY_BATCH = f"znode {znode_paths.REASSIGN_PARTITIONS}"
BY_CANCEL = f"znode {znode_paths.CANCEL_IN_PROGRESS}"

ROOM = MAX_STEP_BYTES - 4096
"""Bytes that the batch may take. The rest is for what a cancel may have to note, and for the path."""


def settle(work: Round) -> Iterator[None]:
    """Look at each entry of the batch, and at the queue.

    A batch that is cancelled is rolled back first, which makes room. Otherwise it comes after the queue: what waits
    there has been waiting, and requests that are taken up before the batch may be part of it.
    """
    cluster, changes = work.view.cluster, work.view.batch
    batch, cancel = cluster.batch, cluster.cancel_all
    if cancel is None:
        yield from work.look_at_queue()
    asked_by, work.view.by = work.view.by, BY_BATCH if cancel is None else BY_CANCEL
    if batch is not None and cancel is not None:
        changes.rewrite = True
        yield from _roll_back(work, batch)
    elif batch is not None and not batch.unreadable:
        changes.rewrite |= batch.flawed or not (batch.entries or batch.occupied)
        yield from work.schedule_moves()
        yield from _take_up(work, batch)
    if cancel is not None and changes.cancelled is None:
        changes.cancelled = cancel
        reason = "the znode cannot be deleted: it has children" if cancel.occupied else None
        work.view.report(Event(catalogue.BATCH_CANCELLED, reason=reason))
    work.view.by = asked_by
    if cancel is not None:
        yield from work.look_at_queue()


def _entries(work: Round, batch: BatchZnode) -> Iterator[tuple[int, TopicPartition, BatchEntry]]:
    """Those that an earlier command of the round has not done with."""
    changes = work.view.batch
    for count, (name, entry) in enumerate(batch.entries.items(), 1):
        if name not in changes.ended and name not in changes.withdrawn:
            yield count, name, changes.started.get(name, entry)


def _take_up(work: Round, batch: BatchZnode) -> Iterator[None]:
    changes = work.view.batch
    changes.crowded = False
    room = ROOM - len(encode_reassignments(batch.entries)) - sum(map(_growth, changes.started.values()))
    changes.waiting = 0
    for count, name, entry in _entries(work, batch):
        outcome = _outcome(work, name, entry, stripped=name in batch.stripped)
        started = outcome.entry is not None and outcome.entry != entry
        if started and entry.original is None and outcome.entry is not None:
            growth = _growth(outcome.entry)
            if growth > room:
                changes.crowded = True
                continue
            room -= growth
        for change in outcome.changes:
            work.view.add(change)
        if outcome.report is not None:
            what = catalogue.ENTRY_REFUSED if outcome.entry is None else catalogue.ENTRY_WAITING
            work.view.report(Event(what, *name, reason=outcome.report, target=entry.target))
        if outcome.entry is None:
            changes.ended[name] = None
        elif started:
            changes.started[name] = outcome.entry
        changes.waiting += outcome.waits
        if count % SLICE == 0:
            yield
    if changes.waiting and changes.waiting != batch.waiting:
        closed = restrictions.reassignments_disabled(work.view.cluster)
        what = "They start as moves in flight end." if closed is None else str(closed)
        work.view.report(Event(catalogue.ENTRY_WAITING, reason=f"{changes.waiting} of its entries wait. {what}"))
    if changes.crowded and not batch.crowded:
        reason = "the znode is full; the rest of its entries wait until others have left it"
        work.view.report(Event(catalogue.ENTRY_WAITING, reason=reason))


def _outcome(
    work: Round, name: TopicPartition, entry: BatchEntry, *, stripped: bool
) -> reassign_partitions.BatchEntryOutcome:
    """What becomes of an entry within the caps on moves in flight, and within what a topic's znode can hold."""
    before = work.view.get(*name)
    if before is not None and before.target != entry.target:
        move = queue_admission.find(work.view, name)
        ignored = None if move is None else waiting_route_conflict(move.route, move.target)
        if ignored is not None:
            return reassign_partitions.BatchEntryOutcome(None, report=ignored)
        if work.schedule.is_full:
            return reassign_partitions.BatchEntryOutcome(entry, waits=True)
    outcome = reassign_partitions.decide_entry(work.view, name, entry, work.rules, stripped=stripped)
    refused = work.refused.get(name[0])
    if outcome.changes and refused is not None:
        return reassign_partitions.BatchEntryOutcome(None, report=str(refused))
    if outcome.changes and before is not None and not work.starts(name, before, outcome.changes[-1].value):
        return reassign_partitions.BatchEntryOutcome(entry, waits=True)
    return outcome


def _growth(entry: BatchEntry) -> int:
    """What original replicas add to the znode."""
    return len(f',"original_replicas":{list(entry.original or ())}')


def _roll_back(work: Round, batch: BatchZnode) -> Iterator[None]:
    changes = work.view.batch
    room = ROOM - len(encode_reassignments(batch.entries))
    for count, name, entry in _entries(work, batch):
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
        if outcome.entry is None:
            changes.ended[name] = None
        else:
            room -= len(outcome.entry.not_cancelled or "") + len(',"cancel_skipped":""')
            if room > 0:
                changes.noted[name] = outcome.entry
        if count % SLICE == 0:
            yield


class ProcessBatchAndQueue(Command[None]):
    """Something has changed that entries may wait for: each is looked at again.

    topics   all that waits in the queue for these is looked at again too
    """

    def __init__(self, topics: Collection[str] = ()) -> None:
        super().__init__()
        self._topics = topics

    def decide(self, work: Round) -> Iterator[None]:
        for topic in self._topics:
            work.view.cluster.queue.renew(topic)
        yield from settle(work)
        self.answer(None)


class AdminZnodesRead(Command[None]):
    """The znodes of KIP-236 as they stand now.

    batch_read  whether `read` has the batch at all; otherwise it stands as it is known
    """

    def __init__(self, read: AdminZnodes, *, batch_read: bool) -> None:
        super().__init__()
        self._read: AdminZnodes | None = read
        self._batch_read = batch_read
        self._problems: list[ZnodeProblem] = []

    def decide(self, work: Round) -> Iterator[None]:
        if self._read is not None:  # once: what is read after a lost commit is newer
            self._problems = self._put(work, self._read)
            self._read = None
        for problem in self._problems:
            work.view.report(Event(catalogue.ENTRY_REFUSED, who=BY_BATCH, reason=problem.text))
        yield from settle(work)
        self.answer(None)

    def _put(self, work: Round, read: AdminZnodes) -> list[ZnodeProblem]:
        """What is wrong with the batch, where it is news."""
        cluster = work.view.cluster
        cluster.disabled_by_znode = read.disabled_by_znode
        cancel = read.cancel_all
        cluster.cancel_all = None if cancel is None or cancel.id == cluster.cancelled else cancel
        return read.problems if self._batch_read and reassign_partitions.put_read(work.view, read.batch) else []
