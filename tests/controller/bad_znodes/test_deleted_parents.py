"""An operator deletes a znode under which the controller creates others, with all that is below it."""

import json

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, records, register
from tests.controller.cluster import cluster
from tests.waiting import eventually


async def delete_all(zk: ZooKeeper, path: str) -> None:
    for one in sorted(await zk.tree(path), reverse=True):
        await zk.delete(one)


async def test_sv_3_requests_are_carried_out_although_the_parents_of_their_znodes_are_gone(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3)) as world:
        zk = world.zk
        await world.create_topic("held", {0: (1, 2)}, held=True)
        await delete_all(zk, znode_paths.REASSIGNMENTS)
        assert await world.alter({("held", 0): (1, 3)}) == {("held", 0): (0, None)}
        assert await records(zk) == {("held", 0)}

        for parent in (znode_paths.FAILED_BROKERS, znode_paths.FAILED_LOG_DIRS, znode_paths.config_type("topics")):
            await delete_all(zk, parent)
        await world.create_topic("new", {0: (1, 2)})
        await world.kill_broker(2)
        await eventually(lambda: zk.exists(znode_paths.failed_broker(2)))

        await delete_all(zk, znode_paths.DELETE_TOPICS)
        await world.delete_topic("new")


async def test_sv_3_a_controller_is_elected_although_the_parent_of_the_records_that_it_writes_is_gone(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    path = znode_paths.topic("t")
    stock = json.loads((await zk.get(path))[0])
    stock |= {"partitions": {"0": [1, 2, 3]}, "adding_replicas": {"0": [3]}}
    await zk.set(path, json.dumps(stock).encode())
    await delete_all(zk, znode_paths.REASSIGNMENTS)
    async with elected_controller(zk_connect) as controller:
        assert controller.partition("t", 0).is_moving
        assert await records(zk) == {("t", 0)}
