"""The writes of KIP-236's queue, as phases A and D of `controller.zookeeper_store.znode_writes`.

Moves that join the queue are written before those that they replace leave it. Every write replaces a whole part, so
parts are short, and a long part of an operator is cut into short ones before anything leaves it.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import Queue, QueueChanges, QueuePart, StoredName, WaitingMove
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import EMPTY, QueuePartContent

PART_BYTES = 8 << 10
"""A part that the controller makes takes no more moves once it is as large."""


def first(cluster: Cluster, view: RoundView) -> Iterator[Op]:
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


def last(cluster: Cluster, view: RoundView) -> Iterator[Op]:
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
