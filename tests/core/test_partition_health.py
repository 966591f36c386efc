"""sv-7: the numbers of under-replicated and offline partitions, as Kafka counts them."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.partition_health import PartitionHealth, UnhealthyPartitions
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster
from kafka_reassign_rpc.core.writers.topic_writes import begin_deletion, put_partition, remove_topic
from tests.core.build import TOPIC, cluster, moving, not_moving


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
