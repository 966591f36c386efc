"""No two servers of a cluster have the same broker.id (sv-3)."""

import asyncio
import json
import logging
from contextlib import AsyncExitStack

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.lifecycle.server_registration import BrokerIdTaken, ServerRegistration
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.own_server_znodes import encode_registered_server
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

PATH = znode_paths.reassignment_server(1000)
GONE = encode_registered_server([Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)])
"""A server at an address where no process listens: it was killed, and its session goes on."""


def server(connect: str, server_id: int = 1000) -> ControllerProcess:
    return ControllerProcess(
        ServerConfig(zookeeper_connect=connect, listeners=LISTENERS, server_id=server_id, session_timeout_ms=1000)
    )


async def test_sv_3_a_second_server_with_the_same_id_does_not_start_and_says_who_has_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with AsyncExitStack() as first:
        running = await first.enter_async_context(server(zk_connect))
        await running.ready()
        with pytest.raises(BrokerIdTaken, match=f"another server at {running.bootstrap} has broker.id 1000.*--broker-"):
            async with server(zk_connect):
                pass
        found = await controller_election.owner(zk)
        assert found is not None
        assert found.id == 1000
        assert json.loads((await zk.get(PATH))[0])["endpoints"] == [f"PLAINTEXT:PLAINTEXT://{running.bootstrap}"]
        async with server(zk_connect, 1001) as other:
            await other.ready()
            assert sorted(await zk.children(znode_paths.REASSIGNMENT_SERVERS)) == ["1000", "1001"]
    async with server(zk_connect) as again:
        await again.ready()


@pytest.mark.parametrize(("data", "at"), [(GONE, " at 127.0.0.1:1"), (b"garbage", "")])
async def test_sv_3_the_refusal_of_an_id_names_the_address_of_the_other_server_if_it_can_be_read(
    zk: ZooKeeper, data: bytes, at: str
) -> None:
    await zk.ensure_path(znode_paths.REASSIGNMENT_SERVERS)
    await zk.create(PATH, data)
    with pytest.raises(BrokerIdTaken, match=f"^another server{at} has broker.id 1000 "):
        await ServerRegistration(zk, 1000).ensure(())


async def test_sv_3_a_server_whose_predecessor_was_killed_serves_as_a_standby_until_the_end_of_its_session(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.ensure_path(znode_paths.REASSIGNMENT_SERVERS)
    await zk.create(PATH, GONE)
    with caplog.at_level(logging.WARNING):
        async with server(zk_connect) as here:
            await eventually(lambda: "standing by: another server at 127.0.0.1:1 has broker.id 1000" in caplog.text)
            assert "has ended and kept its session" in caplog.text
            host, _, port = here.bootstrap.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            writer.close()
            assert await controller_election.owner(zk) is None
            await zk.delete(PATH)
            await here.ready()
            found = await controller_election.owner(zk)
            assert found is not None
            assert found.id == 1000
    assert caplog.text.count("standing by: another") == 1, "said once, not at each try"


async def test_sv_3_a_registration_that_cannot_be_read_is_taken_over_once_it_goes(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.ensure_path(znode_paths.REASSIGNMENT_SERVERS)
    await zk.create(PATH, b"\xff")
    with caplog.at_level(logging.WARNING):
        here = server(zk_connect)
        starting = asyncio.create_task(here.__aenter__())
        await eventually(lambda: "has ended and kept its session" in caplog.text)
    assert PATH in caplog.text
    await zk.delete(PATH)
    await starting
    await here.__aexit__(None, None, None)


async def test_sv_3_a_server_whose_id_was_taken_while_it_had_no_session_does_not_campaign(
    zk: ZooKeeper, zk_connect: str, zookeeper: EmbeddedZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    async with Proxy(zookeeper.address) as proxy, server(f"{proxy.address}/{zk_connect.partition('/')[2]}") as here:
        await here.ready()
        proxy.silence()
        proxy.refusing = "close"

        async def is_gone() -> bool:
            return await zk.exists(PATH) is None

        await eventually(is_gone)
        await zk.create(PATH, GONE)
        with caplog.at_level(logging.ERROR):
            proxy.heal()
            await eventually(lambda: "standing by: another server at 127.0.0.1:1 has broker.id 1000" in caplog.text)
        assert await controller_election.owner(zk) is None
        await zk.delete(PATH)
        await eventually(lambda: controller_election.owner(zk))
        assert (await zk.get(PATH))[1].ephemeral_owner != 0
