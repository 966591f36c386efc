"""Somebody else writes a topic's znode again and again: that does not disturb its moves."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion
from tests.controller.bare_controller import state_json, topic_json
from tests.controller.cluster import cluster
from tests.controller.notifications.scripted_cluster import scripted_cluster
from tests.faults.cluster import alter
from tests.waiting import eventually


async def write_foreign_field(zk: ZooKeeper, topic: str, number: int) -> None:
    """Add a field to the topic's znode, and change nothing else."""
    data, stat = await zk.get(znode_paths.topic(topic))
    with suppress(BadVersion):
        await zk.set(
            znode_paths.topic(topic), json.dumps(json.loads(data) | {"foreign": number}).encode(), stat.version
        )


@asynccontextmanager
async def foreign_writer(connect: str, topic: str) -> AsyncIterator[None]:
    """Writes about a hundred times a second."""

    async def write() -> None:
        async with ZooKeeper(connect) as zk:
            for number in itertools.count():
                await write_foreign_field(zk, topic, number)
                await asyncio.sleep(0.01)

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


async def test_455_4_a_move_ends_while_somebody_writes_the_topics_znode_a_hundred_times_a_second(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("t", {0: (1,)}, held=True)
        assert await world.alter({("t", 0): (2,)}) == {("t", 0): (0, None)}
        async with foreign_writer(zk_connect, "t"):
            await world.release("t")
            await eventually(lambda: world.has(("t", 0, (2,))))


async def test_455_9_a_foreign_write_that_does_not_concern_a_move_leaves_its_leader_epoch_alone(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Each higher leader epoch makes a leader's AlterPartition fail once, and stops stock followers for a second."""
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (1, 2)}) as world, world.serving():
        assert await alter(world.server, {("t", 0): [3, 2], ("t", 1): [3, 2]}) == {("t", 0): 0, ("t", 1): 0}
        before = (await state_json(zk, ("t", 0)))["leader_epoch"]
        for number in range(3):
            asked = len(world.brokers[1].received)
            await write_foreign_field(zk, "t", number)
            await eventually(lambda: len(world.brokers[1].received) > asked)  # noqa: B023
        assert (await state_json(zk, ("t", 0)))["leader_epoch"] == before
        assert await world.alter_isr(0, [1, 2]) == 0

        found = await topic_json(zk, "t")
        found["partitions"]["1"] = [4, 1, 2]
        found["adding_replicas"]["1"] = [4]
        await zk.set(znode_paths.topic("t"), json.dumps(found).encode())

        async def is_resumed() -> bool:
            return bool((await state_json(zk, ("t", 1)))["leader_epoch"] == before + 1)

        await eventually(is_resumed)
        assert (await state_json(zk, ("t", 0)))["leader_epoch"] == before


async def test_455_9_a_foreign_write_that_makes_the_cluster_be_read_again_leaves_other_moves_alone(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (1, 2), 2: (1, 2)}) as world, world.serving():
        moves = {("t", 0): [3, 2], ("t", 1): [3, 2]}
        assert await alter(world.server, moves) == dict.fromkeys(moves, 0)
        before = (await state_json(zk, ("t", 0)))["leader_epoch"]
        for index in (1, 2):
            data, _ = await zk.get(znode_paths.partition_state("t", index))
            await zk.set(znode_paths.partition_state("t", index), data)
        assert await alter(world.server, {("t", 2): [3, 2]}) == {("t", 2): 0}, "it has read the cluster again"
        assert (await state_json(zk, ("t", 0)))["leader_epoch"] == before
        assert (await state_json(zk, ("t", 1)))["leader_epoch"] == before + 1, "others have written its state"
