"""What a cluster in KRaft mode reports of its brokers beside its metadata."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class KRaftFacts(msgspec.Struct, frozen=True):
    """Empty in ZooKeeper mode, in an older version, and without the right to ask.

    fenced    brokers that are registered and fenced (DescribeCluster from Kafka 4.0): they lead nothing and join no ISR
    quiet_s   seconds since each broker has fetched the metadata, by the clock of the controller (DescribeQuorum)
    eligible  the eligible leader replicas (KIP-966) of partitions that nobody leads
    """

    fenced: frozenset[int] = frozenset()
    quiet_s: Mapping[int, float] = {}
    eligible: Mapping[TopicPartition, tuple[int, ...]] = {}


NOTHING_TOLD = KRaftFacts()
