"""Propagates committed changes to brokers: LeaderAndIsr, StopReplica and UpdateMetadata for those concerned."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller_channel import ChannelManager
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges


class Propagation:
    """Marks at the channels what brokers have to learn; the channels send it. Long work yields after each item."""

    def __init__(self, cluster: Cluster, channels: ChannelManager, deletions: TopicDeletions) -> None:
        self._cluster = cluster
        self._channels = channels
        self._deletions = deletions
        self._registered: Mapping[int, Broker] = {}

    def round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        """Topics that are gone come first, as others may have their names now; then brokers, since a follower asks who
        its leader is."""
        for gone in applied.deleted:
            yield from self._vanished(gone)
        if self._cluster.brokers != self._registered:
            yield from self._brokers_replayed()
        topics: dict[str, list[int]] = {}
        for topic, index, before, after in applied.partitions:
            topics.setdefault(topic, []).append(index)
            self._channels.partition_changed(topic, index, before, after)
            yield
        for broker, names in applied.leaving.items():
            for topic, index in names:
                value = self._cluster.get(topic, index)
                if value is not None and broker in value.replicas:
                    topics.setdefault(topic, []).append(index)  # the replica counts as offline from now on
                    self._channels.stop(broker, topic, index, StopReplicaState(value.leader_epoch, delete=False))
                yield
        for topic, indexes in topics.items():
            self._channels.metadata(topic, indexes)
            yield
        for topic in applied.deleting:
            yield from self._delete(topic)
        self._channels.flush()

    def topics_vanished(self, gone: Sequence[Topic]) -> Iterator[None]:
        """A reload has found them gone: others may have their names soon.

        Brokers that have registered meanwhile get a channel with the next durable round. One that has bounced would
        otherwise be made to lead what it has lost (KafkaController.processBrokerChange: failure before startup).
        """
        for topic in gone:
            yield from self._vanished(topic)
        self._channels.flush()

    def everything(self) -> Iterator[None]:
        self._deletions.read_again()
        self._channels.everything()
        yield from self._replicas_pending_deletion(self._cluster.brokers)
        self._channels.flush()

    def _brokers_replayed(self) -> Iterator[None]:
        """New brokers learn everything. The others learn which live, and which replicas are offline or online now."""
        before, registered = self._registered, self._cluster.brokers
        self._registered = registered
        new = self._channels.set_brokers(registered)
        changed = before.keys() ^ registered.keys()
        for topic in list(self._cluster.topics.values()) if changed else ():
            concerned = []
            for index, value in list(topic.partitions.items()):
                if not changed.isdisjoint(value.replicas):
                    concerned.append(index)
                yield
            if concerned and not topic.deleting:
                self._channels.metadata(topic.name, concerned)
        if new:
            yield from self._channels.returned(new)
            yield from self._replicas_pending_deletion(new)
        else:  # a removal need not wait for replicas on brokers that are gone
            yield from self.topics_deleted([topic.name for topic in self._cluster.topics.values() if topic.deleting])

    def _replicas_pending_deletion(self, brokers: Collection[int]) -> Iterator[None]:
        for topic in list(self._cluster.topics.values()):
            if topic.deleting:
                yield from self._delete(topic.name)
                continue
            for index, value in self._partitions(topic.name):
                for broker in value.pending_deletion:
                    if broker in brokers:
                        self._channels.stop_and_delete(broker, topic.name, index, value)
                yield

    def topics_appeared(self, names: Sequence[str]) -> Iterator[None]:
        """Followers that wait for their leader to learn of a new epoch go on waiting."""
        for name in names:
            topic = self._cluster.topics.get(name)
            if topic is None:
                continue
            yield from self._channels.review(name, list(topic.partitions))
            if topic.deleting:
                yield from self._delete(name)  # it may have grown
                continue
            self._channels.metadata(name, topic.partitions.keys())
            for index, value in self._partitions(name):
                for replica in value.replicas:
                    if not self._channels.waits_for_leader(replica, name, index):
                        self._channels.leader_and_isr(replica, name, index)
                yield
            yield
        self._channels.flush()

    def states_changed(self, names: Sequence[TopicPartition]) -> Iterator[None]:
        for topic, indexes in by_topic(names).items():
            self._channels.metadata(topic, indexes)
            yield
        self._channels.flush()

    def states_repaired(self, names: Sequence[TopicPartition]) -> Iterator[None]:
        for topic, indexes in by_topic(names).items():
            yield from self._channels.review(topic, indexes)
        self._channels.flush()

    def log_dirs_failed(self, brokers: Collection[int]) -> Iterator[None]:
        """Asks these brokers which of their replicas are offline, by another LeaderAndIsr for each of them
        (KafkaController.onBrokerLogDirFailure)."""
        asked = [broker for broker in brokers if broker in self._cluster.brokers]
        for topic in list(self._cluster.topics.values()) if asked else ():
            for index, value in self._partitions(topic.name):
                for broker in asked:
                    if broker in value.replicas:
                        self._channels.leader_and_isr(broker, topic.name, index)
                yield
            yield
        self._channels.flush()

    def topics_deleted(self, names: Sequence[str]) -> Iterator[None]:
        for name in names:
            yield from self._delete(name)
        self._channels.flush()

    def _partitions(self, name: str) -> Iterator[tuple[int, Partition]]:
        """Each as it is when its turn comes: a former value must not replace what rounds have marked since."""
        topic = self._cluster.topics.get(name)
        for index in () if topic is None else list(topic.partitions):
            value = self._cluster.get(name, index)
            if value is not None:
                yield index, value

    def _is_present(self, topic: Topic) -> bool:
        """After a pause, another topic may have the name."""
        known = self._cluster.topics.get(topic.name)
        return known is not None and known.created == topic.created

    def _delete(self, name: str) -> Iterator[None]:
        topic = self._cluster.topics.get(name)
        if topic is not None and self._deletions.is_waiting(topic):
            self._channels.topic_deleted(topic)
            strays = self._deletions.strays(topic, self._channels.not_asked(topic))
            for index, broker in chain(self._deletions.remaining(topic), strays):
                self._channels.replica_deleted(broker, topic, index)
                yield
                if not self._is_present(topic):
                    return
            self._deletions.check(topic)
        yield

    def _vanished(self, topic: Topic) -> Iterator[None]:
        """Unless that ends the topic's deletion, brokers learn nothing and go on with its replicas: there was no
        request that these may go (KafkaController.processTopicChange). As a deletion, it would also make them drop the
        offsets that groups have committed (KafkaApis, handleUpdateMetadataRequest), and create the topic again for a
        client that asks for it.
        """
        self._deletions.forget(topic)
        if not topic.deleting:
            self._channels.topic_vanished(topic.name)
        yield
