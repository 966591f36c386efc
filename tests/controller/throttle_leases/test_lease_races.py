"""Throttle leases while somebody else changes the same configs (236-11)."""

import asyncio
from collections.abc import Iterable

import pytest

from kafka_reassign_rpc.controller.commands.cluster_commands import ConfigsRead
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import Op
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register
from tests.waiting import eventually

RATE = "1000"


async def test_236_11_a_rate_deleted_again_while_the_controller_restores_it_is_restored_again(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = ConfigStore(zk)
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=None)
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)}, throttle=int(RATE))
        write_together = controller.store.write_together
        is_written, go_on = asyncio.Event(), asyncio.Event()

        async def held(transactions: Iterable[list[Op]]) -> None:
            await write_together(transactions)
            is_written.set()
            await go_on.wait()

        async def delete() -> None:
            """Change a config as a client does; the controller reads it at once."""
            await configs.alter("brokers", "3", lambda _: {})
            await controller.loop.submit(ConfigsRead("brokers", {"3": {}}))

        async def is_back() -> bool:
            found = await configs.get("brokers", "3")
            return (found.get(LEADER_RATE), found.get(FOLLOWER_RATE)) == (RATE, RATE)

        assert await is_back()
        monkeypatch.setattr(controller.store, "write_together", held)
        await delete()
        await is_written.wait()
        assert await is_back()
        await delete()
        go_on.set()
        await eventually(is_back)
