"""Garbage in every znode that a controller reads is logged with its path and left out; everything else works."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

import pytest

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.fleet.fleet import Fleet
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig, SeedTopic
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import put_topic, records, state_json, topic_json
from tests.faults.cluster import Address, address_of, alter, ask, listed, metadata
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

GARBAGE = {
    "nothing": b"",
    "no JSON": b"{garbage",
    "binary": bytes(range(256)),
    "a number": b"7",
    "null": b"null",
    "wrong types": b'{"version":"3","partitions":[1],"leader":"x","isr":{},"target":1,"config":[],"endpoints":{}}',
    "an unknown version": b'{"version":99,"partitions":{},"config":{},"endpoints":["PLAINTEXT://h:1"]}',
    "an epoch that cannot rise": b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":2147483647,"isr":[1]}',
    "deep": b"[" * 100_000,
    "huge": b'{"version":1,"x":"' + b"x" * 900_000 + b'"}',
}
UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION, TOPIC_ALREADY_EXISTS = -1, 3, 36
LEADER_NOT_AVAILABLE = 5


@asynccontextmanager
async def serving(connect: str, *, session_timeout_ms: int = 4_000) -> AsyncIterator[Address]:
    """A server that is the controller."""
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=[Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)],
        session_timeout_ms=session_timeout_ms,
    )
    async with ControllerProcess(config) as server:
        await asyncio.wait_for(server.ready(), 20)
        yield address_of(server.bootstrap)


@asynccontextmanager
async def brokers(connect: str, *ids: int, topics: tuple[SeedTopic, ...] = ()) -> AsyncIterator[Fleet]:
    config = FleetConfig(
        zookeeper_connect=connect, broker_ids=ids, topics=topics, session_timeout_ms=4_000, bandwidth=50_000_000
    )
    async with Fleet(config) as fleet:
        await asyncio.wait_for(fleet.ready(), 20)
        yield fleet


async def a_move_works(zk: ZooKeeper, address: Address, topic: str = "good") -> None:
    """Move partition 0 of the topic to brokers 2 and 3, or back to 1 and 2."""
    standing = (await topic_json(zk, topic))["partitions"]["0"]
    target = [2, 3] if standing != [2, 3] else [1, 2]
    assert await alter(address, {(topic, 0): target}) == {(topic, 0): 0}

    async def done() -> bool:
        written = await topic_json(zk, topic)
        return written["partitions"]["0"] == target and (topic, 0) not in await records(zk)

    await eventually(done)


def reported(caplog: pytest.LogCaptureFixture, path: str) -> bool:
    return any(path in record.getMessage() and record.levelno >= logging.ERROR for record in caplog.records)


def no_defect(caplog: pytest.LogCaptureFixture) -> None:
    assert not [record.getMessage() for record in caplog.records if record.exc_info], "something crashed"


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_sv_3_at_failover_garbage_is_left_out_and_the_rest_works(
    zk: ZooKeeper, zk_connect: str, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await put_topic(zk, "good", {0: (1, 2)}, topic_id=UUID(int=5))
    await put_topic(zk, "half", {0: (1, 2), 1: (1, 2)}, topic_id=UUID(int=6))
    await put_topic(zk, "moving", {0: (1, 2)}, topic_id=UUID(int=7))
    moving = topic_znodes.encode_topic(UUID(int=7), {0: ((3, 1, 2), (3,), (2,))})
    await zk.set(znode_paths.topic("moving"), moving)
    await zk.ensure_path(znode_paths.BROKER_IDS)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await zk.ensure_path(znode_paths.config_type("brokers"))
    await zk.create(znode_paths.topic("bad"), garbage)
    await zk.set(znode_paths.partition_state("half", 1), garbage)
    await zk.ensure_path(znode_paths.reassignment_topic("moving"))
    await zk.create(znode_paths.reassignment("moving", 0), garbage)
    await zk.create(znode_paths.reassignment("moving", 77), garbage)
    await zk.create(znode_paths.reassignment_topic("moving") + "/x", garbage)
    await zk.create(znode_paths.broker(9), garbage)
    await zk.create(znode_paths.BROKER_IDS + "/nine", garbage)
    await zk.create(znode_paths.config_topic("good"), garbage or b"x")
    await zk.create(znode_paths.config_broker("1"), garbage or b"x")
    await zk.create(znode_paths.config_broker("<default>"), garbage or b"x")
    await zk.create(znode_paths.CONFIG_CHANGES + "/config_change_0000000000", garbage)
    await zk.create(znode_paths.delete_topic("never-was"), garbage)

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        for path in (
            znode_paths.topic("bad"),
            znode_paths.partition_state("half", 1),
            znode_paths.reassignment("moving", 0),
            znode_paths.broker(9),
            znode_paths.BROKER_IDS + "/nine",
            znode_paths.config_topic("good"),
            znode_paths.config_broker("1"),
            znode_paths.CONFIG_CHANGES,
        ):
            assert reported(caplog, path), path
        await a_move_works(zk, address)
        assert await alter(address, {("half", 0): [2, 3], ("half", 1): [2, 3]}) == {
            ("half", 0): 0,
            ("half", 1): UNKNOWN_SERVER_ERROR,
        }
        await eventually(lambda: rests(zk, ("half", 0), [2, 3]))
        assert (await zk.get(znode_paths.partition_state("half", 1)))[0] == garbage, (
            "what cannot be read is not overwritten"
        )
        assert (await topic_json(zk, "half"))["partitions"]["1"] == [1, 2]
        await eventually(lambda: rests(zk, ("moving", 0), [3, 1]))
        assert await records(zk) == set(), "not even of a partition that does not exist"
        seen = await metadata(address, "half", "bad")
        shown = {topic.name: topic for topic in seen.topics}
        codes = {p.partition_index: p.error_code for p in shown["half"].partitions}
        assert codes == {0: 0, 1: LEADER_NOT_AVAILABLE}
        assert {broker.node_id for broker in seen.brokers} == {1, 2, 3, 1000}
        no_defect(caplog)


async def rests(zk: ZooKeeper, name: tuple[str, int], target: list[int]) -> bool:
    written = await topic_json(zk, name[0])
    index = str(name[1])
    assert written["partitions"][index] == target, written
    assert index not in written["removing_replicas"], written
    return (await state_json(zk, name))["isr"] is not None


@pytest.mark.parametrize("kind", ["nothing", "binary", "wrong types", "huge"])
async def test_sv_3_garbage_that_appears_under_a_controller_is_left_out_and_the_rest_works(
    zk: ZooKeeper, zk_connect: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    garbage = GARBAGE[kind]
    await put_topic(zk, "good", {0: (1, 2)})

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        await zk.create(znode_paths.topic("bad"), garbage)
        await zk.create(znode_paths.broker(9), garbage)
        await zk.create(znode_paths.BROKER_IDS + "/nine", garbage)
        await zk.create(znode_paths.CONFIG_CHANGES + "/config_change_0000000900", garbage)
        await zk.create(znode_paths.config_topic("other"), garbage or b"x")
        change = znode_contents.encode_config_change("topics/other")
        await zk.create(znode_paths.CONFIG_CHANGES + "/config_change_0000000901", change)
        await zk.create(znode_paths.CONFIG_CHANGES + "/strange", garbage)
        for path in (
            znode_paths.topic("bad"),
            znode_paths.broker(9),
            znode_paths.BROKER_IDS + "/nine",
            znode_paths.CONFIG_CHANGES,
            znode_paths.config_topic("other"),
        ):
            await eventually(partial(reported, caplog, path))
        await a_move_works(zk, address)

        good = (await zk.get(znode_paths.topic("good")))[0]
        await zk.set(znode_paths.topic("good"), garbage)
        await eventually(lambda: reported(caplog, znode_paths.topic("good")))
        answers = await alter(address, {("good", 0): [1, 3]})
        assert answers == {("good", 0): UNKNOWN_TOPIC_OR_PARTITION}
        await zk.set(znode_paths.topic("good"), good)

        async def works_again() -> bool:
            return await alter(address, {("good", 0): [3, 2]}) == {("good", 0): 0}

        await eventually(works_again)
        await eventually(lambda: rests(zk, ("good", 0), [3, 2]))
        no_defect(caplog)


async def test_sv_3_a_topic_cannot_be_created_over_garbage_and_other_topics_are_not_affected(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await zk.ensure_path(znode_paths.TOPICS)
    await zk.create(znode_paths.topic("taken"), b"garbage")
    await zk.ensure_path(znode_paths.config_type("topics"))
    await zk.create(znode_paths.config_topic("half-taken"), b'{"version":1,"config":{}}')

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        wanted = [
            CreateTopicsRequest.CreatableTopic(
                name=name, num_partitions=1, replication_factor=2, assignments=[], configs=[]
            )
            for name in ("taken", "fine", "half-taken")
        ]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=5_000, validate_only=False)
        answer = await ask(address, request, 4)

        errors = {topic.name: (topic.error_code, topic.error_message) for topic in answer.topics}
        assert errors["taken"][0] == TOPIC_ALREADY_EXISTS
        assert "/brokers/topics/taken" in errors["taken"][1]
        assert errors["fine"][0] == 0
        assert errors["half-taken"][0] == 0
        assert (await zk.get(znode_paths.topic("taken")))[0] == b"garbage"


@pytest.mark.parametrize(
    "registration",
    [
        {"endpoints": ["CUSTOM://h:1"], "listener_security_protocol_map": {"CUSTOM": "QUANTUM"}},
        {"endpoints": ["PLAINTEXT://h:1"], "rack": "r" * 40_000},
        {"endpoints": ["PLAINTEXT://" + "h" * 40_000 + ":1"]},
        {"endpoints": ["PLAINTEXT://h:99999"]},
        {"endpoints": []},
    ],
)
async def test_sv_4_a_registration_that_update_metadata_cannot_carry_does_not_affect_other_brokers(
    zk: ZooKeeper, zk_connect: str, registration: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    await put_topic(zk, "good", {0: (1, 2)})

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        fields = {"version": 5, "host": None, "port": -1, "timestamp": "0", **registration}
        await zk.create(znode_paths.broker(9), json.dumps(fields).encode(), ephemeral=True)
        await eventually(lambda: reported(caplog, znode_paths.broker(9)))

        await a_move_works(zk, address)
        no_defect(caplog)


async def test_sv_4_a_registered_broker_that_does_not_listen_does_not_affect_other_brokers(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put_topic(zk, "good", {0: (1, 2)})

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)
        await zk.create(znode_paths.broker(9), znode_contents.encode_broker([endpoint], 0), ephemeral=True)

        async def shown() -> bool:
            return 9 in {broker.node_id for broker in (await metadata(address)).brokers}

        await eventually(shown)
        await a_move_works(zk, address)
        no_defect(caplog)


@pytest.mark.parametrize("garbage", [b"", b"x", b"-1", b"2147483647", b"99999999999999", bytes(range(256))])
async def test_sv_3_the_server_reports_a_garbage_controller_epoch_and_waits_until_it_is_corrected(
    zk: ZooKeeper, zk_connect: str, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.CONTROLLER_EPOCH, garbage)
    config = ServerConfig(zookeeper_connect=zk_connect, listeners=[Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)])
    async with ControllerProcess(config) as server:
        await eventually(lambda: reported(caplog, znode_paths.CONTROLLER_EPOCH))
        assert (await listed(address_of(server.bootstrap))).error_code == 41
        await zk.set(znode_paths.CONTROLLER_EPOCH, b"5")

        await asyncio.wait_for(server.ready(), 20)
        assert (await listed(address_of(server.bootstrap))).error_code == 0
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"6"
        no_defect(caplog)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_sv_3_a_garbage_controller_znode_means_an_unknown_controller(
    zk: ZooKeeper, zk_connect: str, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.CONTROLLER, garbage)
    async with serving(zk_connect) as address:
        assert reported(caplog, znode_paths.CONTROLLER)
        assert (await metadata(address)).controller_id == -1
        await zk.delete(znode_paths.CONTROLLER)

        async def controls() -> bool:
            return bool((await listed(address)).error_code == 0)

        await eventually(controls)
        no_defect(caplog)


async def test_hm_2_a_topic_deleted_by_hand_is_forgotten_and_brokers_go_on_with_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "good", {0: (1, 2)}, topic_id=UUID(int=5))
    await put_topic(zk, "gone", {0: (1, 2)}, topic_id=UUID(int=6))

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3) as fleet:
        at_broker = fleet.addresses[3]
        await eventually(lambda: knows(at_broker, "gone"))
        await alter(address, {("gone", 0): [2, 3]})

        await delete_tree(zk, znode_paths.topic("gone"))

        await eventually(lambda: does_not_know(address, "gone"))
        await a_move_works(zk, address)
        assert await knows(at_broker, "gone")
        assert (await listed(address)).topics == []


async def knows(address: Address, topic: str) -> bool:
    (shown,) = (await metadata(address, topic)).topics
    return bool(shown.error_code == 0 and all(p.error_code == 0 for p in shown.partitions))


async def does_not_know(address: Address, topic: str) -> bool:
    (shown,) = (await metadata(address, topic)).topics
    return bool(shown.error_code == 3)


async def test_455_9_a_topic_deleted_and_made_again_by_hand_is_another_topic(zk: ZooKeeper, zk_connect: str) -> None:
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=UUID(int=5))

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3) as fleet:
        await a_move_works(zk, address, "t")
        await delete_tree(zk, znode_paths.topic("t"))
        await put_topic(zk, "t", {0: (3, 1)}, topic_id=UUID(int=9))

        async def stands() -> bool:
            (shown,) = (await metadata(address, "t")).topics
            return [p.replica_nodes for p in shown.partitions] == [[3, 1]]

        await eventually(stands)
        await eventually(lambda: knows(fleet.addresses[2], "t"))
        await a_move_works(zk, address, "t")


async def test_455_9_an_assignment_changed_by_hand_during_a_move_cancels_the_move(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=UUID(int=5))

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2):
        await zk.create(znode_paths.broker(3), await unreachable(), ephemeral=True)

        async def accepted() -> bool:
            return await alter(address, {("t", 0): [1, 3]}) == {("t", 0): 0}

        await eventually(accepted)
        assert await records(zk) == {("t", 0)}

        await zk.set(znode_paths.topic("t"), topic_znodes.encode_topic(UUID(int=5), {0: ((1, 2), (), ())}))

        async def cancelled() -> bool:
            return await records(zk) == set() and (await listed(address)).topics == []

        await eventually(cancelled)
        assert await alter(address, {("t", 0): [2, 1]}) == {("t", 0): 0}
        assert (await topic_json(zk, "t"))["partitions"]["0"] == [2, 1]


async def unreachable() -> bytes:
    return znode_contents.encode_broker([Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)], 0)


async def test_236_8_a_move_completes_although_its_record_was_deleted_by_hand(zk: ZooKeeper, zk_connect: str) -> None:
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=UUID(int=5))

    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2):
        await zk.create(znode_paths.broker(3), await unreachable(), ephemeral=True)

        async def accepted() -> bool:
            return await alter(address, {("t", 0): [1, 3]}) == {("t", 0): 0}

        await eventually(accepted)
        await zk.delete(znode_paths.reassignment("t", 0))
        await zk.delete(znode_paths.broker(3))

        async with brokers(zk_connect, 3):
            await eventually(lambda: rests(zk, ("t", 0), [1, 3]))
            assert await records(zk) == set()
