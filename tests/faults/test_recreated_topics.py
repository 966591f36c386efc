"""A topic is deleted and created again under its name while a broker is away that holds a log of the earlier one."""

import json

import pytest

from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import encode_state
from tests.faults.cluster import Cluster, ask
from tests.processes import Process
from tests.waiting import eventually

pytestmark = pytest.mark.gate


async def create(cluster: Cluster, name: str, *partitions: tuple[int, ...]) -> None:
    topic = CreateTopicsRequest.CreatableTopic
    assignments = [
        topic.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
        for index, replicas in enumerate(partitions)
    ]
    wanted = topic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=[])
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False)
    (answer,) = (await ask(cluster.address("a"), request, 4)).topics
    assert answer.error_code == 0, answer.error_message


async def add_partition(cluster: Cluster, name: str, index: int, replicas: tuple[int, ...]) -> None:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    added = [topic.CreatePartitionsAssignment(broker_ids=list(replicas))]
    request = CreatePartitionsRequest(
        topics=[topic(name=name, count=index + 1, assignments=added)], timeout_ms=10_000, validate_only=False
    )
    (answer,) = (await ask(cluster.address("a"), request, 1)).results
    assert answer.error_code == 0, answer.error_message


async def delete(cluster: Cluster, name: str) -> None:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000)
    (answer,) = (await ask(cluster.address("a"), request, 4)).responses
    assert answer.error_code == 0

    async def is_gone() -> bool:
        return await cluster.zk.exists(znode_paths.topic(name)) is None

    await eventually(is_gone)


async def replica_dropped_while_its_broker_is_away(cluster: Cluster, partition: int = 0) -> Process:
    """Starts brokers 1 to 3. Broker 3 has gone again, with a log of this partition of topic t, of which it holds no
    replica any more. Gives the server, which has begun after that: the one that has dropped it would delete the log.
    """
    server = await cluster.server("a")
    await cluster.fleet("1,2")
    away = await cluster.fleet("3")
    await create(cluster, "t", *((1, 3) if index == partition else (1, 2) for index in range(partition + 1)))
    await eventually(lambda: _has_a_log(cluster, 3, partition))
    assert await away.stop() == 0
    await eventually(lambda: _is_away(cluster))
    assert await cluster.alter("a", {("t", partition): (1, 2)}) == {("t", partition): 0}
    await cluster.rests_at({("t", partition): (1, 2)})
    return await next_controller(cluster, server)


async def next_controller(cluster: Cluster, server: Process) -> Process:
    await server.kill()
    server = await cluster.server("a")
    await cluster.controlled_by("a")
    return server


async def log_left_on_a_broker_that_is_away(cluster: Cluster, partition: int = 0) -> Process:
    """As above, and topic t is deleted by now."""
    server = await replica_dropped_while_its_broker_is_away(cluster, partition)
    await delete(cluster, "t")
    return server


async def log_left_on_a_broker_that_is_back(cluster: Cluster) -> tuple[Process, Process]:
    """As above, but broker 3 has returned; gives the server's process and the broker's."""
    server = await log_left_on_a_broker_that_is_away(cluster)
    return server, await broker_3_returns(cluster)


async def broker_3_returns(cluster: Cluster) -> Process:
    broker = await cluster.fleet("3")
    await eventually(lambda: _is_back(cluster))
    return broker


async def log_is_replaced(cluster: Cluster, server: Process, partition: int) -> None:
    """The log of an earlier topic is deleted. A replica joins the ISR by fetching: the new one is whole."""
    await eventually(lambda: f"has the log of an earlier topic for t-{partition}: it is deleted" in server.log)
    assert await cluster.alter("a", {("t", partition): [2, 3]}) == {("t", partition): 0}
    await cluster.rests_at({("t", partition): [2, 3]})


async def log_left_beside_the_next_topic(cluster: Cluster) -> tuple[Process, Process]:
    """Broker 3 has returned with the log of partition 1 of an earlier topic t. The present one has partition 0 alone.
    Gives the processes of the server, which has not created it, and of the broker."""
    server = await log_left_on_a_broker_that_is_away(cluster, 1)
    await create(cluster, "t", (1, 2))
    assert await cluster.alter("a", {("t", 0): (2, 1)}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): (2, 1)})
    server = await next_controller(cluster, server)
    return server, await broker_3_returns(cluster)


async def test_sv_10_a_topic_takes_along_the_log_that_a_broker_has_kept_of_a_dropped_replica(cluster: Cluster) -> None:
    """Broker 3 is back when the topic is deleted, and holds no replica of it any more."""
    await replica_dropped_while_its_broker_is_away(cluster)
    await cluster.fleet("3")
    await eventually(lambda: _has_a_log(cluster, 3, 0))

    await delete(cluster, "t")

    async def is_gone_everywhere() -> bool:
        return not [held for held in await cluster.held() if held[1][0] == "t"]

    await eventually(is_gone_everywhere)


