"""Reads KIP-236's queue: all of it, or the root znodes that others may have changed."""

from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller.loading.znode_reads import decoded
from kafka_reassign_rpc.core.state.queue_entries import Queue, QueuePart
from kafka_reassign_rpc.core.znode_routes.znodes_read import QueueRootRead, ZnodeProblem
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import decode_queue
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode


class ReadQueue(NamedTuple):
    queue: Queue
    problems: list[ZnodeProblem]


async def read_queue(zk: ZooKeeper) -> ReadQueue:
    queue = Queue()
    problems: list[ZnodeProblem] = []
    parts: list[QueuePart] = []
    pace = Pace()
    for root in znode_paths.QUEUES:
        seen = await read_root(zk, root)
        if seen.part is None:
            continue
        parts.append(seen.part)
        problems += seen.problems
        if seen.has_children:
            queue.roots_with_children.add(root)
        for path, read in zip(seen.children, await zk.multi_get(seen.children), strict=True):
            if read is not None:
                part, bad = await _part(root, path, *read)
                parts.append(part)
                problems += bad
            await pace.rest()
    for part in sorted(parts, key=lambda one: (one.created, one.path)):
        await pace.through(queue.put(part))
    return ReadQueue(queue, problems)


async def read_root(zk: ZooKeeper, root: str) -> QueueRootRead:
    try:
        data, stat = await zk.get(root)
        names = sorted(await zk.children(root)) if stat.num_children else []
    except NoNode:
        return QueueRootRead(root)
    part, problems = await _part(root, root, data, stat)
    children = [
        path for path in (f"{root}/{name}" for name in names) if znode_paths.queue_part_number(path) is not None
    ]
    has_children = len(children) < len(names)
    if has_children:
        text = f"{root} cannot be deleted when all has left it: it has children of others"
        problems.append(ZnodeProblem(root, root, -1, text))
    return QueueRootRead(root, part, children, has_children, problems)


async def _part(root: str, path: str, data: bytes, stat: Stat) -> tuple[QueuePart, list[ZnodeProblem]]:
    known = QueuePart(
        root,
        path,
        version=stat.version,
        changed=stat.mzxid,
        created=stat.czxid,
        size=len(data),
        has_children=path != root and stat.num_children > 0,
    )
    try:
        entries, problems = await decoded(decode_queue, data, path)
    except BadZnode as error:
        text = f"{error}; nothing of it is done, and it is left as it is"
        return replace(known, unreadable=True), [ZnodeProblem(root, path, stat.mzxid, text)]
    found = [ZnodeProblem(root, path, stat.mzxid, f"{path}: {problem}") for problem in problems]
    return replace(known, entries=entries, needs_rewrite=bool(problems)), found
