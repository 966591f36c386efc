"""What a look at a KRaft cluster has seen. Moves keep their records: what the look means for them is decided
(`core.phases`)."""

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.phases.intent_view import with_unsent
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.replay import PartitionTransition
from kafka_reassign_rpc.core.writers.topic_writes import put_partition, put_topic, remove_topic


class PartitionSeen(NamedTuple):
    """`offline`: replicas on failed log dirs of brokers that the look shows."""

    assignment: SeenPartition
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    offline: tuple[int, ...] = ()

    def with_record(self, record: MoveRecord | None) -> Partition:
        replicas, adding, removing = self.assignment
        value = Partition(
            replicas,
            adding,
            removing,
            leader=self.leader,
            isr=self.isr,
            leader_epoch=self.leader_epoch,
            offline=self.offline,
            move=record,
        )
        return with_unsent(value, self.assignment)


class TopicSeen(NamedTuple):
    id: UUID | None
    partitions: Mapping[int, PartitionSeen]

    @property
    def number(self) -> int:
        """Distinguishes topics of one name, as `Topic.created`: a part of the id."""
        return -1 if self.id is None else self.id.int >> 65


class KRaftTold(msgspec.Struct, frozen=True):
    """What the cluster reports besides its metadata."""

    facts: KRaftFacts

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        cluster.soft.kraft = self.facts
        yield


class TakesNothing(msgspec.Struct, frozen=True):
    """Why the cluster takes no change at all from this server: until it does, no move starts. "": it does."""

    why: str

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        if bool(cluster.soft.takes_nothing) != bool(self.why):
            cluster.queue.waiting.more = bool(cluster.queue)
        cluster.soft.takes_nothing = self.why
        yield


class TopicsUnseen(msgspec.Struct, frozen=True):
    """Topics that a look has not shown whole: what waits for them stays."""

    names: frozenset[str]

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        cluster.soft.unseen = self.names
        yield


class LookNews(NamedTuple):
    """offline   whether replicas on live brokers have gone offline, or are back
    arrived   partitions with replicas on brokers that had none of them
    """

    offline: bool
    arrived: Sequence[PartitionTransition]


class TopicsSeen(msgspec.Struct, frozen=True):
    """gone      topics that looks agree to be gone
    outdated  partitions of which the cluster has taken a change since the look began: they stay as they are known
    unseen    topics of which this look says nothing: they stay as they are
    records   of moves of partitions that were not known
    unsure    brokers that this look does not show: of their log dirs the known stays
    """

    topics: Mapping[str, TopicSeen]
    gone: frozenset[str] = frozenset()
    outdated: frozenset[TopicPartition] = frozenset()
    unseen: frozenset[str] = frozenset()
    records: Mapping[TopicPartition, MoveRecord] = {}
    unsure: Collection[int] = ()

    def apply(self, cluster: Cluster) -> Generator[None, None, LookNews]:
        were_unseen = cluster.soft.unseen
        offline, arrived = False, list[PartitionTransition]()
        cluster.soft.unseen = (were_unseen - self.topics.keys() - self.gone) | self.unseen
        if were_unseen - cluster.soft.unseen:
            cluster.queue.waiting.more = True  # moves that had to wait for these
        for name in self.gone:
            remove_topic(cluster, name)
            yield
        for name, seen in self.topics.items():
            known = cluster.topics.get(name)
            if known is None or known.created != seen.number:
                arrived += yield from _put_anew(cluster, name, seen, self.records)
                continue
            arrived += yield from _put_more(cluster, known, seen, self.records)
            known = cluster.topics[name]
            for index, one in seen.partitions.items():
                before = known.partitions[index]
                value = _with_known(one.with_record(before.move), before, self.unsure)
                if TopicPartition(name, index) not in self.outdated and value != before:
                    put_partition(cluster, known, index, value)
                    offline |= value.offline != before.offline
                    if not set(before.replicas) >= set(value.replicas):
                        arrived.append(PartitionTransition(name, index, before, value))
                    if before.is_moving and not value.is_moving:
                        cluster.queue.waiting.more = True  # there may be room for others
                yield
            yield
        return LookNews(offline, arrived)


def _with_known(value: Partition, before: Partition, unsure: Collection[int]) -> Partition:
    kept = {one for one in before.offline if one in unsure} if before.offline and unsure else ()
    if not kept:
        return value
    return replace(value, offline=tuple([one for one in value.replicas if one in kept or one in value.offline]))


def _put_anew(
    cluster: Cluster, name: str, seen: TopicSeen, records: Mapping[TopicPartition, MoveRecord]
) -> Generator[None, None, list[PartitionTransition]]:
    """Yields after each partition. What was known of another topic of the name goes."""
    partitions = {}
    for index, one in seen.partitions.items():
        partitions[index] = one.with_record(records.get(TopicPartition(name, index)))
        yield
    if name in cluster.topics:
        remove_topic(cluster, name)
    put_topic(cluster, name, seen.id, partitions, version=0, created=seen.number)
    return [PartitionTransition(name, index, None, one) for index, one in partitions.items()]


def _put_more(
    cluster: Cluster, known: Topic, seen: TopicSeen, records: Mapping[TopicPartition, MoveRecord]
) -> Generator[None, None, list[PartitionTransition]]:
    """Those by which it has grown; yields after each. A topic has never fewer partitions than before: a broker that
    shows fewer has not heard of the others yet.
    """
    more = {}
    for index in [one for one in seen.partitions if one not in known.partitions]:
        more[index] = seen.partitions[index].with_record(records.get(TopicPartition(known.name, index)))
        yield
    if more:  # as another topic: tasks may be halfway through its partitions
        put_topic(cluster, known.name, known.id, known.partitions | more, version=0, created=known.created)
    return [PartitionTransition(known.name, index, None, one) for index, one in more.items()]
