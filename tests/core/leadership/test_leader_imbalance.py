"""Which preferred leaders are elected automatically (Kafka's auto.leader.rebalance)."""

from kafka_reassign_rpc.core.leadership.elections import LeaderImbalance
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

HERE = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)


def cluster(*leaders: int, isr: tuple[int, ...] = (1, 2), live: tuple[int, ...] = (1, 2)) -> Cluster:
    """One topic with preferred leader 1 everywhere; `leaders`: the present leaders."""
    partitions = {i: Partition(replicas=(1, 2), leader=leader, isr=isr) for i, leader in enumerate(leaders)}
    return Cluster(
        brokers={i: Broker(i, i, HERE) for i in live}, topics={"t": Topic("t", None, partitions)}, topic_names={}
    )


def elected(found: Cluster, percentage: int = 10) -> list[int]:
    imbalance = LeaderImbalance(found)
    imbalance.count(TopicPartition("t", index) for index in found.topics["t"].partitions)
    return [name.partition for name in imbalance.to_elect(percentage)]


def test_g07_preferred_leaders_are_elected_where_others_lead_too_many_partitions() -> None:
    assert elected(cluster(1, 2, 1, 2)) == [1, 3]


def test_g07_a_share_up_to_the_percentage_elects_no_leader() -> None:
    assert elected(cluster(*[1] * 9, 2), 10) == []
    assert elected(cluster(*[1] * 8, 2, 2), 10) == [8, 9]


def test_g07_a_preferred_leader_out_of_sync_or_dead_is_not_elected() -> None:
    assert elected(cluster(2, 2, isr=(2,))) == []
    assert elected(cluster(2, 2, live=(2,))) == []
