"""From what a commit changed to who has to be told of it."""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.controller.commands.command import SLICE
from kafka_reassign_rpc.controller.duties.topic_deletion import Deletions
from kafka_reassign_rpc.controller_channel import ChannelManager
from kafka_reassign_rpc.core.round.replay import ReplayedChanges
from kafka_reassign_rpc.core.state.cluster import Cluster, Topic


class Propagation:
    """Marks news for brokers; the channels send it. Long work comes in slices (iterators)."""

    def __init__(self, cluster: Cluster, channels: ChannelManager, deletions: Deletions) -> None:
        self._cluster = cluster
        self._channels = channels
        self._deletions = deletions

    def tell(self, applied: ReplayedChanges) -> Iterator[None]:
        """What a round has changed."""
        topics: dict[str, list[int]] = {}
        for count, (topic, index, before, after) in enumerate(applied.partitions, 1):
            topics.setdefault(topic, []).append(index)
            self._channels.partition_changed(topic, index, before, after)
            if count % SLICE == 0:
                yield
        for topic, indexes in topics.items():
            self._channels.metadata(topic, indexes)
            yield
        for topic in applied.deleting:
            self._delete(topic)
        self._channels.flush()

    def brokers_changed(self) -> Iterator[None]:
        """Connect to those that came, let go of those that went; those that came learn everything."""
        for broker in self._channels.set_brokers(self._cluster.brokers.values()):
            yield from self._everything_for(broker)
        yield from self.deletions([topic.name for topic in self._cluster.topics.values() if topic.deleting])
        self._channels.flush()

    def everything(self) -> Iterator[None]:
        """Every broker learns everything."""
        self._channels.set_brokers(self._cluster.brokers.values())
        for broker in list(self._cluster.brokers):
            yield from self._everything_for(broker)
        yield from self.deletions([topic.name for topic in self._cluster.topics.values() if topic.deleting])
        self._channels.flush()

    def topics(self, names: Sequence[str]) -> Iterator[None]:
        """All there is to know about these topics, to all who need it."""
        for name in names:
            topic = self._cluster.topics.get(name)
            if topic is None or topic.deleting:
                continue
            self._channels.metadata(name, topic.partitions.keys())
            for count, (index, value) in enumerate(list(topic.partitions.items()), 1):
                for replica in value.replicas:
                    self._channels.leader_and_isr(replica, name, index)
                if count % SLICE == 0:
                    yield
            yield
        self._channels.flush()

    def deletions(self, names: Sequence[str]) -> Iterator[None]:
        """Topics whose replicas have to be stopped."""
        for name in names:
            self._delete(name)
            yield
        self._channels.flush()

    def vanished(self, topics: Sequence[Topic]) -> Iterator[None]:
        """Topics that are gone, maybe by somebody's hands: whoever still knows them forgets them."""
        for topic in topics:
            if not topic.deleting:
                self._channels.topic_deleted(topic.name, topic.partitions.items())
            yield
        self._channels.flush()

    def _everything_for(self, broker: int) -> Iterator[None]:
        for topic in list(self._cluster.topics.values()):
            if topic.deleting:
                continue
            self._channels.metadata(topic.name, topic.partitions.keys(), to=broker)
            for count, (index, value) in enumerate(list(topic.partitions.items()), 1):
                if broker in value.replicas:
                    self._channels.leader_and_isr(broker, topic.name, index)
                elif broker in value.pending_deletion:
                    self._channels.retire(broker, topic.name, index, value)
                if count % SLICE == 0:
                    yield
            yield

    def _delete(self, name: str) -> None:
        topic = self._cluster.topics.get(name)
        if topic is not None:
            self._channels.topic_deleted(name, topic.partitions.items())
            self._deletions.check(name)
