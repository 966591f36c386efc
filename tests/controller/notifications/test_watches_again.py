"""Each watch fires once: what reads the znode watches it again. Who only reads watches nothing."""

import asyncio
from collections import Counter
from contextlib import suppress

from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ADMIN
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode
from tests.controller.bare_controller import elected_controller
from tests.controller.bare_watches import watches_of
from tests.waiting import eventually

CHILDREN = {
    znode_paths.TOPICS: "t",
    znode_paths.DELETE_TOPICS: "t",
    znode_paths.BROKER_IDS: "7",
    znode_paths.CONFIG_CHANGES: "config_change_000000000",
    **dict.fromkeys(znode_paths.SERVERS, "9"),
}
"""Parents whose children are watched, and how the names of new ones begin."""
WATCHED = (*CHILDREN, znode_paths.SETTINGS, *znode_paths.QUEUES, *sorted(ADMIN))
TIMES = 3


async def change(zk: ZooKeeper, path: str, number: int = 0) -> None:
    """None of it can be decoded, or means something: what a controller does then fires watches too."""
    if path in CHILDREN:
        await zk.create(f"{path}/{CHILDREN[path]}{number}", b"garbage")
        return
    try:
        await zk.create(path, b"garbage")
    except NodeExists:
        with suppress(NoNode):
            await zk.delete(path)


async def make_parents(zk: ZooKeeper) -> None:
    for path in (*CHILDREN, znode_paths.ADMIN):
        await zk.ensure_path(path)


async def test_sv_3_who_only_reads_a_cluster_watches_nothing(zk: ZooKeeper, zk_connect: str) -> None:
    await make_parents(zk)
    fired: list[str] = []
    async with ZooKeeper(zk_connect) as reader:
        reader.on_watch(lambda _, path: fired.append(path))
        await read_cluster(reader)
        for path in WATCHED:
            await change(zk, path)
        await reader.sync()
    assert fired == []


async def test_sv_3_whatever_a_controller_watches_it_watches_again_after_each_change(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await make_parents(zk)
    fired, made = Counter[str](), Counter[str]()
    async with elected_controller(zk_connect) as controller:
        watches = watches_of(controller)

        def seen(kind: WatchKind, path: str) -> None:
            fired[path] += 1
            watches.watch_fired(kind, path)

        controller.zk.on_watch(seen)
        await watches.place()
        running = asyncio.create_task(watches.run())
        for path in WATCHED:

            async def fires(path: str = path) -> bool:
                before = fired[path]
                made[path] += 1
                await change(zk, path, made[path])
                await eventually(lambda: fired[path] > before, within=1)
                return True

            for _ in range(TIMES):
                assert await eventually(fires, within=30), path
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
