"""Commands about KIP-236's znodes: the batch in `/admin/reassign_partitions`, its cancellation, the guard.

What becomes of an entry stands in `core.legacy`; here it is done for all of them, in slices, within ZooKeeper's
limit on the size of a znode: original replicas make the znode longer, so that entries for which there is no room wait
until others have left.
"""

import logging
from collections.abc import Iterator

from kafka_reassign_rpc.controller.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.reading import AdminZnodes
from kafka_reassign_rpc.controller.store import MAX_STEP_BYTES
from kafka_reassign_rpc.core import guard, legacy
from kafka_reassign_rpc.core.batch import Batch, Entry, Name
from kafka_reassign_rpc.zookeeper import paths
from kafka_reassign_rpc.zookeeper.reassignments import encode_reassignments

log = logging.getLogger(__name__)

ROOM = MAX_STEP_BYTES - 4096
"""Bytes that the batch may take. The rest is for what a cancel may have to note, and for the path."""


def settle(work: Round, reports: list[str]) -> Iterator[None]:
    """Look at each entry of the batch: take it up or, where the batch is cancelled, roll it back.

    reports   gets what has to be said, to be said once it is durable
    """
    cluster, changes = work.view.cluster, work.view.batch
    batch, cancel = cluster.batch, cluster.cancel_all
    if batch is not None and cancel is not None:
        changes.rewrite = True
        yield from _roll_back(work, batch, reports)
    elif batch is not None and not batch.unreadable:
        changes.rewrite |= batch.flawed or not (batch.entries or batch.occupied)
        yield from _take_up(work, batch, reports)
    if cancel is not None and changes.cancelled is None:
        changes.cancelled = cancel
        reports.append(f"{paths.CANCEL_IN_PROGRESS} is carried out")
        if cancel.occupied:
            reports.append(f"{paths.CANCEL_IN_PROGRESS} cannot be deleted: it has children")


def _entries(work: Round, batch: Batch) -> Iterator[tuple[int, Name, Entry]]:
    """Those that an earlier command of the round has not done with."""
    changes = work.view.batch
    for count, (name, entry) in enumerate(batch.entries.items(), 1):
        if name not in changes.ended and name not in changes.withdrawn:
            yield count, name, changes.started.get(name, entry)


def _take_up(work: Round, batch: Batch, reports: list[str]) -> Iterator[None]:
    changes = work.view.batch
    changes.crowded = False
    room = ROOM - len(encode_reassignments(batch.entries)) - sum(map(_growth, changes.started.values()))
    changes.waiting = 0
    for count, name, entry in _entries(work, batch):
        outcome = legacy.take_up(work.view, name, entry, work.rules, stripped=name in batch.stripped)
        refused = work.refused.get(name[0])
        if outcome.changes and refused is not None:
            outcome = legacy.Outcome(None, report=str(refused))
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
            reports.append(f"{paths.REASSIGN_PARTITIONS}: {name[0]}-{name[1]}: {outcome.report}")
        if outcome.entry is None:
            changes.ended[name] = None
        elif started:
            changes.started[name] = outcome.entry
        changes.waiting += outcome.waits
        if count % SLICE == 0:
            yield
    if changes.waiting and changes.waiting != batch.waiting:
        closed = guard.closed(work.view.cluster)
        reports.append(f"{paths.REASSIGN_PARTITIONS}: {changes.waiting} of its entries wait. {closed}")
    if changes.crowded and not batch.crowded:
        reports.append(f"{paths.REASSIGN_PARTITIONS}: is full; the rest of its entries wait until others have left it")


def _growth(entry: Entry) -> int:
    """What original replicas add to the znode."""
    return len(f',"original_replicas":{list(entry.original or ())}')


def _roll_back(work: Round, batch: Batch, reports: list[str]) -> Iterator[None]:
    changes = work.view.batch
    room = ROOM - len(encode_reassignments(batch.entries))
    for count, name, entry in _entries(work, batch):
        outcome = legacy.roll_back(work.view, name, entry)
        refused = work.refused.get(name[0])
        if outcome.changes and refused is not None:
            outcome = legacy.left_alone(entry, str(refused))
        for change in outcome.changes:
            work.view.add(change)
        if outcome.report is not None:
            reports.append(f"{paths.REASSIGN_PARTITIONS}: {name[0]}-{name[1]}: {outcome.report}")
        if outcome.entry is None:
            changes.ended[name] = None
        else:
            room -= len(outcome.entry.not_cancelled or "") + len(',"cancel_skipped":""')
            if room > 0:
                changes.noted[name] = outcome.entry
        if count % SLICE == 0:
            yield


class _Reporting(Command[None]):
    """What it finds is reported once it is durable."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: list[str] = []

    def durable(self) -> None:
        for text in self.reports:
            log.warning("%s", text)
        super().durable()


class Settle(_Reporting):
    """Something has changed that entries may wait for: each is looked at again."""

    def decide(self, work: Round) -> Iterator[None]:
        self.reports.clear()
        yield from settle(work, self.reports)
        self.answer(None)


class AdminZnodesSeen(_Reporting):
    """The znodes of KIP-236 as they stand now.

    batch_read  whether `read` has the batch at all; otherwise it stands as it is known
    """

    def __init__(self, read: AdminZnodes, *, batch_read: bool) -> None:
        super().__init__()
        self._read: AdminZnodes | None = read
        self._batch_read = batch_read
        self._news: list[str] = []

    def decide(self, work: Round) -> Iterator[None]:
        if self._read is not None:  # once: what is read after a lost commit is newer
            self._news = self._put(work, self._read)
            self._read = None
        self.reports = list(self._news)
        yield from settle(work, self.reports)
        self.answer(None)

    def _put(self, work: Round, read: AdminZnodes) -> list[str]:
        cluster = work.view.cluster
        before = guard.closed(cluster)
        cluster.guarded = read.guarded
        cancel = read.cancel_all
        cluster.cancel_all = None if cancel is None or cancel.id == cluster.cancelled else cancel
        after = guard.closed(cluster)
        news = [] if after is None or before is not None else [str(after)]
        if self._batch_read and legacy.seen(work.view, read.batch):
            news += read.problems
        return news
