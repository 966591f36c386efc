"""The ZooKeeper writes that make a round durable, in an order that is safe at every crash. Pure.

    A  move records          `/admin/reassignments/$topic/$partition` with target and original replicas;
                             original replicas into `/admin/reassign_partitions`; entries out of it whose partition
                             got another target (or a cancel) from a client; moves that join the queue, and moves that
                             leave it for the same reason
    B  new topics' configs, topic znodes, deletion marks. A new topic's znode is created only where no mark has its
       name, a mark only where the topic has not changed. With its mark, a topic that moves gets an assignment
       without adding and removing replicas, so that no next controller continues the move
    C  partition states, and the end of move records
    D  deletion of request znodes; `/admin/reassign_partitions` without the entries that are done, rolled back or
       refused, or its deletion with the last one; deletion of `/admin/cancel_reassignment_in_progress`; the queue
       without the moves that have started; new and past failures in `/admin/failed_brokers`
       and `/admin/failed_log_dirs`

The next controller removes the records that a crash after A leaves: nothing has moved, no client has an answer. It
continues a move or a cancel that a crash after B leaves. After a crash before D it finds requests and entries done and
removes them, and carries out a cancel of the batch for the rest. An entry that gives way to a client's target leaves in
A: otherwise the next controller would start it over that target. Writes that fit into one transaction are one, so small
rounds are atomic.

Moves that join the queue are written before those that they replace leave it. Every write replaces a whole part of the
queue, so parts are short, and a long part of an operator is cut into short ones before anything leaves it.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment_algebra import durable_assignment, durable_in_deletion
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import (
    BatchEntry,
    BatchZnode,
    Queue,
    QueueChanges,
    QueuePart,
    StoredName,
    WaitingMove,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import EMPTY, QueuePartContent, encode_reassignments
from kafka_reassign_rpc.zookeeper.reassignments_znodes import encode_move_record
from kafka_reassign_rpc.zookeeper.znode_contents import encode_failed_log_dirs

PART_BYTES = 8 << 10
"""A part that the controller makes takes no more moves once it is as large."""


def queue_first(cluster: Cluster, view: RoundView) -> Iterator[Op]:
    """Phase A: durable before anything moves. Puts the written parts into `view.queue.made`."""
    queue, changes = cluster.queue, view.queue
    for root in changes.verify:
        yield Check(root, queue.parts[root].version)
    for path in changes.ended:
        if path not in changes.withdrawn and path not in changes.changed:
            yield Check(path, queue.parts[path].version)
    if changes.appended:
        if znode_paths.REASSIGN_QUEUE not in queue.parts:
            yield Create(znode_paths.REASSIGN_QUEUE, EMPTY)
            root = znode_paths.REASSIGN_QUEUE
            changes.made[root] = QueuePart(root, root, size=len(EMPTY))
        yield from _new_parts(queue, changes, znode_paths.REASSIGN_QUEUE, changes.appended.items())
    for path in changes.split:
        part = queue.parts[path]
        yield from _new_parts(queue, changes, part.root, _stays(part, changes).items())
    for path in changes.split | dict.fromkeys((*changes.withdrawn, *changes.changed)):
        part = queue.parts[path]
        yield _written(changes, part, {} if path in changes.split else _stays(part, changes))


def queue_last(cluster: Cluster, view: RoundView) -> Iterator[Op]:
    """Phase D: durable after everything else."""
    queue, changes = cluster.queue, view.queue
    for path in changes.ended | changes.rewrite:
        part = changes.made[path] if path in changes.made else queue.parts.get(path)
        if part is None:
            continue
        left = _left(part, changes.ended)
        if part.is_root and not left and _is_over(queue, changes, part.root):
            continue
        if len(left) < len(part.entries) or part.needs_rewrite or not (left or part.is_root or part.has_children):
            yield _written(changes, part, left)
    for root in dict.fromkeys(queue.parts[path].root for path in changes.ended | changes.withdrawn | changes.rewrite):
        if _is_over(queue, changes, root):
            part = changes.made.get(root) or queue.parts[root]
            changes.made[root] = None
            yield Delete(root, part.version)


def _stays(part: QueuePart, changes: QueueChanges) -> Mapping[StoredName, WaitingMove]:
    left, changed = _left(part, changes.withdrawn), changes.changed.get(part.path)
    return left if not changed else {name: changed.get(name, move) for name, move in left.items()}


def _left(part: QueuePart, leaving: Mapping[str, Mapping[StoredName, None]]) -> Mapping[StoredName, WaitingMove]:
    gone = leaving.get(part.path)
    return part.entries if not gone else {name: move for name, move in part.entries.items() if name not in gone}


def _written(changes: QueueChanges, part: QueuePart, entries: Mapping[StoredName, WaitingMove]) -> Op:
    """Deletes an empty part, unless it is the root or has children that others made."""
    if not entries and not (part.is_root or part.has_children):
        changes.made[part.path] = None
        return Delete(part.path, part.version)
    content = QueuePartContent()
    for name, move in entries.items():
        content.add(name, move)
    data = content.encode()
    changes.made[part.path] = replace(
        part, entries=entries, size=len(data), version=part.version + 1, needs_rewrite=False, unreadable=False
    )
    return SetData(part.path, data, part.version)


def _new_parts(
    queue: Queue, changes: QueueChanges, root: str, moves: Iterable[tuple[StoredName, WaitingMove]]
) -> Iterator[Op]:
    known = [part.path for part in queue.of(root)] + [path for path, part in changes.made.items() if part is not None]
    numbers = [znode_paths.queue_part_number(path) for path in known if path.startswith(f"{root}/")]
    first = max((one for one in numbers if one is not None), default=-1) + 1
    for number, (entries, data) in enumerate(_chunks(moves), first):
        path = znode_paths.queue_part(root, number)
        changes.made[path] = QueuePart(root, path, entries, size=len(data))
        yield Create(path, data)


def _chunks(moves: Iterable[tuple[StoredName, WaitingMove]]) -> Iterator[tuple[dict[StoredName, WaitingMove], bytes]]:
    entries: dict[StoredName, WaitingMove] = {}
    content = QueuePartContent()
    for (topic, partition), move in moves:
        entries[topic, partition] = move
        content.add((topic, partition), move)
        if content.size >= PART_BYTES:
            yield entries, content.encode()
            entries, content = {}, QueuePartContent()
    if entries:
        yield entries, content.encode()


def _is_over(queue: Queue, changes: QueueChanges, root: str) -> bool:
    if root in queue.roots_with_children:
        return False
    parts = {part.path: part for part in queue.of(root)} | {
        path: part for path, part in changes.made.items() if part is None or part.root == root
    }
    return not any(
        part is not None
        and (
            part.unreadable
            or part.has_children
            or _left(part, changes.ended)
            or not (part.is_root or path in changes.made)
        )
        for path, part in parts.items()
    )


PARENTS = (
    znode_paths.TOPICS,
    znode_paths.DELETE_TOPICS,
    znode_paths.config_type(TOPICS),
    znode_paths.REASSIGNMENTS,
    znode_paths.FAILED_BROKERS,
    znode_paths.FAILED_LOG_DIRS,
)
"""Under them a round creates znodes. A server makes them at its start; others may have deleted them since."""

NO_PARTITION = -1
"""The partition number in the `name` of a topic's znode."""


