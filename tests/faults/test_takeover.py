"""When a server becomes the controller: never, if there is none, or also in place of a stock broker."""

from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from tests.faults.cluster import Cluster, listed, metadata
from tests.waiting import eventually

NOT_CONTROLLER = 41
BROKER = 9


async def controlled_by_a_broker(cluster: Cluster) -> None:
    """Register a broker that is the controller, as long as the test's session lives."""
    await cluster.zk.ensure_path(znode_paths.BROKER_IDS)
    await cluster.zk.create(znode_paths.CONTROLLER_EPOCH, b"7")
    here = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)
    await cluster.zk.create(znode_paths.broker(BROKER), encode_broker([here], 0), ephemeral=True)
    await cluster.zk.create(znode_paths.CONTROLLER, encode_controller(BROKER, 0, []), ephemeral=True)


async def test_sv_3_a_server_that_never_takes_over_answers_reads_and_leaves_a_vacant_controllership_to_others(
    cluster: Cluster,
) -> None:
    await cluster.server("a")
    await cluster.fleet("1,2", "t:3:2:0")
    await cluster.server("b", "--controller-takeover", "never", broker_id=1001)
    shown = await metadata(cluster.address("b"), "t")
    assert shown.controller_id == 1000
    assert [len(topic.partitions) for topic in shown.topics] == [3]
    assert (await listed(cluster.address("b"))).error_code == NOT_CONTROLLER
    before = await cluster.epoch()

    assert await cluster.servers["a"].stop() == 0
    await cluster.server("c", "--controller-takeover", "vacant", broker_id=1002)

    await cluster.controlled_by("c")
    assert await cluster.epoch() == before + 1, "somebody else was the controller in between"
    await eventually(lambda: is_directed_to(cluster, "b", 1002))


async def is_directed_to(cluster: Cluster, server: str, controller: int) -> bool:
    return bool((await metadata(cluster.address(server))).controller_id == controller)


async def test_sv_3_a_server_that_takes_a_vacant_controllership_leaves_a_brokers_alone(cluster: Cluster) -> None:
    await controlled_by_a_broker(cluster)

    await cluster.server("a", "--controller-takeover", "vacant")

    assert await is_directed_to(cluster, "a", BROKER)
    assert (await listed(cluster.address("a"))).error_code == NOT_CONTROLLER
    assert await cluster.epoch() == 7
    await cluster.zk.delete(znode_paths.CONTROLLER)
    await cluster.controlled_by("a")
    assert await cluster.epoch() == 8


async def test_sv_3_a_server_that_always_takes_over_takes_the_controllership_from_a_broker_but_not_from_a_server(
    cluster: Cluster,
) -> None:
    await controlled_by_a_broker(cluster)

    await cluster.server("a", "--controller-takeover", "always")
    assert await cluster.is_controller("a")
    assert await cluster.epoch() == 8
    await cluster.server("b", "--controller-takeover", "always", broker_id=1001)

    assert await is_directed_to(cluster, "b", 1000)
    assert await cluster.is_controller("a")
    assert await cluster.epoch() == 8
