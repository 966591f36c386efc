"""This server does not take over a cluster that is in migration to KRaft (sv-4)."""

import logging
from contextlib import AsyncExitStack

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.cli.test_processes import MIGRATION
from tests.controller.bare_controller import register
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy


def server(connect: str, server_id: int) -> ControllerProcess:
    return ControllerProcess(ServerConfig(zookeeper_connect=connect, listeners=LISTENERS, server_id=server_id))


async def is_controlled_by(zk: ZooKeeper, server_id: int) -> bool:
    found = await controller_election.owner(zk)
    return found is not None and found.id == server_id


async def test_sv_4_a_standby_does_not_take_over_during_a_migration_and_does_so_when_it_was_reverted(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncExitStack() as first:
        await (await first.enter_async_context(server(zk_connect, 1000))).ready()
        async with server(zk_connect, 1001) as standby:
            await standby.ready()
            await zk.create(znode_paths.MIGRATION, MIGRATION)
            epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
            with caplog.at_level(logging.ERROR):
                await first.aclose()
                await eventually(lambda: "standing by: /migration exists" in caplog.text)
            assert await controller_election.owner(zk) is None
            assert await zk.get(znode_paths.CONTROLLER_EPOCH) == epoch
            await zk.delete(znode_paths.MIGRATION)
            await eventually(lambda: is_controlled_by(zk, 1001))


async def test_sv_4_the_controller_goes_on_until_the_kraft_controller_takes_over_also_after_a_lost_connection(
    zk: ZooKeeper, zk_connect: str, zookeeper: EmbeddedZooKeeper
) -> None:
    chroot = zk_connect.partition("/")[2]
    async with Proxy(zookeeper.address) as proxy, server(f"{proxy.address}/{chroot}", 1000) as here:
        await here.ready()
        await zk.create(znode_paths.MIGRATION, MIGRATION)
        epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
        proxy.fin()
        await register(zk, 1)
        await eventually(lambda: here.live_brokers() == [1])
        assert await is_controlled_by(zk, 1000)
        assert await zk.get(znode_paths.CONTROLLER_EPOCH) == epoch


async def test_sv_4_a_server_does_not_start_during_a_migration(zk: ZooKeeper, zk_connect: str) -> None:
    await zk.create(znode_paths.MIGRATION, MIGRATION)
    with pytest.raises(controller_election.MigrationToKRaft, match="delete that znode"):
        async with server(zk_connect, 1000):
            pass
    assert await zk.exists(znode_paths.CONTROLLER) is None
