"""`/admin/preferred_replica_election`, as Kafka 2.x's kafka-preferred-replica-election.sh creates it."""

import json
from collections.abc import AsyncIterator

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import GARBAGE
from tests.waiting import eventually

from .scripted_cluster import ScriptedCluster, scripted_cluster

PATH = znode_paths.PREFERRED_REPLICA_ELECTION


@pytest.fixture
async def cluster(zk: ZooKeeper, zk_connect: str) -> AsyncIterator[ScriptedCluster]:
    """Broker 1 is the preferred leader of both partitions and leads neither; it is in sync with the first alone."""
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (1, 3)}) as made:
        async with made.serving():
            await eventually(lambda: None not in made.shown(1))
            await made.unregister(1)
            await eventually(lambda: made.has(1, 3, [3]))
            await made.register(1)
            await eventually(lambda: made.shown(0, to=[1]) == [(2, [2], [])])
            assert await made.alter_isr(0, [2, 1]) == 0
        yield made


def wanted(*indexes: int, topic: str = "t") -> bytes:
    return json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": one} for one in indexes]}).encode()


async def is_gone(zk: ZooKeeper) -> bool:
    return await zk.exists(PATH) is None


async def test_sv_4_preferred_replicas_in_sync_lead_and_the_znode_goes(
    cluster: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster.serving():
        await cluster.zk.create(PATH, wanted(0, 1, 7))
        await eventually(lambda: is_gone(cluster.zk))
        assert await cluster.state(0) == (1, [2, 1])
        assert await cluster.state(1) == (3, [3])
        assert "PREFERRED_LEADER_NOT_AVAILABLE" in caplog.text
        assert "UNKNOWN_TOPIC_OR_PARTITION" in caplog.text
        await eventually(lambda: [one[0] for one in cluster.shown(0)] == [1] * 3)

        await cluster.zk.create(PATH, wanted(0))
        await eventually(lambda: is_gone(cluster.zk))
        assert await cluster.alter_isr(1, [3, 1]) == 0
        await cluster.zk.create(PATH, wanted(1))
        await eventually(lambda: cluster.has(1, 1, [3, 1]))
        await eventually(lambda: is_gone(cluster.zk))


async def test_sv_4_a_new_controller_carries_out_an_election_that_it_finds(cluster: ScriptedCluster) -> None:
    await cluster.zk.ensure_path(znode_paths.ADMIN)
    await cluster.zk.create(PATH, wanted(0))
    async with cluster.serving():
        await eventually(lambda: is_gone(cluster.zk))
        assert (await cluster.state(0))[0] == 1


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_sv_3_garbage_is_reported_and_removed(
    zk: ZooKeeper, zk_connect: str, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        await zk.ensure_path(znode_paths.ADMIN)
        await zk.create(PATH, garbage)
        async with cluster.serving():
            await eventually(lambda: is_gone(zk))
            assert caplog.text.count(f"nothing of it can be done: {PATH}: ") == 1
            assert not [record.getMessage() for record in caplog.records if record.exc_info]


async def test_sv_3_a_znode_that_cannot_be_deleted_is_carried_out_once_for_each_change(
    cluster: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    def refusals() -> int:
        return caplog.text.count("it is done, and cannot be deleted")

    await cluster.zk.ensure_path(f"{PATH}/child")
    await cluster.zk.set(PATH, wanted(0))
    async with cluster.serving():
        await eventually(lambda: refusals() == 1)
        assert (await cluster.state(0))[0] == 1
        assert await cluster.alter_isr(1, [3, 1]) == 0
        await cluster.zk.set(PATH, wanted(1))
        await eventually(lambda: refusals() == 2)
        assert (await cluster.state(1))[0] == 1
        await cluster.zk.delete(f"{PATH}/child")
        await cluster.zk.set(PATH, wanted(0))
        await eventually(lambda: is_gone(cluster.zk))