class Step(NamedTuple):
    """One write, and the partition whose record or state it writes (`NO_PARTITION`: a topic's znode)."""

    op: Op
    name: TopicPartition | None = None
    is_record: bool = False
    with_previous: bool = False
    """It goes into the same transaction as the step before: a record must not be deleted without the state that ends
    the move, nor a topic be created while there is a mark of its deletion."""
    is_parent: bool = False
    """It creates a znode without content of its own."""


class _Parents:
    """Makes the znodes without content of their own that a round needs. `existing`: two for each topic and one for each
    partition, too many to copy for a round."""

    def __init__(self, existing: Set[str]) -> None:
        self._existing = existing
        self._made: set[str] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._existing or path in self._made

    def make(self, path: str) -> Iterator[Step]:
        if path not in self:
            self._made.add(path)
            yield Step(Create(path, b""), is_parent=True)


def phases(cluster: Cluster, view: RoundView, epoch: int, existing: Set[str]) -> tuple[Iterator[Step | None], ...]:
    """Each phase has to be durable before the next begins. None is a pause. `existing`: paths without content of their
    own."""
    batch = reassign_partitions.contents(cluster, view)
    parents = _Parents(existing)
    return (
        chain(_records(cluster, view, parents), _batch_first(cluster, batch), map(Step, queue_first(cluster, view))),
        _topics(cluster, view),
        _states(cluster, view, epoch, parents),
        chain(
            _requests(view),
            _batch_last(cluster, view, batch),
            map(Step, queue_last(cluster, view)),
            _failures(view),
        ),
    )


