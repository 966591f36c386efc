"""`/admin/reassign_partitions` and its cancellation (KIP-236): what becomes of each entry.

An entry is looked at whenever something may have changed for it: the znode, the guard, who is controller. It holds
no state of its own: what it is worth follows from what stands, so looking at it again does nothing twice.

    partition                          the entry
    there is none                      leaves, reported
    at rest, has the target            leaves: it is done
    moves to the target                stays; its original replicas are added where nobody has yet (a controller
                                       that knows nothing of them has started it)
    moves by a request znode           leaves, reported (`routes.crosses`)
    anything else, guard closed        waits
    anything else, unread requests     waits: what was asked for before the batch could be comes first
    anything else                      its original replicas are added, and it starts like any target that a client
                                       gives, but that it waits for brokers that are down (as in Kafka); where the
                                       target is refused it leaves, reported

With a cancel of the whole batch, in the same way:

    at rest, or on its way elsewhere   leaves: nothing of it is under way (it may be done, which stays)
    moves by a request znode           leaves too: that move is not the batch's
    moves to the target                is rolled back, and leaves; or it stays, with the reason, where

        its original replicas are missing in the znode;
        no original replica is in the ISR while a new one is alive;
        the cancel would need an unclean election, but for the case that all of them are offline: then the partition
        is as good as lost either way, and goes back.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment_algebra.assignment import original
from kafka_reassign_rpc.core.restrictions import Rules
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView, TopicDeleted, TopicDeletionStarted
from kafka_reassign_rpc.core.state.cluster import BATCH, Cluster, TopicPartition
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchChanges, BatchEntry, BatchZnode
from kafka_reassign_rpc.core.znode_routes.route_rules import NO_PARTITION, crosses, listed, start


class BatchEntryOutcome(NamedTuple):
    """What becomes of an entry.

    entry    as it stands after this; None: it leaves
    changes  what happens to its partition
    report   for whoever wrote it, where there is something to say
    waits    it could not start yet
    """

    entry: BatchEntry | None
    changes: Sequence[PartitionChange] = ()
    report: str | None = None
    waits: bool = False


def take_up(
    view: RoundView, name: TopicPartition, entry: BatchEntry, rules: Rules, *, stripped: bool = False
) -> BatchEntryOutcome:
    """An entry of a batch that nobody has cancelled."""
    partition = view.get(*name)
    if partition is None:
        return BatchEntryOutcome(None, report=NO_PARTITION)
    ignored = crosses(partition, BATCH)
    if ignored is not None:
        return BatchEntryOutcome(None, report=ignored)
    if partition.is_moving:
        if partition.target == entry.target:
            if entry.original is None and not stripped:
                entry = replace(entry, original=original(partition))
            return BatchEntryOutcome(entry)
    elif partition.replicas == entry.target:
        return BatchEntryOutcome(None)
    if restrictions.reassignments_disabled(view.cluster) is not None:
        return BatchEntryOutcome(entry, waits=True)
    if view.cluster.requests:
        return BatchEntryOutcome(entry)
    started = start(view, name, partition, entry.target, BATCH, rules)
    if started.error is not None:
        return BatchEntryOutcome(None, report=str(started.error))
    return BatchEntryOutcome(BatchEntry(entry.target, original(partition)), started.changes, started.report)


def roll_back(view: RoundView, name: TopicPartition, entry: BatchEntry) -> BatchEntryOutcome:
    """An entry of a batch that is cancelled."""
    partition = view.get(*name)
    if partition is None or not partition.is_moving or partition.target != entry.target:
        return BatchEntryOutcome(None)
    if crosses(partition, BATCH):
        return BatchEntryOutcome(None)
    if entry.original is None:
        return left_alone(entry, "its original_replicas are missing in the znode")
    back = original(partition)
    added = partition.adding
    live_original = [replica for replica in back if view.cluster.is_live(replica)]
    live_added = [replica for replica in added if view.cluster.is_live(replica)]
    if live_added and not any(replica in partition.isr for replica in back):
        return left_alone(
            entry,
            f"none of the original replicas {listed(back)} is in the ISR {listed(partition.isr)}"
            f" while new one(s) {listed(live_added)} are alive",
        )
    error, changes = alter(
        view,
        *name,
        None,
        allow_replication_factor_change=True,
        even_uncleanly=not live_original and not live_added,
    )
    if error is not None:
        return left_alone(entry, str(error))
    report = None
    if set(entry.original) != set(back):
        report = f"rolled back to {listed(back)}: {listed(entry.original)} was not what stood before its move"
    return BatchEntryOutcome(None, changes, report)


def left_alone(entry: BatchEntry, reason: str) -> BatchEntryOutcome:
    """A cancel passes the entry over; the reason stands in the znode, where whoever asked for it looks."""
    reason = f"not cancelled: {reason}"
    return BatchEntryOutcome(replace(entry, not_cancelled=reason), report=reason)


# --------------------------------------------------------------------------------------------- what is to be written


class Contents(NamedTuple):
    """The entries that the znode has to hold before anything moves, and at the end of the round."""

    first: Mapping[TopicPartition, BatchEntry]
    last: Mapping[TopicPartition, BatchEntry]


def contents(cluster: Cluster, view: RoundView) -> Contents | None:
    """What a round makes of the batch; None where it does nothing to it."""
    batch = cluster.batch
    changes = view.batch
    if batch is None or (batch.unreadable and not changes.rewrite):
        return None
    ended = {**changes.ended, **_done(batch, view)}
    if not (changes.started or changes.withdrawn or ended or changes.noted or changes.rewrite):
        return None
    first = batch.entries
    if changes.started or changes.withdrawn:
        first = {
            name: changes.started.get(name, entry) for name, entry in first.items() if name not in changes.withdrawn
        }
    last = first
    if ended or changes.noted:
        last = {name: changes.noted.get(name, entry) for name, entry in first.items() if name not in ended}
    return Contents(first, last)


def put_durable(cluster: Cluster, view: RoundView, version: int, changed: int) -> None:
    """Put a committed round's batch into the cluster. `version`, `changed`: as the last write left it, -1: none."""
    batch, changes = cluster.batch, view.batch
    if changes.cancelled is not None:
        cluster.cancel_all = None
        cluster.cancelled = changes.cancelled.id
    if batch is None:
        return
    made = contents(cluster, view)
    if made is not None:
        if not made.last and not batch.occupied:
            cluster.batch = None
            return
        batch = replace(
            batch,
            entries=made.last,
            unreadable=False,
            flawed=False,
            stripped=frozenset(name for name in batch.stripped if name in made.last),
        )
    cluster.batch = replace(
        batch,
        version=version if version >= 0 else batch.version,
        changed=max(changed, batch.changed),
        waiting=batch.waiting if changes.waiting is None else changes.waiting,
        crowded=batch.crowded if changes.crowded is None else changes.crowded,
    )


