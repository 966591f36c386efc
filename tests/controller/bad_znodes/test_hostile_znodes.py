"""Hand-made JSON of every kind in each of KIP-236's six znodes, before and after a controller's election.

Whatever the znodes contain: no controller crashes or ends its term, each invalid content is reported once each time it
is written, and all other moves go on by every route.
"""

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import decode_reassignments
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode
from tests.controller.bad_znodes.test_garbage import serving, unreachable
from tests.controller.bare_controller import batch, put_request, put_topic, records, topic_json
from tests.faults.cluster import Address, alter
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

NOTHING_IN_PROGRESS = 85
ANY = ("/admin/reassign_partitions", "/admin/reassign_partitions_queue", "/admin/reassign_partitions_extra")
"""Znodes with a list of moves."""
_chroots = itertools.count(1)

scalars = (
    st.none() | st.booleans() | st.sampled_from([-1, 0, 1, 2.5, 2**31, 2**63, 10**30, "", "0", "t", "\ud800", "\n"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
topics = st.sampled_from(["t", "t", "nope", "", ".", "..", "a/b", "a\nb", "\ud800"])
partitions = st.sampled_from([0, 1, 0, 1, 7, -1, 2**31]) | scalars
replicas = st.lists(st.sampled_from([1, 2, 3, 9, -1]) | scalars, max_size=4) | anything
entries = st.fixed_dictionaries(
    {},
    optional={
        "topic": topics | scalars,
        "partition": partitions,
        "replicas": replicas,
        "original_replicas": replicas,
        "cancel_skipped": scalars,
        "log_dirs": anything,
        "route": scalars,
        "reason": scalars,
        "throttle": scalars,
    },
)
assignments = st.dictionaries(
    st.sampled_from(["t", "nope", "a/b", "\ud800"]),
    st.dictionaries(st.sampled_from(["0", "1", "07", "x", "-1", "9" * 30]), replicas, max_size=3) | anything,
    max_size=3,
)
objects = st.fixed_dictionaries(
    {"version": st.just(1) | st.just(1) | scalars},
    optional={
        "partitions": st.lists(entries | anything, max_size=4) | anything,
        "assignments": assignments | anything,
        "legacy": st.booleans() | anything,
        "target": replicas,
        "original_replicas": replicas,
        "route": scalars,
        "throttle": scalars,
    },
)
documents = (
    (objects | anything).map(lambda document: json.dumps(document).encode())
    | st.tuples(objects, st.integers(1, 40)).map(lambda pair: json.dumps(pair[0]).encode()[: -pair[1]])
    | st.binary(max_size=20)
)


class WrittenZnode(NamedTuple):
    """A znode and what is written into it."""

    path: str
    data: bytes


REQUEST = znode_paths.reassignment_request("request_")
PART = f"{znode_paths.REASSIGN_QUEUE}/part_0000000007"
"""A part as the controller makes it of a long queue."""
places = st.sampled_from(
    [*ANY, REQUEST, PART, znode_paths.reassignment("t", 0), znode_paths.REASSIGN_CANCEL, znode_paths.CANCEL_IN_PROGRESS]
)
written_znodes = st.lists(st.builds(WrittenZnode, places, documents), min_size=25, max_size=25)


class Log(logging.Handler):
    """The warnings and errors of a run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.defects: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info:
            self.defects.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

    def count_lines(self, *texts: str) -> int:
        return sum(all(text in line for text in texts) for line in self.lines)


@asynccontextmanager
async def logged(name: str = "kafka_reassign_rpc") -> AsyncIterator[Log]:
    log = Log()
    logger = logging.getLogger(name)
    logger.addHandler(log)
    try:
        yield log
    finally:
        logger.removeHandler(log)


async def put(zk: ZooKeeper, path: str, data: bytes) -> None:
    """Create the znode, or write it if it exists."""
    while True:
        with suppress(NodeExists):
            await zk.create(path, data)
            return
        with suppress(NoNode):
            await zk.set(path, data)
            return


async def remove(zk: ZooKeeper, path: str) -> None:
    with suppress(NoNode):
        await delete_tree(zk, path)


def is_nonsense(written: WrittenZnode) -> bool:
    if written.path not in ANY:
        return False
    try:
        decode_reassignments(written.data, written.path)
    except BadZnode:
        return True
    return False


async def write(zk: ZooKeeper, log: Log, written: WrittenZnode) -> None:
    """Write, and wait until the controller has read it, where that is visible."""
    if written.path == REQUEST:
        name = await put_request(zk, written.data)
        await remove(zk, znode_paths.REASSIGN_CANCEL)
        await eventually(lambda: is_gone(zk, znode_paths.reassignment_request(name)))
        return
    if written.path == PART:
        with suppress(NoNode):  # there is no queue
            try:
                await zk.create(PART, written.data)
            except NodeExists:
                await zk.set(PART, written.data)
        return
    reported = log.count_lines(f"{written.path}: ", "nothing of it is done")
    if written.path == znode_paths.reassignment("t", 0):
        await zk.ensure_path(znode_paths.reassignment_topic("t"))
    await put(zk, written.path, written.data)
    if written.path == znode_paths.CANCEL_IN_PROGRESS:
        await eventually(lambda: is_gone(zk, written.path))
    elif is_nonsense(written):

        async def is_reported() -> bool:
            return log.count_lines(f"{written.path}: ", "nothing of it is done") == reported + 1

        await eventually(is_reported)


async def is_gone(zk: ZooKeeper, path: str) -> bool:
    return await zk.exists(path) is None


async def all_routes_work(zk: ZooKeeper, address: Address) -> None:
    """Reorder the replicas of a partition that no other znode names, once by each route."""
    name = ("good", 0)
    orders: list[tuple[int, ...]] = [(2, 1), (1, 2), (2, 1), (1, 2), (2, 1)]
    targets = iter(orders)
    target = next(targets)
    assert await alter(address, {name: target}) == {name: 0}
    await eventually(lambda: stands(zk, target))
    for path in ANY:
        target = next(targets)
        await zk.create(path, batch({name: target}))
        await eventually(lambda to=target: stands(zk, to))  # type: ignore[misc]
        await eventually(lambda at=path: is_gone(zk, at))  # type: ignore[misc]
    target = next(targets)
    await put_request(zk, {name: target})
    await eventually(lambda: stands(zk, target))


async def stands(zk: ZooKeeper, target: Sequence[int]) -> bool:
    return bool((await topic_json(zk, "good"))["partitions"]["0"] == list(target))


async def live_through(connect: str, all_written: Sequence[WrittenZnode]) -> None:
    async with ZooKeeper(connect) as zk, logged() as log:
        await zk.ensure_path(znode_paths.BROKER_IDS)
        for broker in (1, 2, 3):
            await zk.create(znode_paths.broker(broker), await unreachable(), ephemeral=True)
        await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
        await put_topic(zk, "good", {0: (1, 2)}, topic_id=None)
        async with serving(connect) as address:
            assert await alter(address, {("t", 0): [1, 3]}) == {("t", 0): 0}
            epoch = (await zk.get(znode_paths.CONTROLLER_EPOCH))[0]
            for written in all_written:
                await write(zk, log, written)
            await remove(zk, znode_paths.REASSIGN_CANCEL)
            assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == epoch, "no test has left elected_controller"
            reported = sum(log.count_lines(f"{path}: ", "nothing of it is done") for path in ANY)
            assert reported == sum(map(is_nonsense, all_written))
        async with serving(connect) as address:
            for path in (*ANY, znode_paths.REASSIGN_CANCEL):
                await remove(zk, path)
            await eventually(lambda: nothing_moves(zk, address))
            await all_routes_work(zk, address)
        assert not log.defects


async def nothing_moves(zk: ZooKeeper, address: Address) -> bool:
    """Cancel all moves, whatever became of them; then no record is left."""
    names: dict[tuple[str, int], Any] = dict.fromkeys([("t", 0), ("t", 1)])
    assert set((await alter(address, names)).values()) <= {0, NOTHING_IN_PROGRESS}
    assert await records(zk) == set()
    return True


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # one that fails takes a second: it is not made smaller
)
@given(all_written=written_znodes)
def test_236_5_the_controller_works_on_whatever_json_a_znode_contains(
    zookeeper: EmbeddedZooKeeper, all_written: list[WrittenZnode]
) -> None:
    async def play() -> None:
        chroot = f"/hostile-{next(_chroots)}"
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path(chroot)
        await live_through(zookeeper.address + chroot, all_written)

    asyncio.run(play())
