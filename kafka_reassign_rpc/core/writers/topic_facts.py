"""Facts about topics."""

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.failover import reassigned_by_others
from kafka_reassign_rpc.core.reassignment_algebra import NO_STATE, LoadedState, with_known_completion
from kafka_reassign_rpc.core.round.changed_by_others import changed_by_others, has_lost_id, is_believable, is_put_back
from kafka_reassign_rpc.core.state.cluster import Cluster, readable_again
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.core.topics.topic_deletion import DeletionMark, Meaning, meaning
from kafka_reassign_rpc.core.writers.facts import ConfigsFound
from kafka_reassign_rpc.core.writers.topic_writes import begin_deletion, leave_alone, put_state, put_topic


class StatesFound(msgspec.Struct, frozen=True):
    """States that brokers have written themselves. Those of another topic of the same name, or of a recreated
    partition, are for readers of topics. An impossible one is left to the next write, which finds another version and
    has all read again.
    """

    states: Mapping[TopicPartition, LoadedState]

    def apply(self, cluster: Cluster) -> Generator[None, None, list[TopicPartition]]:
        """Returns the partitions whose state is newer than the known one."""
        newer = []
        for name, state in self.states.items():
            known = cluster.get(*name)
            if known is not None and _is_newer_state(known, state):
                put_state(cluster, name, state)
                newer.append(name)
            yield
        return newer


def _is_newer_state(known: Partition, read: LoadedState) -> bool:
    is_same = known.partition_epoch < 0 or known.created == read.created
    return is_same and known.partition_epoch < read.version and is_believable(known, replace(known, isr=read.isr))


class UnreadableReadAgain(msgspec.Struct, frozen=True):
    """States of partitions that could not be read before (None: there is no znode any more), and those that still
    cannot, with path and reason.
    """

    states: Mapping[TopicPartition, LoadedState | None] = {}
    unreadable: Mapping[TopicPartition, str] = {}

    def apply(self, cluster: Cluster) -> Generator[None, None, list[TopicPartition]]:
        """Returns the partitions that can be read now. Where this term has never known the state, brokers may know a
        newer one."""
        repaired = []
        former = cluster.soft.former
        for name, state in self.states.items():
            topic = cluster.topics.get(name.topic)
            if topic is not None and topic.unreadable.pop(name.partition, None) is not None:
                put_state(cluster, name, state or NO_STATE)
                former.repaired(topic, name.partition)
                repaired.append(name)
            yield
        for name, reason in self.unreadable.items():
            topic = cluster.topics.get(name.topic)
            if topic is not None and name.partition in topic.unreadable:
                topic.unreadable[name.partition] = reason
            yield
        return repaired


class TopicsChanged(NamedTuple):
    """Newer topics; their partitions that others have changed; those with other replicas or another leader."""

    topics: list[str]
    partitions: set[TopicPartition]
    reassigned: set[TopicPartition]

    def __bool__(self) -> bool:
        return bool(self.topics)