async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_gets_the_replica_of_the_next_one(
    cluster: Cluster,
) -> None:
    """Its replica was dropped while it was away: it has the log of the earlier topic when it returns."""
    await log_left_on_a_broker_that_is_away(cluster)
    await create(cluster, "t", (1, 2))
    await cluster.fleet("3")

    assert await cluster.alter("a", {("t", 0): [1, 3]}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): [1, 3]})


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_in_the_isr_of_the_next_one(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """It is back when the next topic is created, so that it counts as in sync before it has refused the replica."""
    server, _ = await log_left_on_a_broker_that_is_back(cluster)

    await create(cluster, "t", replicas)
    await log_is_replaced(cluster, server, 0)


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_although_the_next_one_moved_at_once(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """The topic znode has changed when the broker answers that its log is of another topic."""
    server, broker = await log_left_on_a_broker_that_is_back(cluster)

    broker.freeze()
    await create(cluster, "t", replicas)
    assert await cluster.alter("a", {("t", 0): [*replicas, 2]}) == {("t", 0): 0}
    broker.thaw()
    await eventually(lambda: "has the log of an earlier topic for t-0: it is deleted" in server.log)
    await cluster.rests_at({("t", 0): [*replicas, 2]})


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_although_the_controller_has_changed(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """The controller that created the next topic is killed before the broker answers: the next one finds the broker in
    the ISR. Since another in-sync replica is of the right topic, the broker's is not in sync."""
    server, broker = await log_left_on_a_broker_that_is_back(cluster)

    broker.freeze()
    await create(cluster, "t", replicas)
    await server.kill()
    broker.thaw()
    server = await cluster.server("a")
    await eventually(lambda: "broker.replicas_offline" in server.log)
    await log_is_replaced(cluster, server, 0)


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_in_a_partition_that_is_added_later(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """The topic is older than the term and has been written since, the partition is of this term."""
    server, broker = await log_left_beside_the_next_topic(cluster)

    broker.freeze()
    await add_partition(cluster, "t", 1, replicas)
    broker.thaw()
    await log_is_replaced(cluster, server, 1)


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_it_has_its_place_in_such_a_partition_although_the_controller_has_changed(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """The broker has registered after the topic was created and before the partition was."""
    server, broker = await log_left_beside_the_next_topic(cluster)

    broker.freeze()
    await add_partition(cluster, "t", 1, replicas)
    await server.kill()
    broker.thaw()
    server = await cluster.server("a")
    await eventually(lambda: "broker.replicas_offline" in server.log)
    await log_is_replaced(cluster, server, 1)


async def test_hm_2_no_log_is_deleted_where_a_backup_of_zookeeper_names_an_id_that_no_broker_knows(
    cluster: Cluster,
) -> None:
    """By the backup, broker 3 is not in sync. Its log may be the last one all the same."""
    server = await cluster.server("a")
    await cluster.fleet("1,2,3")
    await create(cluster, "t", (1, 2, 3))
    await create(cluster, "u", (1, 2, 3))
    logs = {(broker, (topic, 0)) for broker in (1, 2, 3) for topic in ("t", "u")}

    async def all_are_there() -> bool:
        return logs <= set(await cluster.held())

    await eventually(all_are_there)
    await server.kill()
    path = znode_paths.topic("t")
    znode = json.loads((await cluster.zk.get(path))[0])
    await cluster.zk.set(path, json.dumps(znode | {"topic_id": "AAAAAAAAAAAAAAAAAAAABQ"}).encode())
    state = znode_paths.partition_state("t", 0)
    await cluster.zk.set(state, encode_state(1, 3, (1, 2), 1))
    server = await cluster.server("a")
    for broker in (1, 2, 3):
        stays = f"broker {broker} has the log of another topic for t-0: it stays"
        await eventually(lambda: stays in server.log)  # noqa: B023
    assert await cluster.alter("a", {("u", 0): (3, 2)}) == {("u", 0): 0}
    await cluster.rests_at({("u", 0): (3, 2)})
    assert {(broker, ("t", 0)) for broker in (1, 2, 3)} <= set(await cluster.held())
    assert "it is deleted" not in server.log


async def _has_a_log(cluster: Cluster, broker: int, partition: int) -> bool:
    """A follower is told of a topic after its leader: the ISR names it before it has a log."""
    return (broker, ("t", partition)) in await cluster.held()


async def _is_back(cluster: Cluster) -> bool:
    return 3 in await cluster.live()


async def _is_away(cluster: Cluster) -> bool:
    return 3 not in await cluster.live()
