"""What a decision asks for: the values that should stand after it, to be made durable and then replayed."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import CONTROLLER, AssignmentDecision, Event, RoundNote, reassigned
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition, Topic, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import QueueChanges
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchChanges


class AssignmentWrite(Enum):
    """When the topic znode has to say what the new value says.

    NOW    before the partition's state is written: a start, a cancel, a new target
    LATER  with the next write of that znode. A completion asks for this: what the znode still says
           (adding and removing replicas) makes any controller repeat the completion, until the removed
           replicas are confirmed gone and `NOW` clears them.
    """

    NOW = "now"
    LATER = "later"


class PartitionChange(NamedTuple):
    """One partition's next value. What has to be written follows from the value that stands."""

    topic: str
    partition: int
    value: Partition
    assignment: AssignmentWrite = AssignmentWrite.NOW


def assignment_write(before: Partition, after: Partition) -> AssignmentWrite:
    """When the topic znode has to be written for a change that nobody asked for (a completion, a confirmation).

    With the last pending_deletion replica gone there is nothing left that a next controller would have to repeat: NOW.
    """
    if after.pending_deletion or (before.replicas, before.adding, before.removing, before.pending_deletion) == (
        after.replicas,
        after.adding,
        after.removing,
        after.pending_deletion,
    ):
        return AssignmentWrite.LATER
    return AssignmentWrite.NOW


class TopicCreated(NamedTuple):
    """A new topic: its znode, its config znode, then its partitions' states."""

    name: str
    id: UUID
    partitions: dict[int, Partition]
    configs: dict[str, str]


class PartitionsAdded(NamedTuple):
    """New partitions of a topic that exists."""

    name: str
    partitions: dict[int, Partition]


class TopicDeletionStarted(NamedTuple):
    """`/admin/delete_topics/$topic` is written; replicas are stopped; the znodes go when they have confirmed."""

    name: str


class TopicDeleted(NamedTuple):
    """All replicas of a topic in deletion have confirmed (or their brokers are gone for good): remove its znodes."""

    name: str


class RequestEnded(NamedTuple):
    """A znode under `/admin/reassignment_requests` that has been looked at.

    version    its zkVersion when it was read
    occupied   somebody has put znodes under it: it is emptied, since it cannot be deleted
    """

    version: int
    occupied: bool = False


Change = PartitionChange | TopicCreated | PartitionsAdded | TopicDeletionStarted | TopicDeleted


_NO_CHANGES: Mapping[int, PartitionChange] = {}


class RoundView:
    """The cluster with the changes of the round on top: what the next decision of the same round is based on.

    Reads like `Cluster` for partitions; `changes` is what the round has to commit, one value per partition
    (the latest), in the order of first mention.

    unthrottled   moves that were cancelled and take along what throttles others have put on their replicas: by topic
                  and partition, these replicas
    by            who has asked for what is decided next
    said          what `core.events.decided_events` makes events of: every decision about an assignment, and what was
    reported
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.partitions: dict[TopicPartition, PartitionChange] = {}
        self._by_topic: dict[str, dict[int, PartitionChange]] = {}
        self.topics: dict[str, TopicCreated | PartitionsAdded | TopicDeletionStarted | TopicDeleted] = {}
        self.batch = BatchChanges()
        self.unthrottled: dict[str, dict[int, tuple[int, ...]]] = {}
        self.queue = QueueChanges()
        self.failed: dict[int, int | None] = {}
        """Brokers whose failure is noted, with its time, or forgotten (None)."""
        self.by = CONTROLLER
        self.said: list[RoundNote] = []
        self.requests: dict[str, RequestEnded] = {}
        """Requests that are over at the end of the round, by the name of their znode."""

    def get(self, topic: str, partition: int) -> Partition | None:
        changed = self.changes_of(topic).get(partition)
        return self._committed(topic, partition) if changed is None else changed.value

    def changes_of(self, topic: str) -> Mapping[int, PartitionChange]:
        """What the round changes in a topic, by partition."""
        return self._by_topic.get(topic, _NO_CHANGES)

    def _committed(self, topic: str, partition: int) -> Partition | None:
        if self.topics and isinstance(self.topics.get(topic), TopicDeletionStarted | TopicDeleted):
            return None
        return self.cluster.get(topic, partition)

    def topic(self, name: str) -> Topic | None:
        """The topic as committed, or None where there is none, or it is (about to be) deleted."""
        if isinstance(self.topics.get(name), TopicDeletionStarted | TopicDeleted):
            return None
        found = self.cluster.topics.get(name)
        return None if found is None or found.deleting else found

    def add(self, change: Change) -> None:
        if isinstance(change, PartitionChange):
            topic, partition = change.topic, change.partition
            changes = self._by_topic.setdefault(topic, {})
            earlier = changes.get(partition)
            self._note(self._committed(topic, partition) if earlier is None else earlier.value, change)
            if earlier is not None and earlier.assignment is AssignmentWrite.NOW:
                change = change._replace(assignment=AssignmentWrite.NOW)
            changes[partition] = self.partitions[TopicPartition(topic, partition)] = change
        else:
            if isinstance(change, TopicCreated):
                self.report(Event(catalogue.TOPIC_CREATED, change.name, reason=f"{len(change.partitions)} partitions"))
            elif isinstance(change, PartitionsAdded):
                self.report(
                    Event(
                        catalogue.TOPIC_PARTITIONS_ADDED,
                        change.name,
                        reason=f"{len(change.partitions)} more partitions",
                    )
                )
            elif isinstance(change, TopicDeletionStarted):
                self.report(Event(catalogue.TOPIC_DELETED, change.name))
            self.topics[change.name] = change

    def unthrottle(self, topic: str, partition: int, replicas: tuple[int, ...]) -> None:
        """The move of a partition with these replicas is cancelled: throttles that others have put on them go too."""
        self.unthrottled.setdefault(topic, {})[partition] = replicas

    def report(self, event: Event) -> None:
        """Somebody has to be told, once the round is durable. An event that names nobody is of who has asked."""
        self.said.append(event if event.who is not None else replace(event, who=self.by))

    def _note(self, before: Partition | None, change: PartitionChange) -> None:
        if before is None or not reassigned(before, change.value):
            return
        if before.move is not None or not before.is_moving:  # without a record its end is done once more (takeover)
            self.said.append(AssignmentDecision(change.topic, change.partition, before, change.value, self.by))
