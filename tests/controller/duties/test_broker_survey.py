"""The server asks each broker what it is, and announces to clients no more than all live brokers know."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster as Known
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.protocol.versions import OF_NEWEST_BROKER, OF_OLDEST_BROKER, ApiKey
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.cluster import LISTENERS, Cluster, cluster
from tests.controller_channel.scripted_broker import ScriptedBroker
from tests.silent_server import silent_server
from tests.stop_listening import stop_listening
from tests.waiting import eventually

SILENT = 9
KAFKA_2_8 = {ApiKey.METADATA: (0, 11), ApiKey.DESCRIBE_CLUSTER: (0, 0)}
KAFKA_3_9 = {ApiKey.METADATA: (0, 12), ApiKey.DESCRIBE_CLUSTER: (0, 1)}
ODD = {ApiKey.METADATA: (0, 12), ApiKey.DESCRIBE_CLUSTER: (0, 0)}
OLD = {ApiKey.METADATA: (0, 10), ApiKey.DESCRIBE_CLUSTER: (0, 0)}
"""What no broker counts as that has not answered."""
OWN = {ApiKey.METADATA: (0, 13), ApiKey.DESCRIBE_CLUSTER: (0, 2)}


@pytest.fixture
async def here(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2)) as made:
        yield made


async def announced(client: RpcClient) -> dict[int, tuple[int, int]]:
    answer = await client.call(ApiVersionsRequest, ApiVersionsRequest(version=0), 0)
    return {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}


@asynccontextmanager
async def asking(bootstrap: str) -> AsyncIterator[RpcClient]:
    host, _, port = bootstrap.rpartition(":")
    client = await RpcClient.open(host, int(port), "test", 20.0)
    try:
        yield client
    finally:
        client.close()


Announces = Mapping[ApiKey, tuple[int, int]]


async def announces(client: RpcClient, wanted: Announces) -> bool:
    found = await announced(client)
    return all(found[key] == versions for key, versions in wanted.items())


@asynccontextmanager
async def broker_with(connect: str, versions: Announces, id_: int = SILENT) -> AsyncIterator[None]:
    """A registered broker that knows these versions, and closes the connection on everything but ApiVersions."""
    broker = ScriptedBroker({key: highest for key, (_, highest) in versions.items()})
    broker.answer = lambda _: None
    await broker.start()
    try:
        async with registered(connect, Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", broker.port), id_):
            yield
    finally:
        await broker.stop()


@asynccontextmanager
async def registered(connect: str, endpoint: Endpoint, id_: int) -> AsyncIterator[None]:
    async with ZooKeeper(connect) as session:
        await session.ensure_path(znode_paths.BROKER_IDS)
        data = znode_contents.encode_broker([endpoint], 0, None)
        await session.create(znode_paths.broker(id_), data, ephemeral=True)
        yield


@asynccontextmanager
async def silent_broker(connect: str) -> AsyncIterator[int]:
    """A registered broker that accepts connections and never answers. Yields its id."""
    async with AsyncExitStack() as stack:
        silent = await stack.enter_async_context(silent_server())
        at = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", silent.port)
        await stack.enter_async_context(registered(connect, at, SILENT))
        yield SILENT


def started_with(configs: Mapping[str, str]) -> ScriptedBroker:
    broker = ScriptedBroker({ApiKey.DESCRIBE_CONFIGS: 4, ApiKey.API_VERSIONS: 3})
    of_result = DescribeConfigsResponse.DescribeConfigsResult
    entries = [
        of_result.DescribeConfigsResourceResult(name=name, value=value, config_source=4)
        for name, value in configs.items()
    ]
    result = of_result(resource_type=4, resource_name=str(SILENT), configs=entries)
    broker.answer = lambda body: (
        DescribeConfigsResponse(results=[result])
        if isinstance(body, DescribeConfigsRequest)
        else RESPONSES[body.API_KEY]
    )
    return broker


@asynccontextmanager
async def slow_broker(connect: str, configs: Mapping[str, str]) -> AsyncIterator[asyncio.Event]:
    """A registered broker that was started with these configs. It answers once the event is set."""
    may_answer = asyncio.Event()
    broker = started_with(configs)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_answer.wait()
        await broker._serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", *server.sockets[0].getsockname())
    try:
        async with registered(connect, endpoint, SILENT):
            yield may_answer
    finally:
        may_answer.set()
        await stop_listening([server])


async def test_hm_1_what_depends_on_a_broker_that_has_just_come_waits_for_its_answer(here: Cluster) -> None:
    """Else a topic with a newer message format is refused whenever a broker restarts, and created a moment later."""
    of_request = IncrementalAlterConfigsRequest.AlterConfigsResource
    wanted = of_request.AlterableConfig(name="message.format.version", config_operation=0, value="3.0")
    asked = of_request(resource_type=2, resource_name="t", configs=[wanted])
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=True)
    configs = {"inter.broker.protocol.version": "3.5", "log.message.format.version": "3.0-IV1"}
    await here.create_topic("t", {0: [1]})
    async with AsyncExitStack() as stack:
        client, other = [await stack.enter_async_context(asking(here.bootstrap)) for _ in range(2)]
        may_answer = await stack.enter_async_context(slow_broker(here.connect, configs))

        async def is_known() -> bool:
            answer: Any = await other.call(MetadataRequest, MetadataRequest(version=9, topics=[]), 9)
            return SILENT in {one.node_id for one in answer.brokers}

        await eventually(is_known)
        answer = asyncio.create_task(client.call(IncrementalAlterConfigsRequest, request, 1))
        for _ in range(5):
            await is_known()  # a request that waits does not hold up others
        assert not answer.done()
        may_answer.set()
        [result] = (await answer).responses
        assert (result.error_code, result.error_message) == (0, None)


async def test_hm_1_a_broker_that_registers_before_it_listens_gets_its_time_to_answer() -> None:
    """A stock broker does. A first attempt that was refused is no answer: it would count as the oldest release."""
    with socket.create_server(("127.0.0.1", 0)) as kept:
        port = kept.getsockname()[1]
    survey = BrokerSurvey("test", BrokerLinks())
    survey.set_brokers({SILENT: Broker(SILENT, 1, (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port),))})
    answered = asyncio.create_task(survey.all_answered())
    try:
        await eventually(lambda: survey.has_asked_all)
        assert not answered.done()
        server = await asyncio.start_server(
            started_with({"log.message.format.version": "3.0"})._serve, "127.0.0.1", port
        )
        await answered
        assert survey.of_topics[SILENT] is not None
    finally:
        await survey.close()
    await stop_listening([server])


async def test_sv_9_what_the_brokers_know_is_announced_and_changes_when_brokers_come(here: Cluster) -> None:
    async with asking(here.bootstrap) as client:
        await eventually(lambda: announces(client, OWN))  # the simulated brokers have said that they know as much
        async with silent_broker(here.connect):
            await eventually(lambda: announces(client, KAFKA_2_8))
            found = await announced(client)
            assert ApiKey.LIST_TRANSACTIONS not in found, "a broker of 2.8 does not know it"
            assert found[ApiKey.ALTER_PARTITION_REASSIGNMENTS] == (0, 1), "clients send it to the controller alone"
            assert found[ApiKey.ALTER_PARTITION] == (0, 3), "brokers send it to the controller alone"
            assert {32240, 32241, 32251, 32252} <= found.keys()
        await eventually(lambda: announces(client, OWN))
        async with broker_with(here.connect, KAFKA_3_9):
            await eventually(lambda: announces(client, KAFKA_3_9))


async def test_sv_9_brokers_that_are_away_count_as_what_they_were_until_they_answer_again(zk_connect: str) -> None:
    """Clients that bootstrap while all brokers restart, or one is upgraded, are promised what all of them know."""
    config = ServerConfig(zookeeper_connect=zk_connect, listeners=LISTENERS, server_id=1001)
    async with ControllerProcess(config) as server, AsyncExitStack() as stack:
        await server.ready()
        client = await stack.enter_async_context(asking(server.bootstrap))

        async def knows(*brokers: int) -> bool:
            answer: Any = await client.call(MetadataRequest, MetadataRequest(version=9, topics=[]), 9)
            return {one.node_id for one in answer.brokers} == {1001, *brokers}

        await eventually(lambda: announces(client, KAFKA_3_9))  # there has been no broker
        async with broker_with(zk_connect, ODD, 1):
            await eventually(lambda: announces(client, ODD))
        await eventually(knows)
        assert await announces(client, ODD), "no broker is there"

        async with broker_with(zk_connect, KAFKA_3_9, 1), broker_with(zk_connect, OLD, 2):
            await eventually(lambda: announces(client, OLD))
        await eventually(knows)
        async with broker_with(zk_connect, KAFKA_3_9, 1):
            await eventually(lambda: knows(1))
            assert await announces(client, OLD), "2 is still away"
            async with broker_with(zk_connect, KAFKA_3_9, 2):
                await eventually(lambda: announces(client, KAFKA_3_9))


async def test_sv_10_a_broker_that_a_reload_finds_is_asked_too(here: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the watch reads later is no news any more."""
    read, commit = load_cluster.read_brokers, ZooKeeperStore.commit
    reloads = iter([True])

    async def read_by_reload_alone(zk: ZooKeeper, *, watch: bool = False) -> Mapping[int, Broker]:
        return await (asyncio.Event().wait() if watch else read(zk))  # type: ignore[return-value]

    async def commit_after_reload(store: ZooKeeperStore, known: Known, view: RoundView) -> ReplayedChanges:
        if next(reloads, False):
            raise ReloadNeeded("somebody else has written")
        return await commit(store, known, view)

    async with asking(here.bootstrap) as client:

        async def shows(version: int) -> bool:
            return (await announced(client))[ApiKey.METADATA] == (0, version)

        await eventually(lambda: shows(13))
        monkeypatch.setattr(load_cluster, "read_brokers", read_by_reload_alone)
        async with silent_broker(here.connect):
            monkeypatch.setattr(ZooKeeperStore, "commit", commit_after_reload)
            await here.create_topic("t", {0: [1, 2]})
            await eventually(lambda: shows(11), within=10)


