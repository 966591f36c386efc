"""Settings of all servers: who changes them, which value counts, what holds while they cannot be read."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    DoCommandRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Answer, Cluster, cluster
from tests.vendor_requests import order, told, wanted
from tests.waiting import eventually

ENABLED, INTERVAL = "partition.reassignments.enabled", "failure.interval.ms"
ALLOWED = "partition.reassignments.replication.factor.change.allowed"
MOVED = (0, None)
POLICY_VIOLATION, INVALID_CONFIG = 44, 40
GARBAGE = b'{"version":1,"config":7}'


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
        yield made


@asynccontextmanager
async def standby(world: Cluster) -> AsyncIterator[RpcClient]:
    """A client of one more server, a standby."""
    config = ServerConfig(
        zookeeper_connect=world.connect, listeners=world.listeners, server_id=1001, takeover=Takeover.VACANT
    )
    async with ControllerProcess(config) as server:
        await server.ready()
        host, _, port = server.bootstrap.rpartition(":")
        with closing(await RpcClient.open(host, int(port), "test", 20.0)) as client:
            yield client


@asynccontextmanager
async def a_client(world: Cluster) -> AsyncIterator[RpcClient]:
    with closing(await world.client()) as client:
        yield client


async def shown(world: Cluster, name: str) -> Any:
    async with a_client(world) as client:
        return await value(client, "1000", name)


async def alter(client: RpcClient, entity: str, name: str, value: str | None) -> Answer:
    cls = IncrementalAlterConfigsRequest
    change = cls.AlterConfigsResource.AlterableConfig(name=name, config_operation=int(value is None), value=value)
    resource = cls.AlterConfigsResource(resource_type=4, resource_name=entity, configs=[change])
    [result] = (await client.call(cls, cls(resources=[resource], validate_only=False), 1)).responses
    return result.error_code, result.error_message


async def value(client: RpcClient, entity: str, name: str) -> Any:
    cls = DescribeConfigsRequest
    resource = cls.DescribeConfigsResource(resource_type=4, resource_name=entity, configuration_keys=[name])
    [result] = (await client.call(cls, cls(resources=[resource], include_synonyms=True), 3)).results
    [config] = result.configs
    return config.value, config.config_source


async def answers(world: Cluster, target: tuple[int, ...]) -> int:
    [(code, _)] = (await world.alter({("held", 1): target})).values()
    return code


async def test_hm_1_a_standby_changes_the_settings_and_they_hold_at_the_controller_when_it_answers(
    world: Cluster,
) -> None:
    async with standby(world) as other, a_client(world) as controller:
        for enabled in ("false", "true", "false"):
            assert await alter(other, "1001", ENABLED, enabled) == (0, None)
            assert await answers(world, (3, 4)) == (POLICY_VIOLATION if enabled == "false" else 0)
            await world.alter({("held", 1): None})
        for client, entity in ((other, "1001"), (controller, "1000")):
            assert await value(client, entity, ENABLED) == ("false", 2), "one truth"
        code, text = await alter(other, "1000", ENABLED, "true")
        assert (code, text) == (42, "Unexpected broker id, expected 1001, but received 1000")
    assert await world.zk.exists(znode_paths.config_broker("1001")) is None
    await world.stop_server()
    await world.start_server()
    assert await answers(world, (3, 4)) == POLICY_VIOLATION, "also after a failover"
    assert await world.incremental(ENABLED, None) == 0
    assert await answers(world, (3, 4)) == 0


async def test_hm_1_the_servers_settings_go_before_the_brokers_defaults_and_these_before_what_a_server_started_with(
    zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller.telemetry")
    settings = ReassignmentSettings(replication_factor_change_allowed=False)
    async with cluster(zk_connect, settings=settings) as world:
        await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)

        async def grows(wanted: bool) -> bool:
            code = await answers(world, (3, 4, 5))
            await world.alter({("held", 1): None})
            return (code == 0) == wanted

        assert await shown(world, ALLOWED) == ("false", 4)
        assert await grows(False)
        await world.configure("brokers", "<default>", {ALLOWED: "true"})
        await eventually(lambda: grows(True))
        assert await world.incremental(ALLOWED, "false") == 0
        assert await grows(False)
        assert await shown(world, ALLOWED) == ("false", 2)
        assert await world.incremental(ALLOWED, None) == 0
        assert await grows(True), "what is among the defaults holds again"
        await world.stop_server()
        await world.start_server()
        assert await grows(True)
        told = [record.message for record in caplog.records]
        how = "move them with `kafka-reassign settings --bootstrap-server HOST:PORT --move`"
        holds = f"{ALLOWED}=true holds, but is set in the brokers' default configs, which a later version does not read"
        differs = f"{ALLOWED}=false of /admin/reassignment_settings holds; true of the brokers' default configs has no"
        assert [one for one in told if one.startswith(differs)] == [f"{differs} effect; {how}"]
        assert told.count(f"{holds}; {how}") == 3, "once each time that it comes true, in each process"


async def test_hm_1_the_move_changes_nothing_that_holds_and_is_made_by_any_server(world: Cluster) -> None:
    await world.configure("brokers", "<default>", {ENABLED: "false", "log.cleaner.threads": "1"})

    async def is_disabled() -> bool:
        return await answers(world, (3, 4)) == POLICY_VIOLATION

    await eventually(is_disabled)
    async with standby(world) as other:
        answer = await other.call(DoCommandRequest, order("move_settings"), 0)
        assert told(answer) == {"moved": {ENABLED: "false"}, "dropped": {}}
    assert await is_disabled()
    assert await world.described(ENABLED) == "false"
    assert await world.described("log.cleaner.threads") == "1"
    assert await world.incremental(ENABLED, None) == 0
    assert not await is_disabled()


async def test_hm_1_while_the_settings_cannot_be_read_no_move_and_no_repair_starts_and_cancels_go_through(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """They may say that none may start."""
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller.telemetry")
    assert await world.alter({("held", 0): (3, 4)}) == {("held", 0): MOVED}
    await world.zk.create(znode_paths.SETTINGS, GARBAGE)
    for _ in range(2):
        [(code, text)] = (await world.alter({("held", 1): (3, 4)})).values()
        assert code == POLICY_VIOLATION
        assert "the settings of the servers cannot be read (/admin/reassignment_settings: " in (text or "")
        healing = told(await world.ask(wanted("healing"), 0))
        assert [one.split(" (")[0] for one in healing["problems"]] == ["the settings of the servers cannot be read"]
        await world.stop_server()
        await world.start_server()
    assert await world.alter({("held", 0): None}) == {("held", 0): MOVED}
    async with a_client(world) as controller:
        code, text = await alter(controller, "1000", INTERVAL, "5")
        assert code == INVALID_CONFIG
        assert "cannot be read" in (text or "")
    assert (await world.zk.get(znode_paths.SETTINGS))[0] == GARBAGE
    assert any("no new move and no repair starts until the znode is repaired" in one.message for one in caplog.records)
    await world.zk.set(znode_paths.SETTINGS, b'{"version":1,"config":{}}')
    assert await answers(world, (3, 4)) == 0
    await world.zk.delete(znode_paths.SETTINGS)
    assert await world.alter({("held", 1): None}) == {("held", 1): MOVED}
