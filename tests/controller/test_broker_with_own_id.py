"""A stock broker has the id of a server: the server leaves its replicas alone, and the id to the broker (sv-3)."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_reassign_rpc.controller.controller_election import Takeover, owner
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.lifecycle.server_registration import BrokerIdTaken, IdOfBroker
from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import TOPIC_ID, id_of, register, state_json, topic_creates, topic_json
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually

ID = 1001
MARK = znode_paths.reassignment_server_id(ID)


@asynccontextmanager
async def serving(
    connect: str, server_id: int = ID, *, takeover: Takeover = Takeover.ALWAYS
) -> AsyncIterator[ControllerProcess]:
    config = ServerConfig(zookeeper_connect=connect, listeners=LISTENERS, server_id=server_id, takeover=takeover)
    async with ControllerProcess(config) as server:
        await server.ready()
        yield server


async def put(zk: ZooKeeper, name: str, replicas: Sequence[int], *, isr: Sequence[int], leader: int) -> None:
    """A topic that has had a leader, at once: a server never sees it without its state."""
    state = topic_znodes.encode_state(leader, 4, tuple(isr), 1)
    await zk.ensure_path(znode_paths.TOPICS)
    topic = topic_znodes.encode_topic(id_of(name), {0: (tuple(replicas), (), ())})
    await zk.multi(topic_creates(name, topic, {0: state}))


async def contents(zk: ZooKeeper) -> tuple[Any, Any]:
    return (await topic_json(zk, "t"))["partitions"], await state_json(zk, ("t", 0))


@pytest.mark.parametrize("isr", [[ID], [ID, 2], [2]], ids=["it alone is in sync", "another too", "only another"])
async def test_sv_3_a_server_does_not_start_with_the_id_of_a_broker_that_is_down_and_holds_replicas(
    zk: ZooKeeper, zk_connect: str, isr: list[int]
) -> None:
    await register(zk, 2, 3)
    await put(zk, "t", (ID, 2), isr=isr, leader=2 if 2 in isr else -1)
    before = await contents(zk)

    with pytest.raises(IdOfBroker, match=r"1001 is the id of a broker .* 1 replica, such as of t-0: choose another"):
        async with serving(zk_connect):
            pass

    assert await contents(zk) == before
    assert await owner(zk) is None
    assert await zk.exists(MARK) is None, "no server may believe later that no broker had this id"
    async with serving(zk_connect, 1002):
        await eventually(lambda: owner(zk))
    assert (await topic_json(zk, "t"))["partitions"] == {"0": [ID, 2]}


async def test_sv_3_a_server_starts_with_an_id_that_was_its_own_when_stock_brokers_placed_replicas_there(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 2, 3)
    async with serving(zk_connect):
        assert await zk.exists(MARK) is not None
    await put(zk, "t", (ID, 2), isr=[2], leader=2)

    async with serving(zk_connect):
        await eventually(lambda: has_replicas(zk, [3, 2]))
    assert (await state_json(zk, ("t", 0)))["isr"] == [2]


async def test_sv_3_an_id_that_was_a_servers_is_not_taken_again_while_a_broker_with_it_is_in_sync(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 2, 3)
    async with serving(zk_connect):
        pass
    await put(zk, "t", (ID, 2), isr=[ID, 2], leader=2)

    with pytest.raises(IdOfBroker):
        async with serving(zk_connect):
            pass


async def test_sv_3_a_server_takes_an_id_with_replicas_of_partitions_that_had_no_leader_yet(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 2, 3)
    await zk.ensure_path(znode_paths.TOPICS)
    await zk.create(znode_paths.topic("t"), topic_znodes.encode_topic(TOPIC_ID, {0: ((ID, 2), (), ())}))
    await zk.create(znode_paths.topic("garbage"), b"{1001")

    async with serving(zk_connect):
        await eventually(lambda: has_replicas(zk, [3, 2]))


async def has_replicas(zk: ZooKeeper, replicas: list[int]) -> bool:
    return bool((await topic_json(zk, "t"))["partitions"] == {"0": replicas})


async def test_sv_3_a_replica_of_a_broker_with_the_servers_id_that_shows_up_while_the_server_runs_is_left_alone(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 2, 3)
    async with serving(zk_connect):
        await put(zk, "t", (ID, 2), isr=[ID], leader=-1)
        await put(zk, "u", (2, 9), isr=[2, 9], leader=2)
        await register(zk, 4)

        async def has_decided() -> bool:
            return bool((await state_json(zk, ("u", 0)))["isr"] == [2])

        await eventually(has_decided)
        assert await has_replicas(zk, [ID, 2])


@pytest.mark.parametrize("controls", [True, False], ids=["controller", "standby"])
async def test_sv_3_a_server_whose_id_a_broker_registers_with_ends_and_leaves_id_and_replicas_to_the_broker(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, *, controls: bool
) -> None:
    await register(zk, 2, 3)
    if not controls:
        await zk.create(znode_paths.CONTROLLER, znode_contents.encode_controller(2, 1))
        await zk.create(znode_paths.CONTROLLER_EPOCH, b"1")
    async with serving(zk_connect, takeover=Takeover.VACANT) as server:
        await put(zk, "t", (ID, 2), isr=[2], leader=2)
        if controls:
            await eventually(lambda: has_replicas(zk, [3, 2]))
        with caplog.at_level(logging.ERROR):
            await register(zk, ID)
            await put(zk, "u", (ID, 2), isr=[2], leader=2)
            with pytest.raises(IdOfBroker, match=r"broker 1001 is registered.*choose another --broker-id"):
                await server.ended()
        assert "Traceback" not in caplog.text
        assert await named(server) == {ID: 9000 + ID, 2: 9002, 3: 9003}
    assert (await topic_json(zk, "u"))["partitions"] == {"0": [ID, 2]}
    found = await owner(zk)
    assert (found is None) if controls else (found is not None and found.id == 2)
    assert await zk.exists(MARK) is None

    with pytest.raises(BrokerIdTaken, match=r"broker 1001 is registered"):
        async with serving(zk_connect):
            pass


async def named(server: ControllerProcess) -> dict[int, int]:
    """The ports of the nodes in the server's Metadata."""
    host, _, port = server.bootstrap.rpartition(":")
    client = await RpcClient.open(host, int(port), "test", 20.0)
    try:
        answer = await client.call(MetadataRequest, MetadataRequest(topics=[]), 1)
    finally:
        client.close()
    assert len({one.node_id for one in answer.brokers}) == len(answer.brokers)
    return {one.node_id: one.port for one in answer.brokers}
