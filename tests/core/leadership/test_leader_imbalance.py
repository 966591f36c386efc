"""Which preferred leaders are elected when leadership has wandered off (Kafka's auto.leader.rebalance)."""

from kafka_reassign_rpc.core.leadership.leader_imbalance import Imbalance
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Endpoint, Partition, Topic, TopicPartition

HERE = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)


def cluster(*leaders: int, isr: tuple[int, ...] = (1, 2), live: tuple[int, ...] = (1, 2)) -> Cluster:
    """One topic whose partitions are preferred on 1 and led as given."""
    partitions = {i: Partition(replicas=(1, 2), leader=leader, isr=isr) for i, leader in enumerate(leaders)}
    return Cluster(
        brokers={i: Broker(i, i, HERE) for i in live}, topics={"t": Topic("t", None, partitions)}, topic_names={}
    )


def elected(found: Cluster, percentage: int = 10) -> list[int]:
    imbalance = Imbalance(found)
    imbalance.count(TopicPartition("t", index) for index in found.topics["t"].partitions)
    return [name.partition for name in imbalance.to_elect(percentage)]


def test_g07_partitions_that_others_lead_go_back_to_their_preferred_leader() -> None:
    assert elected(cluster(1, 2, 1, 2)) == [1, 3]


def test_g07_a_share_up_to_the_percentage_is_left_alone() -> None:
    assert elected(cluster(*[1] * 9, 2), 10) == []
    assert elected(cluster(*[1] * 8, 2, 2), 10) == [8, 9]


def test_g07_a_preferred_leader_that_is_not_in_sync_or_not_there_is_not_elected() -> None:
    assert elected(cluster(2, 2, isr=(2,))) == []
    assert elected(cluster(2, 2, live=(2,))) == []
