"""Puts a durable round into the `Cluster`.

Reading the store after a commit gives the same cluster. ZooKeeper's shows two things otherwise: pending deletions
without a move record are read as removing replicas, and a completion whose topic znode is still to be written as a
move. A controller failover completes that again; a controller that knew the cluster keeps what it knows
(`durable_assignment.with_known_completion`).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.reassign_partitions import BatchWritten
from kafka_reassign_rpc.core.round.round_view import (
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, REVISIONS, MoveRecord, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import QueueChanges
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import add_topic, begin_deletion, put_partition, remove_topic

EndedLeases = tuple[dict[str, None], dict[int, None]]


class Written(NamedTuple):
    """What the store has given a part of the queue: its version, and the numbers of this write and of the first one.
    (zkVersion, mzxid and czxid; in a log, offsets.)"""

    version: int
    changed: int
    created: int


class Durable(msgspec.Struct):
    """The store's answers to the writes of a round. A number only rises: zxids, or offsets of a log.

    topics   versions of topics, and the numbers that created them
    states   versions of partition states
    created  the numbers that created them
    records  move records: number, which becomes the move's id, and time (ms since the epoch)
    parts    parts of the queue, by path
    """

    topics: dict[str, tuple[int, int]] = {}
    states: dict[TopicPartition, int] = {}
    records: dict[TopicPartition, tuple[int, int]] = {}
    created: dict[TopicPartition, int] = {}
    batch: BatchWritten = BatchWritten()
    parts: dict[str, Written] = {}


class PartitionTransition(NamedTuple):
    """`before`: None for a new partition."""

    topic: str
    partition: int
    before: Partition | None
    after: Partition


class ReplayedChanges:
    """What the controller propagates to the brokers."""

    def __init__(self) -> None:
        self.partitions: list[PartitionTransition] = []
        self.moves: dict[TopicPartition, MoveRecord] = {}
        """Moves whose records were written, with id and time from the store."""
        self.created: list[str] = []
        self.deleting: list[str] = []
        self.deleted: list[Topic] = []
        """Topics that are gone, as they were last known."""
        self.leaving: dict[int, list[TopicPartition]] = {}
        """`RoundView.leaving`."""
        self.ended_leases: EndedLeases = {}, {}
        """Topics and brokers whose throttle leases ended or changed with the round, or with the facts before it."""


def replay(
    cluster: Cluster, view: RoundView, durable: Durable, controller_epoch: int, applied: ReplayedChanges
) -> Iterator[None]:
    """At each yield every partition is as before the round or as after it."""
    if view.queue.lines is not None:
        cluster.queue.waiting = view.queue.lines
    yield from _put_topics(cluster, view, durable, controller_epoch, applied)
    for name, partition_change in view.partitions.items():
        _put(cluster, name, partition_change.value, durable, controller_epoch, applied)
        if partition_change.missing is not None:
            _put_missing(cluster, name, partition_change.missing)
        yield
    applied.leaving = view.leaving
    _put_failures(cluster, view)
    _put_settings(cluster, view)
    _put_topic_ids(cluster, view)
    for topic, (version, _) in durable.topics.items():
        if topic in cluster.topics:
            cluster.topics[topic].version = version
    soft = cluster.soft
    soft.former.decided(cluster.topics)
    soft.unheard -= view.heard
    if view.gone is not None:
        soft.gone = view.gone
    _put_batch(cluster, view, durable.batch)
    cluster.requests = cluster.requests.difference(view.requests) if view.requests else cluster.requests
    yield from _put_queue(cluster, view.queue, durable.parts)
    applied.ended_leases = cluster.leases.drain()


def _put_batch(cluster: Cluster, view: RoundView, written: BatchWritten) -> None:
    batch, changes = cluster.batch, view.batch
    if changes.cancelled is not None:
        cluster.cancel_all = None
        cluster.soft.cancelled = changes.cancelled.id
    if batch is None:
        return
    made = reassign_partitions.contents(cluster, view)
    if made is not None:
        if not made.last and not batch.has_children:
            cluster.batch = None
            return
        batch = replace(
            batch,
            entries=made.last,
            unreadable=False,
            needs_rewrite=False,
            stripped=frozenset(name for name in batch.stripped if name in made.last),
        )
    cluster.batch = replace(
        batch,
        version=written.version if written.version >= 0 else batch.version,
        changed=max(written.changed, batch.changed),
        room=batch.room if written.room is None else written.room,
        waiting=batch.waiting if changes.waiting is None else changes.waiting,
        lacks_room=batch.lacks_room if changes.lacks_room is None else changes.lacks_room,
    )


def _put_queue(cluster: Cluster, changes: QueueChanges, written: Mapping[str, Written]) -> Iterator[None]:
    queue, soft = cluster.queue, cluster.soft
    if changes.reported is not None:
        soft.reported = changes.reported
    for path, part in changes.made.items():
        if part is None:
            yield from queue.remove(path)
        else:
            now, known = written[path], queue.parts.get(path)
            created = now.created if known is None else known.created
            yield from queue.put(replace(part, version=now.version, changed=now.changed, created=created))
        if not queue:
            soft.reported = set()
        yield  # many parts are too short to yield themselves


def _put_topics(
    cluster: Cluster, view: RoundView, durable: Durable, controller_epoch: int, applied: ReplayedChanges
) -> Iterator[None]:
    for topic, change in view.topics.items():
        match change:
            case TopicCreated():
                version, created = durable.topics.get(topic, (-1, -1))
                add_topic(cluster, Topic(topic, change.id, {}, version, created=created, id_since=created))
                cluster.topic_configs[topic] = dict(change.configs)
                applied.created.append(topic)
            case TopicDeletionStarted() if topic in cluster.topics:
                begin_deletion(cluster, topic)
                applied.deleting.append(topic)
            case TopicDeleted() if topic in cluster.topics:
                gone = cluster.topics[topic]
                applied.deleted.append(gone)
                if not gone.deleting:
                    cluster.soft.former.keep(gone, gone.partitions, is_reported=True)
                remove_topic(cluster, topic)
        if isinstance(change, TopicCreated | PartitionsAdded):
            for index, value in change.partitions.items():
                _put(cluster, TopicPartition(topic, index), value, durable, controller_epoch, applied)
                yield


def _put_topic_ids(cluster: Cluster, view: RoundView) -> None:
    for name, topic_id in view.topic_ids.items():
        topic = cluster.topics.get(name)
        if topic is not None:
            topic.id, topic.id_since = topic_id, LAST_ZXID
            topic.revision = next(REVISIONS)
            cluster.topic_names[topic_id] = name


def _put_failures(cluster: Cluster, view: RoundView) -> None:
    for broker, since in view.failed.items():
        if since is None:
            cluster.failed.pop(broker, None)
        else:
            cluster.failed[broker] = since
    for broker, failure in view.log_dirs.items():
        if failure is None:
            cluster.failed_log_dirs.pop(broker, None)
        else:
            cluster.failed_log_dirs[broker] = failure


def _put_settings(cluster: Cluster, view: RoundView) -> None:
    if view.settings:
        by = {**cluster.settings_by, **{name: one.by for name, one in view.settings.items()}}
        cluster.settings = view.set_now()
        cluster.settings_by = {name: one for name, one in by.items() if one is not None}
        cluster.derive_settings()


def _put_missing(cluster: Cluster, name: TopicPartition, missing: int) -> None:
    topic = cluster.topics.get(name.topic)
    if topic is not None and missing:
        topic.missing[name.partition] = missing
    elif topic is not None:
        topic.missing.pop(name.partition, None)


def _put(
    cluster: Cluster,
    name: TopicPartition,
    value: Partition,
    durable: Durable,
    controller_epoch: int,
    applied: ReplayedChanges,
) -> None:
    topic, index = name
    found = cluster.topics.get(topic)
    if found is None:
        return
    move = value.move
    record = durable.records.get(name)
    if record is not None and move is not None:
        move = applied.moves[name] = replace(move, id=record[0], started=record[1])
    version = durable.states.get(name)
    if version is not None:
        created = durable.created.get(name, value.created)
        value = replace(value, partition_epoch=version, controller_epoch=controller_epoch, move=move, created=created)
    elif move is not value.move:
        value = replace(value, move=move)
    before = found.partitions.get(index)
    if before is None or before != value:
        put_partition(cluster, found, index, value)
        applied.partitions.append(PartitionTransition(topic, index, before, value))
