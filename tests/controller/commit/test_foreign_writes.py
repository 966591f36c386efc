"""Others write a topic's znode again and again: that does not disturb its moves."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from kafka_reassign_rpc.controller.commands.cluster_commands import Barrier
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion
from tests.controller.bare_controller import elected_controller, put_topic, register, state_json, topic_json
from tests.controller.bare_watches import watches_of
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


@pytest.mark.in_order  # the controller reads the cluster, decides and writes within the ten milliseconds of the writer
async def test_455_4_a_move_ends_while_others_write_the_topics_znode_a_hundred_times_a_second(
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


async def write_replicas(zk: ZooKeeper, replicas: dict[str, list[int]]) -> None:
    found = await topic_json(zk, "t")
    await zk.set(znode_paths.topic("t"), json.dumps(found | {"partitions": found["partitions"] | replicas}).encode())


async def leader_epochs(zk: ZooKeeper) -> list[int]:
    return [(await state_json(zk, ("t", index)))["leader_epoch"] for index in range(4)]


@pytest.mark.parametrize("reload", [False, True])
async def test_455_9_brokers_act_on_replicas_that_an_operator_changes_by_hand(
    zk: ZooKeeper, zk_connect: str, reload: bool
) -> None:
    """Without a higher leader epoch a leader goes on with the replicas that it knows, and its next ISR is refused."""
    await register(zk, 1, 2, 3, 4)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await put_topic(zk, "t", dict.fromkeys(range(4), (1, 2, 3)))
    async with elected_controller(zk_connect) as controller:
        assert isinstance(await controller.isr(("t", 0), (1, 2)), Partition)
        assert await leader_epochs(zk) == [3, 3, 3, 3]
        # 0 loses a replica out of sync, 1 gets one, 2 has them in another order. 3 stays as it is.
        await write_replicas(zk, {"0": [1, 2], "1": [1, 2, 3, 4], "2": [1, 3, 2]})
        if reload:
            assert await controller.alter({("t", 3): (2, 1, 3)}) == {("t", 3): None}
            assert await leader_epochs(zk) == [4, 4, 3, 4]
        else:
            await watches_of(controller).changed_topics(["t"])
            await controller.loop.submit(Barrier())
            assert await leader_epochs(zk) == [4, 4, 3, 3]
        assert controller.partition("t", 0).replicas == (1, 2)
        assert isinstance(await controller.isr(("t", 1), (1, 2, 3, 4)), Partition)
        await controller.check()


@pytest.mark.parametrize("reload", [False, True])
async def test_455_9_brokers_act_on_a_leader_that_an_operator_writes_into_a_state(
    zk: ZooKeeper, zk_connect: str, reload: bool
) -> None:
    """Without a higher leader epoch the former leader goes on, and clients ask the one that was written in vain."""
    await register(zk, 1, 2)
    await put_topic(zk, "t", dict.fromkeys(range(4), (1, 2)))
    async with elected_controller(zk_connect) as controller:
        await zk.set(znode_paths.partition_state("t", 0), topic_znodes.encode_state(2, 3, (1, 2), 1))
        if reload:
            await zk.set(znode_paths.partition_state("t", 3), (await zk.get(znode_paths.partition_state("t", 3)))[0])
            assert await controller.alter({("t", 3): (2, 1)}) == {("t", 3): None}
            assert await leader_epochs(zk) == [4, 3, 3, 4]
        else:
            await write_foreign_field(zk, "t", 1)
            await watches_of(controller).changed_topics(["t"])
            await controller.loop.submit(Barrier())
            assert await leader_epochs(zk) == [4, 3, 3, 3]
        assert controller.partition("t", 0).leader == 2
        await controller.check()


async def test_455_9_replicas_changed_by_hand_without_a_controller_are_learnt_when_the_leader_names_one_that_left(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2, 3)})
    await zk.set(znode_paths.partition_state("t", 0), topic_znodes.encode_state(1, 3, (1, 2), 1))
    await write_replicas(zk, {"0": [1, 2]})
    async with elected_controller(zk_connect) as controller:
        assert controller.partition("t", 0).leader_epoch == 3
        assert isinstance(await controller.isr(("t", 0), (1, 2, 3)), InvalidRequest)
        assert (await state_json(zk, ("t", 0)))["leader_epoch"] == 4
        assert isinstance(await controller.isr(("t", 0), (1,)), Partition)
        await controller.check()
