"""Topics in deletion: their znodes go when all brokers have confirmed the StopReplica of their replicas.

`controller.commit.topic_removal` removes the znodes.
"""

from collections.abc import Callable, Iterable

from kafka_reassign_rpc.core.state.cluster import Cluster, TopicPartition
from kafka_reassign_rpc.core.topics.topic_changes import replicas_to_delete


class TopicDeletions:
    """Counts the confirmations of one term. A new controller begins anew: a second StopReplica does no harm.

    due     called with a topic when its last replica is deleted
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
        """Call `due`, once, if no replica is left of a topic in deletion."""
        found = self._cluster.topics.get(topic)
        if found is None or not found.deleting:
            return
        confirmed = self._confirmed.get(topic, set())
        if next(replicas_to_delete(self._cluster, topic, confirmed), None) is None:
            self._confirmed.pop(topic, None)
            self._due(topic)
