"""Topics on their way out: their znodes go when every replica has confirmed its StopReplica."""

from collections.abc import Callable, Iterable

from kafka_reassign_rpc.core.state.cluster import Cluster, TopicPartition
from kafka_reassign_rpc.core.topics.topic_changes import replicas_to_delete


class TopicDeletions:
    """Counts confirmations of one term. A new controller begins anew: stopping twice does no harm.

    due     called with a topic none of whose replicas is left
    """

    def __init__(self, cluster: Cluster, due: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._due = due
        self._confirmed: dict[str, set[tuple[int, int]]] = {}

    def confirm(self, broker: int, names: Iterable[TopicPartition]) -> None:
        """The broker has deleted its replicas of these partitions."""
        topics = set()
        for name in names:
            self._confirmed.setdefault(name.topic, set()).add((name.partition, broker))
            topics.add(name.topic)
        for topic in topics:
            self.check(topic)

    def check(self, topic: str) -> None:
        """Whether anything is left of a topic in deletion; if not it is due, once."""
        found = self._cluster.topics.get(topic)
        if found is None or not found.deleting:
            return
        confirmed = self._confirmed.get(topic, set())
        if next(replicas_to_delete(self._cluster, topic, confirmed), None) is None:
            self._confirmed.pop(topic, None)
            self._due(topic)