def topic_znode(topic: Topic, view: RoundView) -> bytes:
    assignments = {}
    added = view.topics.get(topic.name)
    in_deletion, live = isinstance(added, TopicDeletionStarted), view.cluster.brokers
    for index, value in topic.partitions.items():
        changed = view.partitions.get(TopicPartition(topic.name, index))
        now = value if changed is None else changed.value
        assignments[index] = durable_in_deletion(now, live) if in_deletion else durable_assignment(now)
    if isinstance(added, PartitionsAdded):
        for index, value in added.partitions.items():
            assignments[index] = durable_assignment(value)
    topic_id = view.topic_ids.get(topic.name, topic.id)
    return topic_znodes.encode_topic(topic_id, assignments, topic.extra, view.all_missing(topic))


def _records(cluster: Cluster, view: RoundView, parents: _Parents) -> Iterator[Step | None]:
    for name, change in view.partitions.items():
        yield None
        move = change.value.move
        if move is None:
            continue
        before = _before(cluster, name)
        if before is not None and before.move == move:
            continue
        topic, index = name
        path = znode_paths.reassignment(topic, index)
        data = encode_move_record(move)
        if name in cluster.records_with_children:
            # The znode cannot be deleted, so that this move has the id and the start of the first one in it.
            yield Step(SetData(path, data, -1), name, is_record=True)
            continue
        has_record = before is not None and before.move is not None and before.move.id is not None
        if has_record and before is not None and before.is_moving and move.id is None:
            # The move before was cancelled first: this is another move, with an id of its own.
            yield Step(Delete(path, -1))
            yield Step(Create(path, data), name, is_record=True, with_previous=True)
            continue
        if has_record:
            yield Step(SetData(path, data, -1), name, is_record=True)
            continue
        yield from parents.make(znode_paths.reassignment_topic(topic))
        yield Step(Create(path, data), name, is_record=True)


def _topics(cluster: Cluster, view: RoundView) -> Iterator[Step | None]:
    rewritten = yield from _rewritten(cluster, view)
    for name in rewritten:
        topic = cluster.topics[name]
        yield Step(
            SetData(znode_paths.topic(name), topic_znode(topic, view), topic.version),
            TopicPartition(name, NO_PARTITION),
        )
    for name, change in view.topics.items():
        match change:
            case TopicCreated():
                config = znode_contents.encode_config(change.configs)
                yield Step(
                    SetData(znode_paths.config_topic(name), config, -1)
                    if name in cluster.topic_configs
                    else Create(znode_paths.config_topic(name), config)
                )
                assignments = {index: durable_assignment(value) for index, value in change.partitions.items()}
                data = topic_znodes.encode_topic(change.id, assignments, {})
                yield Step(Create(znode_paths.topic(name), data), TopicPartition(name, NO_PARTITION))
                for op in absent(znode_paths.delete_topic(name)):
                    yield Step(op, with_previous=True)
            case TopicDeletionStarted():
                yield from _marked(cluster.topics[name], view, cluster.topics[name].version + (name in rewritten))


def _marked(topic: Topic, view: RoundView, version: int) -> Iterator[Step]:
    path = znode_paths.topic(topic.name)
    if any(value.is_moving or value.pending_deletion for value in topic.partitions.values()):
        yield Step(SetData(path, topic_znode(topic, view), version), TopicPartition(topic.name, NO_PARTITION))
    else:
        yield Step(Check(path, version))
    mark = znode_paths.delete_topic(topic.name)
    yield Step(Create(mark, topic_znodes.ACCEPTED_DELETION), with_previous=True)


def absent(path: str) -> tuple[Op, Op]:
    """Fails if the znode exists, and changes nothing: ZooKeeper has no check for this."""
    return Create(path, b""), Delete(path)


def _rewritten(cluster: Cluster, view: RoundView) -> Generator[None, None, dict[str, None]]:
    found: dict[str, None] = dict.fromkeys(view.topic_ids)
    for name, change in view.partitions.items():
        yield
        if name[0] in found or change.assignment is AssignmentWrite.LATER:
            continue
        before = _before(cluster, name)
        if before is not None and durable_assignment(before) != durable_assignment(change.value):
            found[name[0]] = None
    for topic, added in view.topics.items():
        if isinstance(added, PartitionsAdded):
            found[topic] = None
    return found


def _states(cluster: Cluster, view: RoundView, epoch: int, parents: _Parents) -> Iterator[Step | None]:
    for topic, added in view.topics.items():
        if isinstance(added, TopicCreated | PartitionsAdded):
            for index, value in added.partitions.items():
                yield from _new_state(cluster, TopicPartition(topic, index), value, epoch, parents)
    for name, change in view.partitions.items():
        yield None
        before = _before(cluster, name)
        value = change.value
        changed = before is None or _state(before) != _state(value)
        if before is None or before.partition_epoch < 0:
            yield from _new_state(cluster, name, value, epoch, parents)
        elif changed:
            yield from _state_writes(name, value, epoch, before.partition_epoch)
        if before is not None and before.move is not None and value.move is None:
            yield Step(record_removal(cluster, name), with_previous=changed)


