"""The cluster with the changes of the round on top: the input and the output of every decision. `replay` puts them into
the cluster once they are durable.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import AssignmentDecision, Event, RoundNote, reassigned
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import BatchChanges, QueueChanges
from kafka_reassign_rpc.core.state.requesters import BY_QUEUE, CONTROLLER, Requester
from kafka_reassign_rpc.core.state.throttle_leases import Lease
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted


class AssignmentWrite(Enum):
    """When the stored topic gets the new assignment: ZooKeeper's topic znode, which one write changes as a whole.

    NOW    before the partition's state is written: a start, a cancel, a change of target
    LATER  with the next write of that znode: a completion. The znode still lists adding and removing replicas, so any
           controller repeats the completion, until the removed replicas are confirmed deleted and `NOW` clears them
    """

    NOW = "now"
    LATER = "later"


class PartitionChange(NamedTuple):
    """The next value of one partition. The commit writes the difference.

    missing   how many replicas it lacks from now on (`core.topics.missing_replicas`). None keeps the number, or clears
              it if this change ends a client's move
    asked     the target that it gives the partition, with all that it was asked for with, also where the value is at
              rest: an order, fewer replicas, the original ones. None: nobody has asked for a target
    """

    topic: str
    partition: int
    value: Partition
    assignment: AssignmentWrite = AssignmentWrite.NOW
    missing: int | None = None
    asked: MoveTerms | None = None


def assignment_write(view: "RoundView", topic: str, before: Partition, after: Partition) -> AssignmentWrite:
    """For a change without a request (a completion, a confirmation of StopReplica).

    NOW once no replica is pending deletion, so that a next controller has nothing to repeat, but LATER if the znode
    does not fit into ZooKeeper: every next controller repeats the same.
    """
    if topic in view.too_large:
        return AssignmentWrite.LATER
    if after.pending_deletion or (before.replicas, before.adding, before.removing, before.pending_deletion) == (
        after.replicas,
        after.adding,
        after.removing,
        after.pending_deletion,
    ):
        return AssignmentWrite.LATER
    return AssignmentWrite.NOW


def _decides_replication_factor(before: Partition, after: Partition) -> bool:
    """Whether it ends a move to a target that a client has named."""
    if after.is_moving:
        return False
    if before.is_moving:
        return after.replicas == before.target and (before.move is None or before.move.terms.route != HEAL)
    return after.replicas != before.replicas


class TopicCreated(NamedTuple):
    name: str
    id: UUID
    partitions: dict[int, Partition]
    configs: dict[str, str]


class PartitionsAdded(NamedTuple):
    name: str
    partitions: dict[int, Partition]


class TopicDeletionStarted(NamedTuple):
    """`/admin/delete_topics/$topic` is written and the replicas are stopped; the znodes go once all have confirmed."""

    name: str


class TopicDeleted(NamedTuple):
    """Its znodes are gone: the deletion has ended, or an operator has deleted them."""

    name: str


class RequestEnded(NamedTuple):
    """A decided request znode, with the zkVersion that was read."""

    version: int
    has_children: bool = False


Change = PartitionChange | TopicCreated | PartitionsAdded | TopicDeletionStarted | TopicDeleted


class SettingTo(NamedTuple):
    """`value`: None deletes it. `by`: None unless it is a client."""

    value: str | None
    by: Requester | None


class RoundView:
    """Each decision of a round sees those before it. For partitions it reads like `Cluster`.

    partitions    the changes to commit: the latest of each partition, in the order of first mention
    leased        throttle leases of moves among these
    unthrottled   cancelled moves whose replicas lose the throttles that others have set: by topic and partition
    failed        broker failures to record, with their time, or to forget (None)
    log_dirs      failed log dirs of brokers to record, or to forget (None)
    heard         brokers that have answered for all of their replicas
    by            the requester of the next decision
    notes         the input of `core.events.decided_events`, in order
    requests      request znodes that are over at the end of the round, by name
    topic_ids     ids for topics that have none, by name
    too_large     topics for which the store has no room: only a request may write their assignments
    gone          brokers with lost replicas, if this round has counted them (see `SoftState`)
    leaving       by broker in controlled shutdown: the partitions that it has followed, whose replicas stop
    settings      those of all servers that change, where rounds decide about them (in front of KRaft)
    """

    queue_requester = BY_QUEUE
    """Who asks for what the queue itself starts."""
    may_be_written = True
    """Whether the store may have carried out a round that it has decided again: the answer was lost."""

    def __init__(self, cluster: Cluster, too_large: Collection[str] = ()) -> None:
        self.cluster = cluster
        self.too_large = too_large
        self.partitions: dict[TopicPartition, PartitionChange] = {}
        self._by_pair: Mapping[Any, PartitionChange] = self.partitions
        """By (topic, partition), which a name equals: to make a name of them takes longer than to look it up."""
        self.topics: dict[str, TopicCreated | PartitionsAdded | TopicDeletionStarted | TopicDeleted] = {}
        self._missing: dict[str, dict[int, int]] = {}
        self.batch = BatchChanges()
        self.leased: dict[TopicPartition, Lease] = {}
        self.asked_again: set[TopicPartition] = set()
        """Leases that stay as they are, and that were asked for once more."""
        self.unthrottled: dict[str, dict[int, tuple[int, ...]]] = {}
        self.queue = QueueChanges()
        self.failed: dict[int, int | None] = {}
        self.log_dirs: dict[int, FailedLogDirs | None] = {}
        self.heard: set[int] = set()
        self.by = CONTROLLER
        self.notes: list[RoundNote] = []
        self.requests: dict[str, RequestEnded] = {}
        self.topic_ids: dict[str, UUID] = {}
        self.gone: frozenset[int] | None = None
        self.leaving: dict[int, list[TopicPartition]] = {}
        self.settings: dict[str, SettingTo] = {}

    def set_now(self) -> dict[str, str]:
        """The settings of all servers as the round makes them; also those that only a later version knows."""
        values = {**self.cluster.settings, **{name: one.value for name, one in self.settings.items()}}
        return {name: value for name, value in values.items() if value is not None}

    def failures(self) -> dict[int, int]:
        found = self.cluster.failed | self.failed
        return {broker: since for broker, since in found.items() if since is not None}

    def forget_failure(self, broker: int) -> None:
        if broker in self.cluster.failed:
            self.failed[broker] = None
        else:  # noted in this round: there is no znode yet
            self.failed.pop(broker, None)

    def log_dir_failures(self) -> dict[int, FailedLogDirs]:
        found = self.cluster.failed_log_dirs | self.log_dirs
        return {broker: failure for broker, failure in found.items() if failure is not None}

    def forget_log_dirs(self, broker: int) -> None:
        if broker in self.cluster.failed_log_dirs:
            self.log_dirs[broker] = None
        else:
            self.log_dirs.pop(broker, None)

    def get(self, topic: str, partition: int) -> Partition | None:
        changed = self._by_pair.get((topic, partition))
        return self._committed(topic, partition) if changed is None else changed.value

    def _committed(self, topic: str, partition: int) -> Partition | None:
        if self.topics and isinstance(self.topics.get(topic), TopicDeletionStarted | TopicDeleted):
            return None
        return self.cluster.get(topic, partition)

    def missing(self, topic: str, partition: int) -> int:
        changed = self._missing.get(topic)
        if changed is not None and partition in changed:
            return changed[partition]
        known = self.cluster.topics.get(topic)
        return known.missing.get(partition, 0) if known is not None and known.missing else 0

    def all_missing(self, topic: Topic) -> dict[int, int]:
        return {index: count for index, count in (topic.missing | self._missing.get(topic.name, {})).items() if count}

    def next_partition_epoch(self, topic: str, partition: int) -> int:
        """The write expects the known version of the state znode, and adds one."""
        known = self.cluster.get(topic, partition)
        return -1 if known is None else known.partition_epoch + 1

    def topic(self, name: str) -> Topic | None:
        """None also if it is or will be in deletion."""
        if isinstance(self.topics.get(name), TopicDeletionStarted | TopicDeleted):
            return None
        topic = self.cluster.topics.get(name)
        return None if topic is None or topic.deleting else topic

    def add(self, change: Change) -> None:
        if isinstance(change, PartitionChange):
            name = TopicPartition(change.topic, change.partition)
            earlier = self.partitions.get(name)
            self._note(self._committed(*name) if earlier is None else earlier.value, change)
            if earlier is not None and earlier.assignment is AssignmentWrite.NOW:
                change = change._replace(assignment=AssignmentWrite.NOW)
            if change.missing is None and (missing := self.missing(*name)):
                before = self.get(*name)
                decided = before is None or _decides_replication_factor(before, change.value)
                change = change._replace(missing=0 if decided else missing)
            if change.missing is not None:
                self._missing.setdefault(change.topic, {})[change.partition] = change.missing
            self.partitions[name] = change
            lease = change.value.lease
            if lease is not None:
                self.leased[name] = lease
            elif earlier is not None:
                self.leased.pop(name, None)
        else:
            self._report_topic(change)
            self.topics[change.name] = change

    def stays(self, name: TopicPartition) -> KafkaError | None:  # noqa: ARG002
        """It has, or moves to, what was asked for already, as far as this server knows: here it knows for sure.
        Returns why that cannot be said."""
        return None

    def found_durable(self, change: TopicCreated | PartitionsAdded | TopicDeletionStarted) -> None:
        """A change whose commit was lost is durable after all: it gets its event, but no second write."""
        self._report_topic(change)

    def _report_topic(self, change: TopicCreated | PartitionsAdded | TopicDeletionStarted | TopicDeleted) -> None:
        match change:
            case TopicCreated():
                self.report(
                    Event(catalogue.TOPIC_CREATED, change.name, reason=counted(len(change.partitions), "partition"))
                )
            case PartitionsAdded():
                reason = counted(len(change.partitions), "more partition")
                self.report(Event(catalogue.TOPIC_PARTITIONS_ADDED, change.name, reason=reason))
            case TopicDeletionStarted():
                self.report(Event(catalogue.TOPIC_DELETED, change.name))

    def refusal(self, change: PartitionChange) -> KafkaError | None:
        """Why the cluster, which carries changes out in front of KRaft, would not carry this one out."""
        del change
        return None

    def unthrottle(self, topic: str, partition: int, replicas: tuple[int, ...]) -> None:
        """KIP-236: a cancelled move's replicas also lose the throttles that others have set."""
        self.unthrottled.setdefault(topic, {})[partition] = replicas

    def report(self, event: Event) -> None:
        """Logs an event once the round is durable. Without `who` it gets `by`."""
        self.notes.append(event if event.who is not None else event.asked_by(self.by))

    def _note(self, before: Partition | None, change: PartitionChange) -> None:
        if before is None or not reassigned(before, change.value):
            return
        if change.missing is not None and not (before.is_moving or change.value.is_moving):
            return  # a correction of what others have placed
        if before.move is not None or not before.is_moving:  # without a record: a failover repeats a completion
            sizes = self.cluster.soft.sizes
            size = sizes.get(TopicPartition(change.topic, change.partition)) if sizes else None
            self.notes.append(AssignmentDecision(change.topic, change.partition, before, change.value, self.by, size))
