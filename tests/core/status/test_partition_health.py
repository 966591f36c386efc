"""sv-7: the numbers of under-replicated and offline partitions, as Kafka counts them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller.duties import replica_watch
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.status.views import PartitionHealth, UnhealthyPartitions
from kafka_reassign_rpc.core.writers.topic_writes import begin_deletion, put_partition, remove_topic
from tests.core.build import TOPIC, broker, cluster, moving, not_moving
from tests.tables import for_each


def counted(health: PartitionHealth, of: Cluster) -> UnhealthyPartitions:
    for _ in health.update(of):
        pass
    return health.now


def test_sv_7_partitions_count_as_in_kafka_and_are_counted_again_when_they_change() -> None:
    health = PartitionHealth()
    here = cluster(not_moving(1, 2))
    topic = here.topics[TOPIC]
    assert counted(health, here) == (0, 0)
    put_partition(here, topic, 1, replace(not_moving(1, 2), isr=(1,)))
    assert counted(health, here) == (1, 0)
    put_partition(here, topic, 2, replace(not_moving(1, 2), leader=NO_LEADER, isr=(1,)))
    assert counted(health, here) == (2, 1)
    put_partition(here, topic, 3, replace(moving((1, 2), (3, 4)), isr=(1, 2)))
    assert counted(health, here) == (2, 1), "adding replicas are not wanted in the ISR yet"
    put_partition(here, topic, 3, replace(moving((1, 2), (3, 4)), isr=(1,)))
    assert counted(health, here) == (3, 1)
    put_partition(here, topic, 1, not_moving(1, 2))
    assert counted(health, here) == (2, 1)
    begin_deletion(here, TOPIC)
    assert counted(health, here) == (0, 0)
    remove_topic(here, TOPIC)
    assert counted(health, here) == (0, 0)


def test_fg_2_a_new_partition_is_not_offline_while_a_replica_lives_that_can_lead_it() -> None:
    """Kafka's NewPartition: the topic is there, and its first leader is about to be elected."""
    health = PartitionHealth()
    here = cluster(not_moving(1, 2))
    put_partition(here, here.topics[TOPIC], 1, Partition((1, 2)))
    assert counted(health, here) == (0, 0)
    here.brokers = {9: broker(9)}
    assert counted(health, here) == (0, 1), "it is looked at again, though the topic has not changed"


def test_kr_3_a_partition_that_has_had_a_leader_is_offline_without_one_though_an_eligible_replica_lives() -> None:
    """KIP-966: the ISR is empty. A stock controller reports the leader epoch, and no partition epoch."""
    health = PartitionHealth()
    here = cluster(not_moving(1, 2))
    put_partition(here, here.topics[TOPIC], 1, Partition((1, 2), leader_epoch=1))
    assert counted(health, here) == (1, 1)


@for_each("leader_epoch, partition_epoch", [(1, -1), (0, 0)])
def test_sv_7_a_partition_that_has_a_state_without_isr_and_leader_is_offline_from_its_first_version_on(
    leader_epoch: int, partition_epoch: int
) -> None:
    health = PartitionHealth()
    here = cluster(not_moving(1, 2))
    value = Partition((1, 2), leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    put_partition(here, here.topics[TOPIC], 1, value)
    assert counted(health, here) == (1, 1)


async def test_fg_2_what_is_offline_is_unknown_before_the_brokers_of_a_cluster_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replica_watch, "JOINING_S", 0.001)
    monkeypatch.setattr(replica_watch, "SOON_S", 0.001)
    here = cluster(replace(not_moving(1, 2), leader=NO_LEADER))
    brokers, here.brokers = here.brokers, {}
    health = PartitionHealth()
    loop: Any = SimpleNamespace(cluster=here)
    counting = asyncio.create_task(replica_watch.count_partitions(loop, health))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not health.counted
    here.brokers = brokers
    while health.now != (0, 1):
        await asyncio.sleep(0.001)
    put_partition(here, here.topics[TOPIC], 0, not_moving(1, 2))
    while health.now != (0, 0):
        await asyncio.sleep(0.001)
    counting.cancel()


async def test_fg_5_a_cluster_without_brokers_and_topics_has_nothing_offline() -> None:
    health = PartitionHealth()
    loop: Any = SimpleNamespace(cluster=Cluster())
    counting = asyncio.create_task(replica_watch.count_partitions(loop, health))
    async with asyncio.timeout(60):
        while not health.counted:
            await asyncio.sleep(0.001)
    assert health.now == (0, 0)
    counting.cancel()


def test_sv_7_a_large_topic_is_counted_in_steps_and_again_where_it_has_changed_meanwhile() -> None:
    health = PartitionHealth()
    here = cluster(*[not_moving(1, 2)] * 50)
    steps = health.update(here)
    for _ in range(40):
        next(steps)
    put_partition(here, here.topics[TOPIC], 0, replace(not_moving(1, 2), isr=(1,)))
    for _ in steps:
        pass
    assert health.now == (0, 0), "it was counted before"
    assert counted(health, here) == (1, 0)
