"""`delete.topic.enable=false`: topics are not deleted, and marks of their deletion are removed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess, ServerConfig
from kafka_reassign_rpc.controller_channel.broker_client import RpcClient
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.protocol.messages import DeleteTopicsRequest, DescribeConfigsRequest, MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import put_topic, register
from tests.waiting import eventually

SERVER = 1000


@asynccontextmanager
async def serving(connect: str, *, deletes_topics: bool) -> AsyncIterator[RpcClient]:
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=[Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)],
        server_id=SERVER,
        deletes_topics=deletes_topics,
    )
    async with ControllerProcess(config) as server:
        await asyncio.wait_for(server.ready(), 20)
        host, _, port = server.bootstrap.rpartition(":")
        client = await RpcClient.open(host, int(port), "test", 20.0)
        try:
            yield client
        finally:
            client.close()


async def shown(client: RpcClient, topic: str) -> bool:
    cls = MetadataRequest
    request = cls(version=8, topics=[cls.MetadataRequestTopic(version=8, name=topic)], allow_auto_topic_creation=False)
    (found,) = (await client.call(MetadataRequest, request, 8)).topics
    return bool(found.error_code == 0)


async def no_marks(zk: ZooKeeper) -> bool:
    return not await zk.children(znode_paths.DELETE_TOPICS)


async def test_sv_4_where_deletion_is_disabled_marks_are_removed_and_their_topics_stay(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    await zk.create(znode_paths.delete_topic("t"))
    async with serving(zk_connect, deletes_topics=False) as client:
        assert await no_marks(zk), "before clients are served"
        assert await shown(client, "t")

        for name in ("t", "nope"):
            await zk.create(znode_paths.delete_topic(name))
        await eventually(lambda: no_marks(zk))
        assert await shown(client, "t")
        assert await zk.exists(znode_paths.partition_state("t", 0)) is not None


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73)])
async def test_sv_4_where_deletion_is_disabled_clients_cannot_delete_and_see_the_setting(
    zk: ZooKeeper, zk_connect: str, version: int, code: int
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with serving(zk_connect, deletes_topics=False) as client:
        request = DeleteTopicsRequest(version=version, topic_names=["t"], timeout_ms=10_000)
        (result,) = (await client.call(DeleteTopicsRequest, request, version)).responses
        assert (result.name, result.error_code) == ("t", code)
        assert await shown(client, "t")
        assert await no_marks(zk)

        cls = DescribeConfigsRequest
        resource = cls.DescribeConfigsResource(
            resource_type=4, resource_name=str(SERVER), configuration_keys=["delete.topic.enable"]
        )
        described = await client.call(cls, cls(resources=[resource], include_synonyms=False), 3)
        assert [(one.name, one.value) for one in described.results[0].configs] == [("delete.topic.enable", "false")]


async def test_sv_4_a_deletion_under_way_ends_where_deletion_has_been_disabled_since(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Broker 1 is registered and does not answer, so the deletion waits."""
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with serving(zk_connect, deletes_topics=True) as client:
        request = DeleteTopicsRequest(version=4, topic_names=["t"], timeout_ms=10_000)
        (result,) = (await client.call(DeleteTopicsRequest, request, 4)).responses
        assert result.error_code == 0
        assert not await shown(client, "t")
        assert not await no_marks(zk)
    async with serving(zk_connect, deletes_topics=False) as client:
        assert await no_marks(zk)
        assert await shown(client, "t")
