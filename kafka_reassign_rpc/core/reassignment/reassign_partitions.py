"""`/admin/reassign_partitions` and its cancel (KIP-236): what happens to each entry. It is decided whenever its
situation may have changed (the znode, reassignments enabled or disabled, a controller failover); that is safe, since
only the present state of the cluster counts.

partition                          the entry
does not exist                     leaves, with a report
at rest, with the target           leaves: it is done
moving to the target               stays; gets the original replicas if it has none (a stock controller started it)
moving by a request znode          leaves, with a report (`route_conflict`)
other, reassignments disabled      waits
other, undecided request znodes    waits: they were there before the batch
other                              gets the original replicas and starts, like a client's target; but it waits for
                                   dead brokers, as in Kafka. If the target is refused, it leaves, with a report

With a cancel of the whole batch (`roll_back`) an entry whose move is not the batch's leaves; a completed move stays
completed. Moves of a request znode with `"legacy":true` are rolled back too, with the original replicas of their
record. A move whose entry others have removed goes on.

Targets of request znodes, `/admin/reassignment_requests/request_NNN` (KIP-236), start alike. The users of the batch and
of request znodes do not see each other's targets, so neither replaces the other's. A client's request replaces both,
and both replace a client's, as in Kafka.

partition                          the target of a request znode
does not exist                     a report
moving by the other route          a report; the target is ignored (`route_conflict`)
at rest there, or moving to it     nothing to do
other                              starts, or a report if it is refused. If the request stands for the batch, the target
                                   replaces the batch's own entry

Once each target is decided, the znode goes in the same round. If the controller dies in between, the next one
finds nothing to do. Requests wait while reassignments are disabled.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.reassignment.alter import alter, cancel
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView, TopicDeleted, TopicDeletionStarted
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

_ROUTE_ZNODES = {BATCH: "/admin/reassign_partitions", REQUEST: "a znode under /admin/reassignment_requests"}


def route_conflict(partition: Partition, route: str) -> str | None:
    """Why a target of this route is ignored during the partition's present move, or None."""
    if partition.move is None or not partition.is_moving or {partition.move.terms.route, route} != {BATCH, REQUEST}:
        return None
    return (
        f"ignored: it moves to {listed(partition.target)}, started by {_ROUTE_ZNODES[partition.move.terms.route]};"
        " cancel that, or wait until it is done"
    )


def waiting_route_conflict(route: str, target: Iterable[int]) -> str | None:
    """Why an entry of the batch is ignored while a target of `route` waits for room, or None."""
    if route != REQUEST:
        return None
    return f"ignored: {_ROUTE_ZNODES[REQUEST]} wants it at {listed(target)}, which waits for room"


class Started(NamedTuple):
    """`error`: why nothing starts, `report`: what the move waits for."""

    error: KafkaError | None
    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def start(
    view: RoundView, name: TopicPartition, partition: Partition, terms: MoveTerms, *, legacy: bool = False
) -> Started:
    """As for a client, except that the move waits for dead brokers. `legacy`: see `MoveRecord`."""
    may_change = view.cluster.soft.in_force.replication_factor_change_allowed
    error, changes = alter(view, name, terms, allow_replication_factor_change=may_change, adding_must_live=False)
    error = restrictions.with_reason(error, forbidden=not may_change)
    if error is not None:
        return Started(error)
    if legacy:
        changes = [_by_legacy_request(change) for change in changes]
    dead = [broker for broker in without(terms.target, partition.origin) if not view.cluster.is_live(broker)]
    return Started(None, changes, f"waits for broker(s) {listed(dead)}, which are not alive" if dead else None)


def _by_legacy_request(change: PartitionChange) -> PartitionChange:
    value = change.value
    if value.move is None:
        return change
    return change._replace(value=replace(value, move=replace(value.move, legacy=True)))