def record_removal(cluster: Cluster, name: TopicPartition) -> Op:
    """ZooKeeper does not delete a record with children that others made: it is emptied."""
    path = znode_paths.reassignment(*name)
    return SetData(path, b"", -1) if name in cluster.records_with_children else Delete(path, -1)


def _new_state(
    cluster: Cluster, name: TopicPartition, value: Partition, epoch: int, parents: _Parents
) -> Iterator[Step]:
    known = cluster.topics.get(name[0])
    parent = znode_paths.partitions(name[0])
    if parent not in parents and (known is None or all(one.partition_epoch < 0 for one in known.partitions.values())):
        yield from parents.make(parent)
    yield from parents.make(znode_paths.partition(*name))
    yield Step(Create(znode_paths.partition_state(*name), _state_znode(value, epoch)), name)
    if value.partition_epoch > 0:
        yield from _state_writes(name, value, epoch, 0)


def _state_writes(name: TopicPartition, value: Partition, epoch: int, version: int) -> Iterator[Step]:
    """Once, or until the znode has the partition epoch that was decided: brokers may know higher epochs than a state
    that was put back has (`core.round.changed_by_others`)."""
    path, data = znode_paths.partition_state(*name), _state_znode(value, epoch)
    for known in range(version, max(version + 1, value.partition_epoch)):
        yield Step(SetData(path, data, known), name)


def _state_znode(value: Partition, epoch: int) -> bytes:
    return topic_znodes.encode_state(value.leader, value.leader_epoch, value.isr, epoch, value.leader_recovery_state)


def _before(cluster: Cluster, name: TopicPartition) -> Partition | None:
    found = cluster.topics.get(name[0])
    return None if found is None else found.partitions.get(name[1])


def _state(value: Partition) -> tuple[int, int, tuple[int, ...], int, int]:
    """What makes a state another one. A leader may have been answered a new partition epoch: then there is a write."""
    return value.leader, value.leader_epoch, value.isr, value.leader_recovery_state, value.partition_epoch


def _requests(view: RoundView) -> Iterator[Step]:
    for name, ended in view.requests.items():
        path = znode_paths.reassignment_request(name)
        yield Step(SetData(path, b"", ended.version) if ended.has_children else Delete(path, ended.version))


def _batch_first(cluster: Cluster, contents: reassign_partitions.Contents | None) -> Iterator[Step]:
    batch = cluster.batch
    if contents is not None and batch is not None and contents.first != batch.entries:
        yield _batch_znode(batch, contents.first, batch.version)


def _batch_last(cluster: Cluster, view: RoundView, contents: reassign_partitions.Contents | None) -> Iterator[Step]:
    batch = cluster.batch
    if contents is not None and batch is not None:
        written = contents.first != batch.entries
        gone = written and not contents.first and not batch.has_children
        if not gone and (contents.last != contents.first or (view.batch.rewrite and not written)):
            yield _batch_znode(batch, contents.last, batch.version + written)
    cancel = view.batch.cancelled
    if cancel is not None and not cancel.has_children:
        yield Step(Delete(znode_paths.CANCEL_IN_PROGRESS, -1))


def _failures(view: RoundView) -> Iterator[Step]:
    """Comes last: a failure is forgotten only after its repair is durable."""
    cluster = view.cluster
    for broker, since in view.failed.items():
        data = b"" if since is None else znode_contents.encode_failure(since)
        stays = broker in cluster.failures_with_children
        yield _failure(znode_paths.failed_broker(broker), data, stays=stays, known=broker in cluster.failed)
    for broker, failure in view.log_dirs.items():
        data = b"" if failure is None else encode_failed_log_dirs(failure)
        stays = broker in cluster.log_dirs_with_children
        yield _failure(znode_paths.failed_log_dirs(broker), data, stays=stays, known=broker in cluster.failed_log_dirs)


def _failure(path: str, data: bytes, *, stays: bool, known: bool) -> Step:
    """`stays`: it has children of others, so that it cannot be deleted; `known`: it may have failed once more."""
    if stays or (data and known):
        return Step(SetData(path, data, -1))
    return Step(Create(path, data) if data else Delete(path, -1))


def _batch_znode(batch: BatchZnode, entries: Mapping[TopicPartition, BatchEntry], version: int) -> Step:
    if entries or batch.has_children:
        return Step(SetData(znode_paths.REASSIGN_PARTITIONS, encode_reassignments(entries), version))
    return Step(Delete(znode_paths.REASSIGN_PARTITIONS, version))
