"""A stock broker has placed a replica on the server while no broker was free: it is not lost by any restart."""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, UpdateMetadataRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import id_of, state_json, topic_json
from tests.controller.cluster import Cluster, cluster
from tests.controller.notifications.scripted_cluster import scripted_cluster
from tests.controller.telemetry.test_metrics import counted
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
    """No client has asked for it, so it is no move."""
    async with cluster(zk_connect, brokers=(1, 2), metrics=True) as world:
        await auto_create(world.zk, "t", {0: [1, 1000, 2], 1: [1000, 2, 1], 2: [1, 2]})

        async def is_repaired() -> bool:
            return await assigned(world) == ({"0": [1, 2], "1": [2, 1], "2": [1, 2]}, {"0": 1, "1": 1})

        await eventually(is_repaired)
        await eventually(lambda: world.in_sync(("t", 1), 2))
        await has_recorded(world.metrics_address, 2)
        await world.stop_server()
        await world.start_server()
        assert await is_repaired()

        await world.start_broker(3)
        await eventually(lambda: is_placed(world))
        await eventually(lambda: world.in_sync(("t", 0), 3))
        await eventually(lambda: world.in_sync(("t", 1), 3))
        assert sorted((await state_json(world.zk, ("t", 2)))["isr"]) == [1, 2]
        await has_recorded(world.metrics_address, 2)


async def has_recorded(address: str, placed: int) -> None:
    async def is_recorded() -> bool:
        return await counted(address, "events_total", "replica.placed") == placed

    await eventually(is_recorded)
    for event in ("move.started", "move.completed", "moves.done"):
        assert await counted(address, "events_total", event) == 0


async def test_sv_4_no_broker_hears_of_a_replica_that_a_stock_broker_has_placed_on_the_server(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as brokers, brokers.serving():
        await eventually(lambda: brokers.shown(0) == [(1, [1, 2], [])] * 3)
        await auto_create(zk, "auto", {0: [1000, 1], 1: [2, 1000], 2: [3, 1000, 1]})

        def told() -> list[tuple[int, tuple[int, ...]]]:
            """The replicas of each partition, in all requests that have named them to any broker."""
            return [
                (one.partition_index, tuple(one.replicas))
                for broker in brokers.brokers.values()
                for body in broker.received
                if isinstance(body, LeaderAndIsrRequest | UpdateMetadataRequest)
                for topic in body.topic_states
                if topic.topic_name == "auto"
                for one in topic.partition_states
            ]

        everybody = 3 * 3 + 2 + 2 + 3  # UpdateMetadata to all, LeaderAndIsr to each replica
        await eventually(lambda: len(told()) >= everybody)
        assert {index for index, _ in told()} == {0, 1, 2}
        assert all(1000 not in replicas for _, replicas in told())


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
