"""How many partitions lack replicas in the ISR, and how many have no leader: Kafka's UnderReplicatedPartitions and
OfflinePartitionsCount, over the whole cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition, Topic
from kafka_reassign_rpc.support.slices import SliceCounter

SLICE = 2_000
"""Topics or partitions between two `yield`s."""


class UnhealthyPartitions(NamedTuple):
    """Numbers of partitions. One that is offline may be under-replicated too."""

    under_replicated: int = 0
    offline: int = 0


HEALTHY = UnhealthyPartitions()


def is_under_replicated(partition: Partition) -> bool:
    """Kafka's Partition.isUnderReplicated: replicas that a move adds do not count as wanted yet."""
    return len(partition.isr) < len(partition.sources)


class PartitionHealth:
    """Counts unhealthy partitions. A topic is counted again only after one of its partitions has changed.

    now      as last counted
    counted  whether that was ever done
    """

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, UnhealthyPartitions]] = {}
        self.now = HEALTHY
        self.counted = False

    def update(self, cluster: Cluster) -> Iterator[None]:
        """Count, with a `yield` every `SLICE` topics and partitions. Then `now` is new. Topics in deletion are left
        out, as in Kafka.
        """
        slices = SliceCounter(SLICE)
        counted: dict[str, tuple[int, UnhealthyPartitions]] = {}
        under_replicated = offline = 0
        for topic in list(cluster.topics.values()):
            if slices.step():
                yield
            if topic.deleting:
                continue
            known = self._counted.get(topic.name)
            if known is None or known[0] != topic.revision:
                if slices.step(len(topic.partitions)):
                    yield
                known = topic.revision, _count(topic)
            counted[topic.name] = known
            under_replicated += known[1].under_replicated
            offline += known[1].offline
        self._counted = counted
        self.now = UnhealthyPartitions(under_replicated, offline)
        self.counted = True


def _count(topic: Topic) -> UnhealthyPartitions:
    under_replicated = offline = 0
    for partition in topic.partitions.values():
        under_replicated += is_under_replicated(partition)
        offline += partition.leader == NO_LEADER
    return UnhealthyPartitions(under_replicated, offline)
