"""Brokers of a protocol (inter.broker.protocol.version) below 2.7 write ISRs themselves, and notify the controller."""

import json
from collections.abc import AsyncIterator

import pytest

from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.transactions import pipeline, split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import GARBAGE
from tests.controller.bare_controller import records, topic_json
from tests.faults.cluster import alter, ask
from tests.waiting import eventually

from .scripted_cluster import ScriptedCluster, scripted_cluster

CHANGES = znode_paths.ISR_CHANGES


@pytest.fixture
async def cluster(zk: ZooKeeper, zk_connect: str) -> AsyncIterator[ScriptedCluster]:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (2, 3)}) as made, made.serving():
        await eventually(lambda: None not in made.shown(1))
        yield made


async def write_isr(cluster: ScriptedCluster, index: int, isr: tuple[int, ...]) -> None:
    """What the leader does: it keeps leader and epochs, and writes the ISR over the version that it knows."""
    path = znode_paths.partition_state("t", index)
    data, stat = await cluster.zk.get(path)
    state = topic_znodes.decode_state(data, path)
    written = topic_znodes.encode_state(state.leader, state.leader_epoch, isr, state.controller_epoch)
    await cluster.zk.set(path, written, stat.version)


async def notify(cluster: ScriptedCluster, *indexes: int, topic: str = "t") -> None:
    named = [{"topic": topic, "partition": index} for index in indexes]
    await notify_bytes(cluster, json.dumps({"version": 1, "partitions": named}).encode())


async def notify_bytes(cluster: ScriptedCluster, data: bytes) -> None:
    await cluster.zk.create(f"{CHANGES}/isr_change_", data, sequence=True)


async def test_sv_4_all_brokers_learn_an_isr_that_a_leader_has_written(cluster: ScriptedCluster) -> None:
    await write_isr(cluster, 0, (1,))
    await write_isr(cluster, 1, (2,))
    await notify(cluster, 0, 1, 7)
    await notify(cluster, 0, topic="unknown")
    await eventually(lambda: cluster.shown(0) == [(1, [1], [])] * 3)
    await eventually(lambda: cluster.shown(1) == [(2, [2], [])] * 3)
    await eventually(lambda: cluster.is_gone(CHANGES))
    answer = await ask(cluster.server, MetadataRequest(version=7, topics=None), 7)
    assert {one.partition_index: one.isr_nodes for one in answer.topics[0].partitions} == {0: [1], 1: [2]}
    assert await cluster.alter_isr(0, [1, 2]) == 0, "the version is known: nothing has to be read again"


async def test_455_4_a_move_ends_when_the_leader_has_written_the_whole_target_into_the_isr(
    cluster: ScriptedCluster,
) -> None:
    assert await alter(cluster.server, {("t", 0): [3, 2]}) == {("t", 0): 0}
    await write_isr(cluster, 0, (1, 2, 3))
    await notify(cluster, 0)

    async def done() -> bool:
        written = await topic_json(cluster.zk, "t")
        return written["partitions"]["0"] == [3, 2] and not await records(cluster.zk)

    await eventually(done)
    assert await cluster.state(0) == (3, [2, 3])
    await eventually(lambda: cluster.shown(0) == [(3, [2, 3], [])] * 3)


async def test_sv_4_a_leader_that_dies_is_replaced_from_the_isr_that_it_has_written(cluster: ScriptedCluster) -> None:
    await write_isr(cluster, 0, (1,))
    await notify(cluster, 0)
    await eventually(lambda: cluster.shown(0) == [(1, [1], [])] * 3)
    await cluster.unregister(1)
    await eventually(lambda: cluster.has(0, -1, [1]))


async def test_sv_4_a_new_controller_removes_what_it_finds_there(zk: ZooKeeper, zk_connect: str) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        await write_isr(cluster, 0, (1,))
        await notify(cluster, 0)
        async with cluster.serving():
            await eventually(lambda: cluster.shown(0) == [(1, [1], [])] * 3)
            await eventually(lambda: cluster.is_gone(CHANGES))


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_sv_3_garbage_among_the_notifications_is_reported_and_removed(
    cluster: ScriptedCluster, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.zk.set(znode_paths.partition_state("t", 1), garbage)
    for unusable in (garbage, b'{"partitions":[{"topic":"t","partition":-1}]}', b'{"partitions":[{"topic":7}]}'):
        await notify_bytes(cluster, unusable)
    await write_isr(cluster, 0, (1,))
    await notify(cluster, 0, 1)
    await eventually(lambda: cluster.shown(0) == [(1, [1], [])] * 3)
    await eventually(lambda: cluster.is_gone(CHANGES))
    assert all(f"{CHANGES}/isr_change_{number:010d}: " in caplog.text for number in range(3)), caplog.text
    assert znode_paths.partition_state("t", 1) in caplog.text
    assert (await cluster.zk.get(znode_paths.partition_state("t", 1)))[0] == garbage
    assert not [record.getMessage() for record in caplog.records if record.exc_info]


async def test_sv_3_many_notifications_about_the_same_partitions_cost_one_read_of_each(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    multi_get = ZooKeeper.multi_get

    async def noted(self: ZooKeeper, paths: list[str]) -> object:
        read.extend(path for path in paths if path.endswith("/state"))
        return await multi_get(self, paths)

    monkeypatch.setattr(ZooKeeper, "multi_get", noted)
    await write_isr(cluster, 0, (1,))
    data = json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": index} for index in (0, 1)]}).encode()
    await pipeline(
        cluster.zk.submit_multi,
        list(split_ops(Create(f"{CHANGES}/isr_change_", data, sequence=True) for _ in range(900))),
    )
    await eventually(lambda: cluster.shown(0) == [(1, [1], [])] * 3)
    await eventually(lambda: cluster.is_gone(CHANGES))
    assert len(read) <= 4
