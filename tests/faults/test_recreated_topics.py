"""A topic is deleted and created again under its name while a broker is away that holds a log of the earlier one."""

import pytest

from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, DeleteTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import Cluster, ask
from tests.processes import Process
from tests.waiting import eventually


async def create(cluster: Cluster, name: str, *replicas: int) -> None:
    topic = CreateTopicsRequest.CreatableTopic
    assignment = topic.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))
    wanted = topic(name=name, num_partitions=-1, replication_factor=-1, assignments=[assignment], configs=[])
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False)
    (answer,) = (await ask(cluster.address("a"), request, 4)).topics
    assert answer.error_code == 0, answer.error_message


async def delete(cluster: Cluster, name: str) -> None:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000)
    (answer,) = (await ask(cluster.address("a"), request, 4)).responses
    assert answer.error_code == 0

    async def is_gone() -> bool:
        return await cluster.zk.exists(znode_paths.topic(name)) is None

    await eventually(is_gone)


async def replica_dropped_while_its_broker_is_away(cluster: Cluster) -> None:
    """Starts brokers 1 to 3. Broker 3 has gone again, with a log of topic t, of which it holds no replica any more."""
    await cluster.fleet("1,2")
    away = await cluster.fleet("3")
    await create(cluster, "t", 1, 3)
    await eventually(lambda: _has_a_log(cluster, 3))
    assert await away.stop() == 0
    await eventually(lambda: _is_away(cluster))
    assert await cluster.alter("a", {("t", 0): [1, 2]}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): [1, 2]})


async def log_left_on_a_broker_that_is_away(cluster: Cluster) -> None:
    """As above, and topic t is deleted by now."""
    await replica_dropped_while_its_broker_is_away(cluster)
    await delete(cluster, "t")


async def log_left_on_a_broker_that_is_back(cluster: Cluster) -> Process:
    """As above, but broker 3 has returned; gives its process."""
    await log_left_on_a_broker_that_is_away(cluster)
    broker = await cluster.fleet("3")
    await eventually(lambda: _is_back(cluster))
    return broker


async def test_sv_10_a_topic_takes_along_the_log_that_a_broker_has_kept_of_a_dropped_replica(cluster: Cluster) -> None:
    """Broker 3 is back when the topic is deleted, and holds no replica of it any more."""
    await cluster.server("a")
    await replica_dropped_while_its_broker_is_away(cluster)
    await cluster.fleet("3")
    await eventually(lambda: _has_a_log(cluster, 3))

    await delete(cluster, "t")

    async def is_gone_everywhere() -> bool:
        return not [held for held in await cluster.held() if held[1][0] == "t"]

    await eventually(is_gone_everywhere)


async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_gets_the_replica_of_the_next_one(
    cluster: Cluster,
) -> None:
    """Its replica was dropped while it was away: it has the log of the earlier topic when it returns."""
    await cluster.server("a")
    await log_left_on_a_broker_that_is_away(cluster)
    await create(cluster, "t", 1, 2)
    await cluster.fleet("3")

    assert await cluster.alter("a", {("t", 0): [1, 3]}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): [1, 3]})


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_in_the_isr_of_the_next_one(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """It is back when the next topic is created, so that it counts as in sync before it has refused the replica."""
    server = await cluster.server("a")
    await log_left_on_a_broker_that_is_back(cluster)

    await create(cluster, "t", *replicas)
    await eventually(lambda: "has the log of an earlier topic for t-0: it is deleted" in server.log)

    # A replica joins the ISR by fetching: the new one is whole.
    assert await cluster.alter("a", {("t", 0): [2, 3]}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): [2, 3]})


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)], ids=["follows", "leads"])
async def test_sv_10_a_broker_that_kept_the_log_of_an_earlier_topic_has_its_place_although_the_next_one_moved_at_once(
    cluster: Cluster, replicas: tuple[int, int]
) -> None:
    """The topic znode has changed when the broker answers that its log is of another topic."""
    server = await cluster.server("a")
    broker = await log_left_on_a_broker_that_is_back(cluster)

    broker.freeze()
    await create(cluster, "t", *replicas)
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
    server = await cluster.server("a")
    broker = await log_left_on_a_broker_that_is_back(cluster)

    broker.freeze()
    await create(cluster, "t", *replicas)
    await server.kill()
    broker.thaw()
    server = await cluster.server("a")
    await eventually(lambda: "broker.replicas_offline" in server.log)
    await eventually(lambda: "has the log of an earlier topic for t-0: it is deleted" in server.log)

    # A replica joins the ISR by fetching: the new one is whole.
    assert await cluster.alter("a", {("t", 0): [2, 3]}) == {("t", 0): 0}
    await cluster.rests_at({("t", 0): [2, 3]})


async def _has_a_log(cluster: Cluster, broker: int) -> bool:
    """A follower is told of a topic after its leader: the ISR names it before it has a log."""
    return (broker, ("t", 0)) in await cluster.held()


async def _is_back(cluster: Cluster) -> bool:
    return 3 in await cluster.live()


async def _is_away(cluster: Cluster) -> bool:
    return 3 not in await cluster.live()
