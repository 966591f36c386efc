"""This server does not take over a cluster that is in migration to KRaft (sv-4)."""

import logging
from contextlib import AsyncExitStack

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, SetData
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.cli.test_processes import MIGRATION
from tests.controller.acls.test_served_acls import server as served
from tests.controller.bare_controller import register
from tests.controller.cluster import LISTENERS, Cluster
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

WAITS = MIGRATION.replace(b'"kraft_metadata_offset":100', b'"kraft_metadata_offset":-1')


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


async def test_mg_3_a_quorum_that_only_waits_for_the_brokers_keeps_no_server_from_anything(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.MIGRATION, WAITS)
    async with AsyncExitStack() as first:
        await (await first.enter_async_context(server(zk_connect, 1000))).ready()
        assert "KRaft controllers wait for this cluster" in caplog.text
        async with server(zk_connect, 1001) as standby:
            await standby.ready()
            await first.aclose()
            await eventually(lambda: is_controlled_by(zk, 1001))


async def test_mg_3_once_the_metadata_is_copied_a_server_that_was_there_before_stands_by(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.MIGRATION, WAITS)
    await zk.create(znode_paths.CONTROLLER, encode_controller(9, 0), ephemeral=True)
    async with server(zk_connect, 1000) as here:
        await here.ready()
        await zk.set(znode_paths.MIGRATION, MIGRATION, 0)
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: "standing by: /migration exists" in caplog.text)
        assert await controller_election.owner(zk) is None


KRAFT = b'{"version":2,"brokerid":3000,"timestamp":"17","kraftControllerEpoch":4,"new":{"a":[1]}}'


async def names(here: Cluster, broker: int) -> bool:
    """Whether this server names that broker as the controller, and nobody else."""
    metadata = await here.ask(MetadataRequest(topics=None), 9)
    described = await here.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 0)
    return bool(metadata.controller_id == described.controller_id == broker)


async def test_mg_3_when_kraft_takes_the_controllership_the_server_resigns_and_names_a_live_broker(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with served(zk_connect, None) as here:
        assert await names(here, 1000)
        await register(zk, 1)
        await zk.create(znode_paths.MIGRATION, b"garbage")
        _, epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
        _, controller = await zk.get(znode_paths.CONTROLLER)
        await zk.multi(
            [
                SetData(znode_paths.CONTROLLER_EPOCH, b"9", epoch.version),
                Delete(znode_paths.CONTROLLER, controller.version),
                Create(znode_paths.CONTROLLER, KRAFT),
            ]
        )
        await eventually(lambda: names(here, 1))
        await zk.delete(znode_paths.broker(1))
        await register(zk, 2)
        await eventually(lambda: names(here, 2))
        assert (await zk.get(znode_paths.CONTROLLER))[0] == KRAFT
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"9"
