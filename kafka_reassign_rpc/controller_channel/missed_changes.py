"""What a broker has missed while it was away. The requests after a registration do not name what is gone, and a process
that was frozen, or cut off from ZooKeeper, still has its memory:

* it goes on as the leader of a dropped replica. Producers with old metadata write to it: with acks=1 to a log that
  nobody reads, with acks=all until their time is over;
* it goes on showing partitions of deleted topics, since UpdateMetadata only adds.

A restarted process keeps the log of the dropped replica on disk.

Kafka's controller leaves all three. Here the returning broker deletes and forgets what moves of this term have dropped
and what was deleted. What an earlier term has dropped is stopped and stays on disk (`unassigned_replicas`): ZooKeeper
may have been restored since. So does a log whose topic is not in ZooKeeper without a mark for deletion: what is put
back may need it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, PendingRequests, StopReplicaState
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

MOST = 100_000
"""How many dropped replicas, and partitions of deleted topics, are remembered. Further replicas are not; of the
topics, those that were deleted first are forgotten."""


class Dropped(NamedTuple):
    """`created` is `Topic.created`."""

    created: int
    topic_deleted: bool = False


class MissedChanges:
    """A broker is away from `left` until `returned`."""

    def __init__(self, cluster: Callable[[], Cluster]) -> None:
        self._cluster = cluster
        self._away: dict[int, PendingRequests] = {}
        """What these brokers had not confirmed when they left. They may not have done it."""
        self._dropped: dict[int, dict[TopicPartition, Dropped]] = {}
        """By broker: the partitions of which it has lost its replica."""
        self._deleted: dict[str, int] = {}
        """By name of a deleted topic: its number of partitions."""

    def left(self, broker: int, unconfirmed: PendingRequests) -> None:
        self._away[broker] = unconfirmed

    def replica_dropped(self, broker: int, name: TopicPartition, dropped: "Dropped") -> None:
        if sum(map(len, self._dropped.values())) < MOST:
            self._dropped.setdefault(broker, {})[name] = dropped

    def topic_deleted(self, topic: str, created: int, indexes: Collection[int]) -> None:
        for dropped in self._dropped.values():
            for index in indexes:
                name = TopicPartition(topic, index)
                if name in dropped and dropped[name].created == created:
                    dropped[name] = Dropped(created, topic_deleted=True)
        if self._away:
            self._deleted[topic] = max(self._deleted.pop(topic, 0), max(indexes, default=-1) + 1)
            while sum(self._deleted.values()) > MOST:
                del self._deleted[next(iter(self._deleted))]

    def returned(self, brokers: Mapping[int, PendingRequests]) -> Iterator[None]:
        for broker, pending in brokers.items():
            unconfirmed = self._away.pop(broker, None)
            dropped = self._dropped.pop(broker, {})
            if unconfirmed is not None:
                yield from self._forget(pending, [*self._deleted.items(), *unconfirmed.deleted().items()])
                for name, stop in unconfirmed.all_stops():
                    if stop.delete:
                        dropped[name] = Dropped(stop.created, topic_deleted=stop.leader_epoch == DELETED_EPOCH)
                    yield
            yield from self._stop_dropped(broker, pending, dropped)
        if not self._away:
            self._deleted = {}

    def _forget(self, pending: PendingRequests, deleted: Iterable[tuple[str, int]]) -> Iterator[None]:
        for topic, count in deleted:
            pending.partitions_deleted(topic, self._gone(topic, count))
            yield

    def _stop_dropped(
        self, broker: int, pending: PendingRequests, dropped: dict[TopicPartition, "Dropped"]
    ) -> Iterator[None]:
        while dropped:
            name, one = dropped.popitem()
            if self._may_be_needed(name, one):
                self.replica_dropped(broker, name, one)
            elif (stop := self._stop(broker, name, one.created)) is not None:
                pending.stop(*name, stop)
            yield

    def _may_be_needed(self, name: TopicPartition, dropped: "Dropped") -> bool:
        """The partition has no leader, or others have removed or replaced it or its topic in ZooKeeper. The log stays
        until a later return.
        """
        if dropped.topic_deleted:
            return False
        topic = self._cluster().topics.get(name.topic)
        value = None if topic is None or topic.created != dropped.created else topic.partitions.get(name.partition)
        return value is None or value.leader == NO_LEADER

    def _stop(self, broker: int, name: TopicPartition, created: int) -> StopReplicaState | None:
        """None if the broker has a replica there again or must not stop it. A topic in deletion deletes the log by
        itself. If another topic has the name now and the broker has a replica of it, the broker will report
        INCONSISTENT_TOPIC_ID.
        """
        cluster = self._cluster()
        deleted = StopReplicaState(DELETED_EPOCH, delete=True, created=created)
        if name.topic in cluster.unreadable:
            return None
        topic = cluster.topics.get(name.topic)
        if topic is None:
            return deleted
        value = topic.partitions.get(name.partition)
        if topic.deleting or name.partition in topic.unreadable or (value is not None and broker in value.replicas):
            return None
        return deleted._replace(leader_epoch=value.leader_epoch) if topic.created == created and value else deleted

    def _gone(self, topic: str, count: int) -> Collection[int]:
        cluster = self._cluster()
        if topic in cluster.unreadable:
            return ()
        known = cluster.topics.get(topic)
        return range(count) if known is None else set(range(count)).difference(known.partitions, known.unreadable)
