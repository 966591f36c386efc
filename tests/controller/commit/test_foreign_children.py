"""Others put a child under a move record or a part of the queue: ZooKeeper deletes neither, so both are emptied."""

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import EMPTY
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register

RECORD = znode_paths.reassignment("t", 0)
CHILD = f"{RECORD}/foreign"


async def put_cluster(zk: ZooKeeper) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})


@pytest.mark.parametrize("how", ["completes", "is cancelled"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_236_8_a_move_ends_and_the_next_one_begins_although_its_record_has_foreign_children(
    zk: ZooKeeper, zk_connect: str, how: str, when: str
) -> None:
    """`when`: the controller that ends the move is elected before or after the child is put there."""
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("t", 0): (1, 3)}) == {("t", 0): None}
        if when == "after":
            await zk.create(CHILD, b"")
    async with elected_controller(zk_connect) as controller:
        if when == "before":
            await zk.create(CHILD, b"")
        if how == "completes":
            await controller.caught_up(("t", 0))
            assert controller.partition("t").replicas == (1, 3)
            await controller.stopped(("t", 0))
        else:
            assert await controller.alter({("t", 0): None}) == {("t", 0): None}
            await controller.stopped(("t", 0))
            assert controller.partition("t").replicas == (1, 2)
        assert not controller.cluster.moving
        assert (await zk.get(RECORD))[0] == b""
        await controller.check()
    async with elected_controller(zk_connect) as successor:
        assert successor.partition("t").move is None
        assert await successor.alter({("t", 0): (2, 3)}) == {("t", 0): None}
        await successor.check()
        await successor.caught_up(("t", 0))
        await successor.stopped(("t", 0))
        assert successor.partition("t").replicas == (2, 3)
        await zk.delete(CHILD)
        await zk.delete(RECORD)
        assert await successor.alter({("t", 0): (2, 1)}) == {("t", 0): None}, "it is read again, and created"
        await successor.check()


@pytest.mark.parametrize("data", [b"", b"garbage"])
async def test_236_8_a_record_with_children_of_a_partition_at_rest_stops_no_failover(
    zk: ZooKeeper, zk_connect: str, data: bytes
) -> None:
    await put_cluster(zk)
    await zk.ensure_path(CHILD)
    await zk.set(RECORD, data)
    for target in ((1, 3), (1, 2)):
        async with elected_controller(zk_connect) as controller:
            assert (await zk.get(RECORD))[0] == b""
            assert controller.partition("t").move is None
            assert await controller.alter({("t", 0): target}) == {("t", 0): None}
            await controller.caught_up(("t", 0))
            await controller.stopped(("t", 0))
            assert controller.partition("t").replicas == target
            await controller.check()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_236_7_a_queued_move_starts_although_its_part_of_the_queue_has_foreign_children(
    zk: ZooKeeper, zk_connect: str, when: str
) -> None:
    """`when`: the controller that starts the move is elected before or after the child is put there."""
    await put_cluster(zk)
    child = f"{znode_paths.queue_part(znode_paths.REASSIGN_QUEUE, 0)}/foreign"
    await zk.ensure_path(znode_paths.REASSIGN_CANCEL)  # nothing starts for now
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("t", 0): (2, 3), ("t", 1): (2, 3)}, queue=True) == {
            ("t", 0): None,
            ("t", 1): None,
        }
        assert len(controller.cluster.queue) == 2
        if when == "after":
            await zk.create(child, b"")
            await zk.delete(znode_paths.REASSIGN_CANCEL)
    async with elected_controller(zk_connect) as controller:
        if when == "before":
            await zk.create(child, b"")
            await zk.delete(znode_paths.REASSIGN_CANCEL)
            await controller.read_admin_znodes()
        await controller.start_queued_moves()
        assert controller.cluster.moving == {"t": {0, 1}}
        assert (await zk.get(znode_paths.queue_part(znode_paths.REASSIGN_QUEUE, 0)))[0] == EMPTY
        await controller.check()
        assert await controller.alter({("t", 0): (3, 2)}, queue=True) == {("t", 0): None}
        await controller.start_queued_moves()
        await controller.check()
    await zk.delete(child)
    async with elected_controller(zk_connect):
        assert await zk.exists(znode_paths.REASSIGN_QUEUE) is None
