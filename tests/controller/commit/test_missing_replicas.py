"""A stock broker has placed a replica on the server while no broker was free: it is not lost, whoever forgets it."""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import id_of, state_json, topic_json
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually


async def auto_create(zk: ZooKeeper, name: str, partitions: Mapping[int, Sequence[int]]) -> None:
    """A topic znode as a stock broker's auto-creation leaves it: the controller makes the states of the partitions."""
    assignments = {index: (tuple(replicas), (), ()) for index, replicas in partitions.items()}
    await zk.create(znode_paths.topic(name), topic_znodes.encode_topic(id_of(name), assignments))


async def assigned(world: Cluster) -> tuple[dict[str, list[int]], dict[str, int]]:
    """The replicas, and how many are missing, as the topic znode has them."""
    found = await topic_json(world.zk, "t")
    return found["partitions"], found.get("missing_replicas", {})


async def test_sv_4_a_replica_for_which_no_broker_was_free_survives_a_failover_and_goes_to_the_next_broker(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await auto_create(world.zk, "t", {0: [1, 1000, 2], 1: [1000, 2, 1], 2: [1, 2]})

        async def is_repaired() -> bool:
            return await assigned(world) == ({"0": [1, 2], "1": [2, 1], "2": [1, 2]}, {"0": 1, "1": 1})

        await eventually(is_repaired)
        await eventually(lambda: world.in_sync(("t", 1), 2))
        await world.stop_server()
        await world.start_server()
        assert await is_repaired()

        await world.start_broker(3)
        await eventually(lambda: is_placed(world))
        await eventually(lambda: world.in_sync(("t", 0), 3))
        await eventually(lambda: world.in_sync(("t", 1), 3))
        assert sorted((await state_json(world.zk, ("t", 2)))["isr"]) == [1, 2]


async def is_placed(world: Cluster) -> bool:
    return await assigned(world) == ({"0": [1, 2, 3], "1": [2, 1, 3], "2": [1, 2]}, {})


async def test_sv_4_an_only_replica_on_the_server_goes_to_the_first_broker(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1,)) as world:
        await world.kill_broker(1)
        await auto_create(world.zk, "t", {0: [1000]})
        await eventually(lambda: world.zk.exists(znode_paths.partition_state("t", 0)))

        await world.start_broker(1)
        await eventually(lambda: world.led_by(("t", 0), 1))
        assert await assigned(world) == ({"0": [1]}, {})
