"""A client sets its own quota at the server, and meets it."""

import itertools
from collections.abc import Awaitable
from typing import Any

import pytest

from kafka_reassign_rpc.protocol.messages import (
    AlterClientQuotasRequest,
    ApiVersionsRequest,
    CreateTopicsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.raw_client import connected
from tests.stock.jars import require
from tests.stock.tools import Tools
from tests.waiting import eventually

PERCENTAGE, CONNECTIONS = "request_percentage", "connection_creation_rate"
CLUSTER_AUTHORIZATION_FAILED, THROTTLING_QUOTA_EXCEEDED = 31, 89


async def set_rate(
    world: Cluster, client_id: str | None, rate: float, quota: str = "controller_mutation_rate", *, remove: bool = False
) -> int:
    kind = AlterClientQuotasRequest.EntryData
    entry = kind(
        entity=[kind.EntityData(entity_type="ip" if quota == CONNECTIONS else "client-id", entity_name=client_id)],
        ops=[kind.OpData(key=quota, value=rate, remove=remove)],
    )
    answer = await world.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
    (code,) = [one.error_code for one in answer.entries]
    return int(code)


async def create(world: Cluster, **counts: int) -> Any:
    kind = CreateTopicsRequest.CreatableTopic
    topics = [
        kind(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
        for name, count in counts.items()
    ]
    return await world.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=False), 7)


async def test_sv_5_a_controller_mutation_quota_in_zookeeper_holds_as_soon_as_it_is_announced(zk_connect: str) -> None:
    async with cluster(zk_connect) as world:

        async def is_set() -> bool:  # refused until every broker has said that it has no authorizer
            code = await set_rate(world, None, 0.01)
            assert code in (0, CLUSTER_AUTHORIZATION_FAILED)
            return code == 0

        await eventually(is_set)
        names = (f"t{number}" for number in itertools.count())

        async def is_refused() -> bool:
            one, other = next(names), next(names)
            answer = await create(world, **{one: 2, other: 1})
            codes = [topic.error_code for topic in answer.topics]
            if codes == [0, 0]:
                return False
            assert codes == [0, THROTTLING_QUOTA_EXCEEDED]
            assert answer.throttle_time_ms > 100_000
            assert await world.zk.exists(znode_paths.topic(other)) is None
            return True

        await eventually(is_refused)
        await world.reconnect()  # the connection is muted
        assert await set_rate(world, "test", 1e6) == 0, "the client's own quota comes before the default"

        async def is_created() -> bool:
            await world.reconnect()
            [topic] = (await create(world, last=1)).topics
            assert topic.error_code in (0, THROTTLING_QUOTA_EXCEEDED)
            return bool(topic.error_code == 0)

        await eventually(is_created)
        assert await world.zk.exists(znode_paths.topic("last")) is not None


async def settled(world: Cluster) -> None:
    """Until every broker has said that it has no authorizer, quotas cannot be set."""

    async def is_set() -> bool:
        return await set_rate(world, "nobody", 1.0) == 0

    await eventually(is_set)


async def throttle_ms(world: Cluster) -> int:
    request = ListPartitionReassignmentsRequest(timeout_ms=1000, topics=None)
    return int((await world.ask(request, 0)).throttle_time_ms)


async def test_sv_5_a_request_quota_in_zookeeper_holds_from_then_on_and_goes_when_it_is_removed(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect) as world:
        await settled(world)
        assert await throttle_ms(world) == 0
        assert await set_rate(world, None, 0.0, PERCENTAGE) == 0
        await eventually(lambda: _is(throttle_ms(world), 1000))
        assert await set_rate(world, None, 0.0, PERCENTAGE, remove=True) == 0
        await eventually(lambda: _is(throttle_ms(world), 0))


async def test_sv_5_an_address_beyond_its_quota_in_zookeeper_does_not_come_in(zk_connect: str) -> None:
    async with cluster(zk_connect) as world:
        await settled(world)
        assert await set_rate(world, "127.0.0.1", 0, CONNECTIONS) == 0
        await eventually(lambda: is_refused(world))


async def is_refused(world: Cluster) -> bool:
    """Whether a newcomer is not answered."""
    host, _, port = world.bootstrap.rpartition(":")
    async with connected((host, int(port))) as client:
        await client.send(client.request(ApiVersionsRequest(version=0), 0))
        try:
            return not await client.reader.read(1)
        except ConnectionError:
            return True


async def _is(found: Awaitable[int], wanted: int) -> bool:
    return await found == wanted


@pytest.mark.gate
@pytest.mark.stock
async def test_sv_5_a_quota_that_the_stock_tool_sets_holds_from_then_on(zk_connect: str) -> None:
    require("3.9.1")
    async with cluster(zk_connect) as world:
        await settled(world)
        with Tools("3.9.1") as tools:

            async def configs(*what: str) -> str:
                done = await tools.run("configs", "--bootstrap-server", world.bootstrap, *what)
                assert done.code == 0, done.out + done.err
                return done.out

            client = ("--entity-type", "clients", "--entity-name", "test")
            await configs("--alter", "--add-config", "request_percentage=0", *client)
            await eventually(lambda: _is(throttle_ms(world), 1000))
            shown = await configs("--describe", "--entity-type", "clients")
            assert "Quota configs for client-id 'test' are request_percentage=0.0" in shown
            await configs("--alter", "--delete-config", "request_percentage", *client)
            await eventually(lambda: _is(throttle_ms(world), 0))
            address = ("--entity-type", "ips", "--entity-name", "127.0.0.1")
            await configs("--alter", "--add-config", "connection_creation_rate=0", *address)
            await eventually(lambda: is_refused(world))
