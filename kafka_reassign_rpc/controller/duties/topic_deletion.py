"""Topics in deletion: their znodes go when all brokers have confirmed the StopReplica of their replicas.

    in deletion    the mark is durable; brokers are asked to delete the replicas, those that return as well, as soon as
                   it is known that they allow it (`delete.topic.enable`)
    in removal     all replicas are deleted; `controller.duties.topic_removals` removes the znodes, once
    gone           `topic_commands.TopicsVanished` takes the topic out of the cluster

`Topic.created` distinguishes a new topic from a former one of its name. Topics that one transaction has created share
that number.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.topic_deletion import possible_strays, replicas_to_delete, suspected_brokers

MOST_STRAYS = 50_000
"""Each is an entry of a request, and is remembered until its topic is gone."""

_Key = tuple[str, int]
"""A topic's name and its `Topic.created`, which identify it among all that ever have the name."""


def _key(topic: Topic) -> _Key:
    return topic.name, topic.created


class TopicDeletions:
    """A new controller starts from zero: a second StopReplica does no harm.

    due     called with a topic when its last replica is deleted: its removal begins
    own_id  this server's broker id: replicas that others have placed there are not waited for
    """

    def __init__(self, cluster: Cluster, due: Callable[[Topic], None], own_id: int = -1) -> None:
        self._cluster = cluster
        self._due = due
        self._own_id = own_id
        self._confirmed: dict[_Key, set[tuple[int, int]]] = {}
        self._in_removal: set[_Key] = set()
        self._strays: dict[_Key, int] = {}
        """How many logs may be left of topics whose deletion reaches them."""
        self._strays_total = 0

    def confirm(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """Those of topics that are not in deletion (any more) do not count."""
        topics: dict[str, Topic] = {}
        for name, stop in stops.items():
            topic = self._cluster.topics.get(name.topic)
            if topic is not None and topic.created == stop.created and self.is_waiting(topic):
                self._confirmed.setdefault(_key(topic), set()).add((name.partition, broker))
                topics[topic.name] = topic
        for topic in topics.values():
            self.check(topic)

    @property
    def is_enabled(self) -> bool:
        return self._cluster.soft.broker_settings.delete_topic_enable is True

    def is_waiting(self, topic: Topic) -> bool:
        return topic.deleting and self.is_enabled and _key(topic) not in self._in_removal

    def remaining(self, topic: Topic) -> Iterator[tuple[int, int]]:
        """(partition, broker) of the replicas."""
        if self.is_waiting(topic):
            confirmed = self._confirmed.get(_key(topic), set())
            yield from replicas_to_delete(self._cluster, topic.name, confirmed, self._own_id)

    def strays(self, topic: Topic, not_asked: Mapping[int, Collection[int]]) -> Iterator[tuple[int, int]]:
        """(partition, broker) of what may be left on other brokers, and is deleted with the topic: at most
        `MOST_STRAYS` of all topics in deletion; where a topic has more, only on brokers that have registered since it
        was created. (That of others stays, as always in Kafka.)"""
        key, none = _key(topic), dict[int, Collection[int]]()
        for asked_later in (not_asked, none) if self.is_waiting(topic) else ():
            suspected = suspected_brokers(self._cluster, topic, asked_later)
            known, count = self._strays.get(key, 0), sum(map(len, suspected.values()))
            if self._strays_total - known + count <= MOST_STRAYS:
                self._strays[key] = count
                self._strays_total += count - known
                yield from possible_strays(topic, self._confirmed.get(key, set()), suspected)
                return

    def check(self, topic: Topic) -> None:
        if self.is_waiting(topic) and next(self.remaining(topic), None) is None:
            self._in_removal.add(_key(topic))
            self._due(topic)

    def forget(self, topic: Topic) -> None:
        self._confirmed.pop(_key(topic), None)
        self._in_removal.discard(_key(topic))
        self._strays_total -= self._strays.pop(_key(topic), 0)

    def read_again(self) -> None:
        deleting = {_key(topic) for topic in self._cluster.topics.values() if topic.deleting}
        for gone in self._confirmed.keys() - deleting:
            del self._confirmed[gone]
        self._in_removal &= deleting
        for gone in self._strays.keys() - deleting:
            self._strays_total -= self._strays.pop(gone)