class TopicsFound(msgspec.Struct, frozen=True):
    """An older topic of the same name is ignored, and one is left alone whose id another topic had first.

    unreadable  topics with unreadable znodes, and why. The earlier state holds until the controller must write it
    configs     of `found`. Only those of new topics count: every change is announced, but a first config is not
                (AdminZkClient.createTopicWithAssignment)
    """

    found: Mapping[str, Topic]
    unreadable: Mapping[str, str]
    configs: Mapping[str, Mapping[str, str]]

    def apply(self, cluster: Cluster) -> Generator[None, None, TopicsChanged]:
        changed = TopicsChanged([], set(), set())
        newer = {name: topic for name, topic in self.found.items() if _is_newer(cluster, topic)}
        twins = yield from duplicate_topic_ids.among(newer, cluster)
        for name, topic in newer.items():
            if name not in twins:
                yield from self._put(cluster, topic, changed)
                changed.topics.append(name)
            yield
        for name, twin in twins.items():
            if name in newer:
                leave_alone(cluster, name, twin.reason, twin)
        for name, reason in self.unreadable.items():
            leave_alone(cluster, name, reason)
        return changed

    def _put(self, cluster: Cluster, topic: Topic, changed: TopicsChanged) -> Generator[None, None, None]:
        known = cluster.topics.get(topic.name)
        if known is None:
            yield from ConfigsFound(TOPICS, {topic.name: self.configs.get(topic.name, {})}).apply(cluster)
        before = {} if known is None else known.partitions
        partitions = {index: _newer(before.get(index), value) for index, value in topic.partitions.items()}
        former = cluster.soft.former
        if known is not None and not known.deleting:
            taken = changed_by_others(known, replace(topic, partitions=partitions))
            if taken or has_lost_id(known, topic):
                former.keep(known, taken)
        with_states = [index for index, value in partitions.items() if value.partition_epoch >= 0]
        # One that was left alone was there all the time: its states count as those that a new controller finds.
        was_there = known is None and topic.name in cluster.unreadable
        former.appeared(
            topic,
            [one for one in with_states if one not in before and (not was_there or is_put_back(partitions[one]))],
        )
        repaired = () if known is None else readable_again(known, topic)
        for index, value in partitions.items():
            name = TopicPartition(topic.name, index)
            if before.get(index) != value:
                changed.partitions.add(name)
            appeared = known is None and value.partition_epoch >= 0
            if appeared or index in repaired or reassigned_by_others(before.get(index), value):
                changed.reassigned.add(name)
        fresh = put_topic(
            cluster,
            topic.name,
            topic.id,
            partitions,
            version=topic.version,
            extra=topic.extra,
            missing=topic.missing,
            unreadable=topic.unreadable,
            created=topic.created,
            # One that is put back with its states may have had another id before.
            id_since=LAST_ZXID if known is None and with_states else topic.id_since,
            deleting=known is not None and known.deleting,
            stateless_since=topic.stateless_since,
        )
        if known is not None:
            former.read_again(known, fresh)


def _is_newer(cluster: Cluster, topic: Topic) -> bool:
    known = cluster.topics.get(topic.name)
    return known is None or (known.created == topic.created and known.version < topic.version)


def _newer(ours: Partition | None, read: Partition) -> Partition:
    """As read, with what we know besides: offline replicas, a complete move, a later state of ours."""
    if ours is None:
        return read
    if ours.offline:
        read = replace(read, offline=ours.offline)
    if ours.partition_epoch > read.partition_epoch:
        read = replace(
            read,
            leader=ours.leader,
            isr=ours.isr,
            leader_epoch=ours.leader_epoch,
            partition_epoch=ours.partition_epoch,
            controller_epoch=ours.controller_epoch,
            leader_recovery_state=ours.leader_recovery_state,
        )
    return with_known_completion(ours, read)


class UnreadableGone(msgspec.Struct, frozen=True):
    """Topics with unreadable znodes that no longer exist: others may have their names."""

    names: Sequence[str]
    read_at: int

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        for name in self.names if self.read_at >= cluster.since else ():
            cluster.unreadable.pop(name, None)
            cluster.twins.pop(name, None)
            yield


class MarksChanged(NamedTuple):
    """Topics whose deletion begins, and those whose marks no longer wait."""

    begun: Sequence[str] = ()
    unmarked: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.begun)


class MarksFound(msgspec.Struct, frozen=True):
    """By name; those of topics in deletion may be left out."""

    marks: Mapping[str, DeletionMark]
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, MarksChanged]:
        if self.read_at < cluster.since:
            return MarksChanged()
        enabled = cluster.soft.broker_settings.delete_topic_enable
        begun, stale, waiting = [], [], []
        for name, mark in self.marks.items():
            topic = cluster.topics.get(name)
            means = meaning(topic, mark, enabled)
            if means is Meaning.STALE:
                stale.append(name)
            elif means is Meaning.WAITS:
                waiting.append(name)
            elif topic is not None and not topic.deleting:
                begin_deletion(cluster, name)
                begun.append(name)
            yield
        unmarked = sorted(cluster.waiting_marks.difference(waiting))
        cluster.stale_marks = frozenset(name for name in stale if name not in cluster.unreadable)
        cluster.waiting_marks = frozenset(waiting)
        return MarksChanged(begun, unmarked)


class StaleMarksRemoved(msgspec.Struct, frozen=True):
    names: frozenset[str]

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        cluster.stale_marks -= self.names
        yield