def listed(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"


class RequestOutcome(NamedTuple):
    """`report`: for its author."""

    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def decide_target(view: RoundView, name: TopicPartition, terms: MoveTerms) -> RequestOutcome:
    """While reassignments are enabled."""
    partition = view.get(*name)
    if partition is None:
        return RequestOutcome(report=str(view.cluster.not_found(*name)))
    ignored = route_conflict(partition, terms.route)
    if ignored is not None:
        return RequestOutcome(report=ignored)
    if (partition.target if partition.is_moving else partition.replicas) == terms.target:
        return RequestOutcome()
    started = start(view, name, partition, terms, legacy=terms.route == BATCH)
    if started.error is not None:
        return RequestOutcome(report=str(started.error))
    if terms.route == BATCH:
        withdraw_for_client(view, name, None)  # otherwise the batch would start its own target again
    return RequestOutcome(started.changes, started.report)


class BatchEntryOutcome(NamedTuple):
    """`entry`: afterwards, None: it leaves. `report`: for its author. `waits`: reassignments are disabled."""

    entry: BatchEntry | None
    changes: Sequence[PartitionChange] = ()
    report: str | None = None
    waits: bool = False


def decide_entry(
    view: RoundView,
    name: TopicPartition,
    entry: BatchEntry,
    *,
    stripped: bool = False,
    waits: bool = True,
) -> BatchEntryOutcome:
    """`waits`: whether the entry waits for requests, and until reassignments are enabled."""
    partition = view.get(*name)
    if partition is None:
        return BatchEntryOutcome(None, report=str(view.cluster.not_found(*name)))
    ignored = route_conflict(partition, BATCH)
    if ignored is not None:
        return BatchEntryOutcome(None, report=ignored)
    if partition.is_moving:
        if partition.target == entry.target:
            if entry.original is None and not stripped:
                entry = replace(entry, original=partition.original)
            return BatchEntryOutcome(entry)
    elif partition.replicas == entry.target:
        return BatchEntryOutcome(None)
    if waits and restrictions.reassignments_disabled(view.cluster) is not None:
        return BatchEntryOutcome(entry, waits=True)
    if waits and view.cluster.requests:
        return BatchEntryOutcome(entry)
    started = start(view, name, partition, entry.terms)
    if started.error is not None:
        return BatchEntryOutcome(None, report=str(started.error))
    return BatchEntryOutcome(BatchEntry(entry.target, partition.original), started.changes, started.report)


def roll_back(view: RoundView, name: TopicPartition, entry: BatchEntry) -> BatchEntryOutcome:
    """Decides an entry of a cancelled batch. It stays, with the reason, if its original replicas are missing in the
    znode, none of them is in the ISR while an adding one is alive, or the cancel needs an unclean election; but if all
    these replicas are offline, it is rolled back, since the partition is lost either way.
    """
    partition = view.get(*name)
    if partition is None or not partition.is_moving or partition.target != entry.target:
        return BatchEntryOutcome(None)
    if route_conflict(partition, BATCH):
        return BatchEntryOutcome(None)
    if entry.original is None:
        return not_cancelled_outcome(entry, "its original_replicas are missing in the znode")
    back = partition.original
    added = partition.adding
    live_original = [replica for replica in back if view.cluster.is_online(replica, partition)]
    live_added = [replica for replica in added if view.cluster.is_online(replica, partition)]
    if live_added and not any(replica in partition.isr for replica in back):
        return not_cancelled_outcome(
            entry,
            f"none of the original replicas {listed(back)} is in the ISR {listed(partition.isr)}"
            f" while new one(s) {listed(live_added)} are alive",
        )
    error, changes = cancel(view, name, even_uncleanly=not live_original and not live_added)
    if error is not None:
        return not_cancelled_outcome(entry, str(error))
    report = None
    if set(entry.original) != set(back):
        report = f"rolled back to {listed(back)}: {listed(entry.original)} was not there before its move"
    return BatchEntryOutcome(None, changes, report)


def not_cancelled_outcome(entry: BatchEntry, reason: str) -> BatchEntryOutcome:
    """The znode shows the reason to its author."""
    reason = f"not cancelled: {reason}"
    return BatchEntryOutcome(replace(entry, not_cancelled=reason), report=reason)


# ----------------------------------------------------------------------------------------------- what a round writes


class Contents(NamedTuple):
    """The entries before anything moves, and at the end of the round."""

    first: Mapping[TopicPartition, BatchEntry]
    last: Mapping[TopicPartition, BatchEntry]


def contents(cluster: Cluster, view: RoundView) -> Contents | None:
    """None if the round does not change the batch."""
    batch = cluster.batch
    changes = view.batch
    if batch is None or (batch.unreadable and not changes.rewrite):
        return None
    ended = {**changes.ended, **_completed_entries(batch, view)}
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


class BatchWritten(NamedTuple):
    """What the last write of a round has made of the znode; the defaults: there was none."""

    version: int = -1
    changed: int = -1
    room: int | None = None


def _completed_entries(batch: BatchZnode, view: RoundView) -> dict[TopicPartition, None]:
    """Entries that this round completes by another decision, or whose topic it deletes."""
    completed: dict[TopicPartition, None] = {}
    for name, change in view.partitions.items():
        entry = batch.entries.get(name)
        if entry is not None and not change.value.is_moving and change.value.replicas == entry.target:
            completed[name] = None
    deleted = {
        topic for topic, change in view.topics.items() if isinstance(change, TopicDeletionStarted | TopicDeleted)
    }
    if deleted:
        completed.update((name, None) for name in batch.entries if name[0] in deleted)
    return completed


def withdraw_for_client(view: RoundView, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
    """A client has set or cancelled the target, which `error` would answer. Cancelling an entry that has not started
    succeeds although nothing was in flight.
    """
    batch = view.cluster.batch
    if batch is None or name not in batch.entries or not (error is None or isinstance(error, NoReassignmentInProgress)):
        return error
    if name in view.batch.withdrawn:
        return error
    view.batch.withdrawn[name] = None
    return None
