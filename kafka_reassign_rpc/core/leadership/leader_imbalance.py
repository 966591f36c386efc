"""KafkaController.checkAndTriggerAutoLeaderRebalance. A broker's imbalance is the share of the partitions preferring it
as leader that another broker leads.
"""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class LeaderImbalance:
    """Counts partitions, in slices of the caller."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._preferred: dict[int, int] = {}
        self._elsewhere: dict[int, list[TopicPartition]] = {}

    def count(self, names: Iterable[TopicPartition]) -> None:
        for name in names:
            partition = self._cluster.get(*name)
            if partition is None or not partition.replicas:
                continue
            preferred = partition.replicas[0]
            self._preferred[preferred] = self._preferred.get(preferred, 0) + 1
            if partition.leader != preferred:
                self._elsewhere.setdefault(preferred, []).append(name)

    def to_elect(self, percentage: int) -> Iterator[TopicPartition]:
        """Where the preferred leader is live, in the ISR, and has an imbalance above `percentage`."""
        for broker, names in self._elsewhere.items():
            if not self._cluster.is_live(broker) or 100 * len(names) <= percentage * self._preferred[broker]:
                continue
            for name in names:
                partition = self._cluster.get(*name)
                if partition is not None and broker in partition.isr and broker not in partition.offline:
                    yield name
