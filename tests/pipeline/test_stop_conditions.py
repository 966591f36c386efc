"""The conditions under which submit stops."""

from kafka_reassign_rpc.client import PartitionInfo, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, StopConditions, cluster_health


def topics(**isr: tuple[int, ...]) -> list[TopicInfo]:
    """Topics of one partition with three replicas each; the values are the ISRs."""
    return [TopicInfo(name, {0: PartitionInfo(1, (1, 2, 3), found)}, None) for name, found in isr.items()]


def test_dp_4_submit_stops_when_two_checks_in_a_row_find_the_cluster_worse_than_before_the_first_batch() -> None:
    first = cluster_health([1, 2, 3, 1000], topics(a=(1,), b=(1, 2, 3), c=(1, 2, 3)))
    assert first == ClusterHealth(frozenset({1, 2, 3, 1000}), frozenset({1, 2, 3}), frozenset({("a", 0)}))
    conditions = StopConditions(first)
    conditions.check(cluster_health([1, 2, 3], topics(a=(1,), b=(1,), c=(1,))), [TopicPartition("b", 0)])
    assert (conditions.suspected, conditions.reason_to_stop) == (True, None), "one check found c under-replicated"
    conditions.check(cluster_health([1, 2], topics(a=(1,), b=(1,), c=(1, 2, 3))), [TopicPartition("b", 0)])
    assert (conditions.suspected, conditions.reason_to_stop) == (True, None), (
        "one check missed broker 3; node 1000 holds no replicas"
    )
    conditions.check(cluster_health([1, 2], topics(a=(1,), b=(1,), c=(1, 2, 3))), [])
    assert conditions.reason_to_stop == "broker 3 lost"
    conditions.check(cluster_health([1], topics(a=(1,), b=(1,), c=(1, 2, 3))), [])
    assert conditions.reason_to_stop == "broker 3 lost; 1 partition that does not move is under-replicated: b-0"
    conditions.check(first, [])
    assert not conditions.suspected
    assert conditions.reason_to_stop is None


def test_dp_4_many_under_replicated_partitions_are_counted_and_the_first_are_named() -> None:
    names = {f"t{index}": (1,) for index in range(8)}
    conditions = StopConditions(cluster_health([1], []))
    for _ in range(2):
        conditions.check(cluster_health([1], topics(**names)), [])
    assert (
        conditions.reason_to_stop
        == "8 partitions that do not move are under-replicated: t0-0, t1-0, t2-0, t3-0, t4-0 and 3 more"
    )
