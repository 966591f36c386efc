"""The controller does not read back its own writes when they fire its watches; it reads those of others."""

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from kafka_reassign_rpc.controller.loading import load_cluster, load_topics
from kafka_reassign_rpc.controller.watches.zookeeper_watches import TOPICS_AT_ONCE
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat, WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register
from tests.controller.bare_watches import watches_of
from tests.waiting import eventually


async def test_455_2_the_controller_reads_a_topic_again_after_a_foreign_write_and_not_after_its_own(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    read: list[Collection[str] | None] = []
    fired = asyncio.Event()
    really_read = load_topics.read_topics

    async def noted(client: ZooKeeper, names: Collection[str] | None, *rest: Any) -> Any:
        read.append(names)
        return await really_read(client, names, *rest)

    async with elected_controller(zk_connect) as controller:
        watches = watches_of(controller)
        handled = asyncio.Event()
        changed = watches.changed_topics

        async def changed_and_handled(names: Collection[str]) -> None:
            await changed(names)
            handled.set()

        def seen(kind: WatchKind, path: str) -> None:
            watches.watch_fired(kind, path)
            if path == znode_paths.topic("t"):
                fired.set()

        monkeypatch.setattr(watches, "changed_topics", changed_and_handled)
        monkeypatch.setattr(load_topics, "read_topics", noted)
        controller.zk.on_watch(seen)
        await watches.place()
        handled.clear()
        read.clear()
        running = asyncio.create_task(watches.run())
        async with asyncio.timeout(20):
            assert await controller.alter({("t", 0): (3, 4)}) == {("t", 0): None}
            await fired.wait()
            await handled.wait()
            assert read == []

            handled.clear()
            data, _ = await zk.get(znode_paths.topic("t"))
            await zk.set(znode_paths.topic("t"), data)
            await handled.wait()
            assert [list(names or ()) for names in read] == [["t"]]
        running.cancel()


async def test_sv_3_the_death_of_a_broker_does_not_wait_for_thousands_of_changed_topics(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    async with elected_controller(zk_connect) as controller:
        watches = watches_of(controller)
        await watches.place()
        looked_at: list[str] = []
        before_the_death: list[int] = []
        exists, read_brokers = controller.zk.exists, load_cluster.read_brokers

        async def noted(path: str, watch: bool = False) -> Stat | None:
            if not looked_at:
                watches.watch_fired(WatchKind.CHILDREN, znode_paths.BROKER_IDS)
            looked_at.append(path)
            return await exists(path, watch)

        async def read(*given: Any, **options: Any) -> Any:
            before_the_death.append(len(looked_at))
            return await read_brokers(*given, **options)

        monkeypatch.setattr(controller.zk, "exists", noted)
        monkeypatch.setattr(load_cluster, "read_brokers", read)
        for number in range(1_000):
            watches.watch_fired(WatchKind.CHANGED, znode_paths.topic(f"t{number}"))
        running = asyncio.create_task(watches.run())
        await eventually(lambda: len(looked_at) == 1_000)
        running.cancel()
        assert before_the_death == [TOPICS_AT_ONCE]