def _done(batch: BatchZnode, view: RoundView) -> dict[TopicPartition, None]:
    """Entries that this round brings to their end without having looked at them."""
    found: dict[TopicPartition, None] = {}
    for name, change in view.partitions.items():
        entry = batch.entries.get(name)
        if entry is not None and not change.value.is_moving and change.value.replicas == entry.target:
            found[name] = None
    leaving = {topic for topic, what in view.topics.items() if isinstance(what, TopicDeletionStarted | TopicDeleted)}
    if leaving:
        found.update((name, None) for name in batch.entries if name[0] in leaving)
    return found


def overruled(view: RoundView, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
    """A client has given this partition a target, or cancelled its move, with `error` or None as its answer: what it
    wants stands above the batch, so that an entry leaves.

    The answer that stands then: a cancel of an entry that has not started has something to cancel after all.
    """
    batch = view.cluster.batch
    if batch is None or name not in batch.entries or not (error is None or isinstance(error, NoReassignmentInProgress)):
        return error
    if name in view.batch.withdrawn:
        return error
    view.batch.withdrawn[name] = None
    return None


def seen(view: RoundView, read: BatchZnode | None) -> bool:
    """Put in the batch as it was just read; whether it is another one than the one known.

    What the round was to do to the one known is dropped, but for what clients want and for its cancellation.
    """
    cluster, known = view.cluster, view.cluster.batch
    if known is None and read is None:
        return False
    if known is not None and read is not None:
        if read.changed <= known.changed:
            cluster.batch = replace(known, occupied=read.occupied)
            return False
        read = replace(read, stripped=frozenset(_stripped(view, known, read)))
    cluster.batch = read
    changes, view.batch = view.batch, BatchChanges()
    view.batch.withdrawn = changes.withdrawn
    view.batch.cancelled = changes.cancelled
    return True


def _stripped(view: RoundView, known: BatchZnode, read: BatchZnode) -> Iterator[TopicPartition]:
    """Entries under way whose original replicas somebody has taken out."""
    for name, entry in read.entries.items():
        before = known.entries.get(name)
        if before is None or entry.original is not None or before.target != entry.target:
            continue
        partition = view.get(*name)
        if partition is not None and partition.is_moving and (before.original is not None or name in known.stripped):
            yield name
