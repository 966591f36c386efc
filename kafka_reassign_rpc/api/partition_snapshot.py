"""A node's view of topics and partitions, as Metadata and DescribeTopicPartitions show it.

Values are taken from immutable `Partition`s, so that a big answer can be built in a thread from a snapshot
while the controller goes on (Kafka: ZkMetadataCache.getPartitionMetadata).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Partition, Topic

LEADER_NOT_AVAILABLE = 5
REPLICA_NOT_AVAILABLE = 9


class PartitionView(NamedTuple):
    """What a client is told about one partition: the fields of Metadata's newest version, in their order."""

    error: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]
    offline: Sequence[int]


def partition_view(index: int, partition: Partition, alive: Collection[int], *, hide_dead: bool) -> PartitionView:
    """The partition, to a client that can reach `alive`.

    hide_dead   Metadata version 0: replicas that cannot be reached are left out, with REPLICA_NOT_AVAILABLE
    """
    replicas: Sequence[int] = partition.replicas
    isr: Sequence[int] = partition.isr
    offline = [r for r in replicas if r not in alive]
    if hide_dead and (offline or any(r not in alive for r in isr)):
        replicas = [r for r in replicas if r in alive]
        isr = [r for r in isr if r in alive]
    if partition.leader not in alive:
        return PartitionView(LEADER_NOT_AVAILABLE, index, NO_LEADER, partition.leader_epoch, replicas, isr, offline)
    error = 0
    if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
        error = REPLICA_NOT_AVAILABLE
    return PartitionView(error, index, partition.leader, partition.leader_epoch, replicas, isr, offline)


def count_partitions(topics: Mapping[str, Topic], names: Collection[str] | None) -> int:
    """How many partitions an answer about these topics has."""
    if names is None:
        return sum(len(topic.partitions) for topic in topics.values())
    return sum(len(topics[name].partitions) for name in names if name in topics)


def snapshot(topic: Topic) -> Topic:
    """A copy whose partition table nobody changes any more."""
    return Topic(
        name=topic.name, id=topic.id, partitions=dict(topic.partitions), version=topic.version, deleting=topic.deleting
    )
