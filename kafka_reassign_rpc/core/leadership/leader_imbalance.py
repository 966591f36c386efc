"""Leadership goes home: when too many partitions of a broker are led by others, their preferred leaders are elected.

A broker's imbalance is the share of the partitions whose first replica it is that somebody else leads.
Source: KafkaController.checkAndTriggerAutoLeaderRebalance.
"""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.core.state.cluster import Cluster, TopicPartition


class Imbalance:
    """Counts partitions in slices of the caller's; then `to_elect` says what is to be done."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._preferred: dict[int, int] = {}
        self._elsewhere: dict[int, list[TopicPartition]] = {}

    def count(self, names: Iterable[TopicPartition]) -> None:
        """Take these partitions into account."""
        for name in names:
            partition = self._cluster.get(*name)
            if partition is None or not partition.replicas:
                continue
            preferred = partition.replicas[0]
            self._preferred[preferred] = self._preferred.get(preferred, 0) + 1
            if partition.leader != preferred:
                self._elsewhere.setdefault(preferred, []).append(name)

    def to_elect(self, percentage: int) -> Iterator[TopicPartition]:
        """Partitions of live brokers whose imbalance is above `percentage`, as far as they can lead them now."""
        for broker, names in self._elsewhere.items():
            if not self._cluster.is_live(broker) or 100 * len(names) <= percentage * self._preferred[broker]:
                continue
            for name in names:
                partition = self._cluster.get(*name)
                if partition is not None and broker in partition.isr:
                    yield name