async def test_sv_9_before_a_broker_has_answered_clients_are_promised_no_more_than_the_oldest_one_knows() -> None:
    survey = BrokerSurvey("test", BrokerLinks())
    assert list(survey.versions()) == [OF_OLDEST_BROKER]
    survey.set_brokers({})
    assert list(survey.versions()) == [OF_NEWEST_BROKER], "there is no broker"


async def test_sv_9_a_standby_announces_the_same_as_the_controller(here: Cluster) -> None:
    config = ServerConfig(zookeeper_connect=here.connect, listeners=LISTENERS, server_id=1001)
    async with ControllerProcess(config) as standby:
        await standby.ready()
        async with asking(here.bootstrap) as to_controller, asking(standby.bootstrap) as to_standby:

            async def are_alike(metadata: tuple[int, int]) -> bool:
                found = await announced(to_standby)
                return found == await announced(to_controller) and found[ApiKey.METADATA] == metadata

            await eventually(lambda: are_alike((0, 13)))
            async with silent_broker(here.connect):
                await eventually(lambda: are_alike((0, 11)))
            await eventually(lambda: are_alike((0, 13)))


async def test_sv_9_a_version_that_is_no_longer_announced_is_answered_anyway(here: Cluster) -> None:
    async with silent_broker(here.connect), asking(here.bootstrap) as client:

        async def is_limited() -> bool:
            return (await announced(client))[ApiKey.METADATA] == (0, 11)

        await eventually(is_limited)
        shown: Any = await client.call(MetadataRequest, MetadataRequest(version=13, topics=[]), 13)
        assert {one.node_id for one in shown.brokers} == {1, 2, SILENT, 1000}
        cluster_shown: Any = await client.call(DescribeClusterRequest, DescribeClusterRequest(version=2), 2)
        assert cluster_shown.controller_id == 1000


async def test_sv_9_what_goes_to_a_controller_that_is_a_broker_is_limited_to_what_brokers_know(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with silent_broker(zk_connect):
        await zk.create(znode_paths.CONTROLLER, znode_contents.encode_controller(SILENT, 0, ()), ephemeral=True)
        config = ServerConfig(
            zookeeper_connect=zk_connect, listeners=LISTENERS, server_id=1001, takeover=Takeover.VACANT
        )
        async with ControllerProcess(config) as standby:
            await standby.ready()
            async with asking(standby.bootstrap) as client:
                found = await announced(client)
    assert found[ApiKey.ALTER_PARTITION_REASSIGNMENTS] == (0, 0)
    assert {32240, 32241, 32251, 32252} <= found.keys()
