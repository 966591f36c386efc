"""Propagates committed changes to brokers: LeaderAndIsr, StopReplica and UpdateMetadata for those concerned."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from kafka_reassign_rpc.controller.commands.command import SLICE
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller_channel import ChannelManager
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Partition, Topic, TopicPartition
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.support.slices import SliceCounter, in_slices


class Propagation:
    """Marks at the channels what brokers have to learn; the channels send it. Long work yields after each slice."""

    def __init__(self, cluster: Cluster, channels: ChannelManager, deletions: TopicDeletions) -> None:
        self._cluster = cluster
        self._channels = channels
        self._deletions = deletions
        self._registered: Mapping[int, Broker] = {}

    def round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        """Propagate what a round has changed.

        Topics that are gone are forgotten first, as others may have their names now; then the brokers, since a follower
        asks who its leader is.
        """
        for gone in applied.deleted:
            yield from self._vanished(gone)
        if self._cluster.brokers != self._registered:
            yield from self._brokers_replayed()
        topics: dict[str, list[int]] = {}
        for (topic, index, before, after), pause in in_slices(applied.partitions, SLICE):
            topics.setdefault(topic, []).append(index)
            self._channels.partition_changed(topic, index, before, after)
            if pause:
                yield
        for broker, names in applied.leaving.items():
            for (topic, index), pause in in_slices(names, SLICE):
                value = self._cluster.get(topic, index)
                if value is not None and broker in value.replicas:
                    topics.setdefault(topic, []).append(index)  # the replica counts as offline from now on
                    self._channels.stop(broker, topic, index, StopReplicaState(value.leader_epoch, delete=False))
                if pause:
                    yield
        for topic, indexes in topics.items():
            self._channels.metadata(topic, indexes)
            yield
        for topic in applied.deleting:
            yield from self._delete(topic)
        self._channels.flush()

    def topics_vanished(self, gone: Sequence[Topic]) -> Iterator[None]:
        """Forget these topics, which a reload has found gone: others may have their names soon.

        Brokers that have registered meanwhile are connected to with the next durable round. One that has bounced would
        be told to lead on what it has lost (KafkaController.processBrokerChange: failure before startup).
        """
        for topic in gone:
            yield from self._vanished(topic)
        self._channels.flush()

    def everything(self) -> Iterator[None]:
        """Every broker learns the whole state of the cluster, which was read again."""
        self._deletions.read_again()
        self._channels.everything()
        yield from self._replicas_pending_deletion(self._cluster.brokers)
        self._channels.flush()

    def _brokers_replayed(self) -> Iterator[None]:
        """Connect to brokers that registered and disconnect from those that are gone.

        New ones learn everything. The others learn which brokers live, and which replicas are offline or online now.
        """
        before, registered = self._registered, self._cluster.brokers
        self._registered = registered
        new = self._channels.set_brokers(registered)
        changed = before.keys() ^ registered.keys()
        work = SliceCounter(SLICE)
        for topic in list(self._cluster.topics.values()) if changed else ():
            concerned = []
            for index, value in list(topic.partitions.items()):
                if not changed.isdisjoint(value.replicas):
                    concerned.append(index)
                if work.step():
                    yield
            if concerned and not topic.deleting:
                self._channels.metadata(topic.name, concerned)
        if new:
            yield from self._channels.returned(new)
            yield from self._replicas_pending_deletion(new)
        else:  # a removal need not wait for replicas on brokers that are gone
            yield from self.topics_deleted([topic.name for topic in self._cluster.topics.values() if topic.deleting])

    def _replicas_pending_deletion(self, brokers: Collection[int]) -> Iterator[None]:
        """These brokers stop and delete their replicas that have left the assignment, and those of deleted topics."""
        work = SliceCounter(SLICE)
        for topic in list(self._cluster.topics.values()):
            if topic.deleting:
                yield from self._delete(topic.name)
                continue
            for index, value in self._partitions(topic.name):
                for broker in value.pending_deletion:
                    if broker in brokers:
                        self._channels.stop_and_delete(broker, topic.name, index, value)
                if work.step():
                    yield

    def topics_appeared(self, names: Sequence[str]) -> Iterator[None]:
        """Propagate all partitions of these topics to the brokers concerned. Followers that wait for their leader to
        learn of a new epoch go on waiting.
        """
        for name in names:
            topic = self._cluster.topics.get(name)
            if topic is None or topic.deleting:
                yield from self._delete(name)  # it may have grown
                continue
            self._channels.metadata(name, topic.partitions.keys())
            for (index, value), pause in in_slices(self._partitions(name), SLICE):
                for replica in value.replicas:
                    if not self._channels.waits_for_leader(replica, name, index):
                        self._channels.leader_and_isr(replica, name, index)
                if pause:
                    yield
            yield
        self._channels.flush()

    def states_changed(self, names: Sequence[TopicPartition]) -> Iterator[None]:
        """Every broker learns leaders and ISRs that brokers have written by themselves."""
        topics: dict[str, list[int]] = {}
        for name in names:
            topics.setdefault(name.topic, []).append(name.partition)
        for topic, indexes in topics.items():
            self._channels.metadata(topic, indexes)
            yield
        self._channels.flush()

    def log_dirs_failed(self, brokers: Collection[int]) -> Iterator[None]:
        """Ask these brokers which of their replicas are offline: they get LeaderAndIsr for each of them once more.

        Source: KafkaController.onBrokerLogDirFailure.
        """
        asked = [broker for broker in brokers if broker in self._cluster.brokers]
        for topic in list(self._cluster.topics.values()) if asked else ():
            for (index, value), pause in in_slices(self._partitions(topic.name), SLICE):
                for broker in asked:
                    if broker in value.replicas:
                        self._channels.leader_and_isr(broker, topic.name, index)
                if pause:
                    yield
            yield
        self._channels.flush()

    def topics_deleted(self, names: Sequence[str]) -> Iterator[None]:
        """Stop and delete the replicas of these topics, whose deletion has begun."""
        for name in names:
            yield from self._delete(name)
        self._channels.flush()

    def _partitions(self, name: str) -> Iterator[tuple[int, Partition]]:
        """The partitions of a topic, none of one in deletion: each as it is when its turn comes. Rounds may change them
        while the caller pauses, and what is marked for a former value would take the place of what they have marked.
        """
        topic = self._cluster.topics.get(name)
        for index in () if topic is None else list(topic.partitions):
            value = self._cluster.get(name, index)
            if value is not None:
                yield index, value

    def _is_present(self, topic: Topic) -> bool:
        """Whether the topic still has its name: after a pause, another one may have it."""
        known = self._cluster.topics.get(topic.name)
        return known is not None and known.created == topic.created

    def _delete(self, name: str) -> Iterator[None]:
        topic = self._cluster.topics.get(name)
        if topic is not None and self._deletions.is_waiting(topic):
            self._channels.topic_deleted(topic)
            logs = chain(self._deletions.remaining(topic), self._deletions.strays(topic))
            for (index, broker), pause in in_slices(logs, SLICE):
                self._channels.replica_deleted(broker, topic, index)
                if pause:
                    yield
                    if not self._is_present(topic):
                        return
            self._deletions.check(topic)
        yield

    def _vanished(self, topic: Topic) -> Iterator[None]:
        """The znodes of a topic are gone. Where that is not the end of its deletion, brokers are told nothing.

        They go on with its replicas: nobody has said that these may go (KafkaController.processTopicChange). Told that
        the topic is deleted, they would also forget the offsets that groups have committed (KafkaApis,
        handleUpdateMetadataRequest), and create it again for a client that asks for it.
        """
        self._deletions.forget(topic)
        if not topic.deleting:
            self._channels.topic_vanished(topic.name)
        yield
