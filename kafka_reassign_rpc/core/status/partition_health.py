"""Kafka's UnderReplicatedPartitions and OfflinePartitionsCount, cluster-wide."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic


class UnhealthyPartitions(NamedTuple):
    """An offline partition may be under-replicated too."""

    under_replicated: int = 0
    offline: int = 0


HEALTHY = UnhealthyPartitions()


def is_under_replicated(partition: Partition) -> bool:
    """Kafka's Partition.isUnderReplicated: a replica that a move adds is not missed yet. Where the ISR is not known:
    False.
    """
    return partition.is_described and len(partition.isr) < len(partition.sources)


class PartitionHealth:
    """`now`: the last count. A topic is counted again only after a change of its partitions, or while one is new."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int | None, UnhealthyPartitions]] = {}
        """By topic: at which of its revisions; None: it is counted again in any case."""
        self.now = HEALTHY
        self.counted = False

    def update(self, cluster: Cluster) -> Iterator[None]:
        """Without topics in deletion, as in Kafka."""
        counted: dict[str, tuple[int | None, UnhealthyPartitions]] = {}
        under_replicated = offline = 0
        for topic in list(cluster.topics.values()):
            yield
            if topic.deleting:
                continue
            known, revision = self._counted.get(topic.name), topic.revision
            if known is None or known[0] != revision:
                found, are_new = yield from _count(topic, cluster)
                known = None if are_new else revision, found
            counted[topic.name] = known
            under_replicated += known[1].under_replicated
            offline += known[1].offline
        self._counted = counted
        self.now = UnhealthyPartitions(under_replicated, offline)
        self.counted = True


def _is_new(partition: Partition) -> bool:
    """Kafka's NewPartition: it has no state yet.

    Metadata has no partition epoch, but a raised leader epoch shows that there has been a leader: with eligible leader
    replicas (KIP-966) the ISR may be empty after it.
    """
    is_known = partition.partition_epoch >= 0 or partition.leader_epoch > 0
    return not is_known and not partition.isr and partition.leader == NO_LEADER


def _count(topic: Topic, cluster: Cluster) -> Generator[None, None, tuple[UnhealthyPartitions, bool]]:
    """Also returns whether there are new partitions. One with a live replica is about to get a leader: it is not
    offline. Yields before each partition.
    """
    under_replicated = offline = 0
    are_new = False
    for partition in list(topic.partitions.values()):
        yield
        if _is_new(partition):
            are_new = True
            offline += not any(broker in cluster.brokers for broker in partition.replicas)
            continue
        under_replicated += is_under_replicated(partition)
        offline += partition.leader == NO_LEADER
    return UnhealthyPartitions(under_replicated, offline), are_new
