"""Commands about whole topics: clients create, grow or delete them; in ZooKeeper they appear, change or vanish. After a
lost commit, what a client's command has done is answered as done."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from random import Random
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import CreatedTopic, NewPartitions, NewTopic
from kafka_reassign_rpc.controller.commands.command import (
    Command,
    OthersChanged,
    Round,
    change_each,
    give_topic_id,
    vanished,
)
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.kafka_errors import KafkaError, TopicAlreadyExists, UnknownTopicOrPartition
from kafka_reassign_rpc.core.quotas.mutation_quotas import UNLIMITED, MutationQuota
from kafka_reassign_rpc.core.round.round_view import (
    Change,
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.settings.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester, by_deletion_mark
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import topic_changes, topic_deletion
from kafka_reassign_rpc.core.writers.topic_facts import MarksChanged, MarksFound, TopicsChanged, TopicsFound

NO_ID = UUID(int=0)

MAX_NEW_PARTITIONS = 1_000_000
"""How many partitions one request may create."""


class CreateTopicsCommand(Command[Mapping[str, CreatedTopic | KafkaError]]):
    """`new_id` makes topic ids; `random` chooses the broker at which a placement begins; `quota` counts the partitions
    that are created."""

    def __init__(
        self,
        wanted: Sequence[NewTopic],
        *,
        validate_only: bool,
        new_id: Callable[[], UUID],
        random: Random,
        quota: MutationQuota = UNLIMITED,
        by: Requester = CONTROLLER,
    ) -> None:
        super().__init__()
        self.by = by
        self._quota = quota
        self._wanted = wanted
        self._validate_only = validate_only
        self._new_id = new_id
        self._random = random
        self._made: dict[str, TopicCreated] = {}
        """Each topic as the last decision created it."""

    def decide(self, work: Round) -> Iterator[None]:
        results: dict[str, CreatedTopic | KafkaError] = {}
        defaults = work.view.cluster.soft.broker_settings
        room = MAX_NEW_PARTITIONS
        for topic in self._wanted:
            found = (
                self._created_before(work, topic.name)
                or _taken(work.refused.get(topic.name))
                or (yield from self._create(work, topic, defaults, room))
            )
            results[topic.name] = found
            if isinstance(found, CreatedTopic):
                room -= found.num_partitions
            yield
        self.answer(results)

    def _created_before(self, work: Round, name: str) -> CreatedTopic | None:
        made = self._made.get(name)
        if made is None or not topic_changes.is_created(work.view.cluster, made):
            return None
        work.view.found_durable(made)
        return _created(made)

    def _create(
        self, work: Round, topic: NewTopic, defaults: BrokerSettings, room: int
    ) -> Generator[None, None, CreatedTopic | KafkaError]:
        before = self._made.get(topic.name)
        try:
            change = yield from topic_changes.create_topic(
                work.view,
                topic.name,
                topic_id=self._new_id() if before is None else before.id,
                start=self._random.getrandbits(31),
                shift=self._random.getrandbits(31),
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=topic.assignments,
                configs=topic.configs,
                default_partitions=defaults.num_partitions,
                default_replication_factor=defaults.default_replication_factor,
                most=room,
            )
            if topic.refusal is not None:
                raise topic.refusal
            if self._validate_only:
                return replace(_created(change), id=NO_ID)
            if before is None:
                self._quota.record(len(change.partitions))
        except KafkaError as error:
            return error.as_answer()
        work.view.add(change)
        self._made[topic.name] = change
        return _created(change)


def _taken(refused: KafkaError | None) -> KafkaError | None:
    """The name of a topic that commands do not find, but that is there."""
    return TopicAlreadyExists(str(refused)) if isinstance(refused, UnknownTopicOrPartition) else refused


def _created(change: TopicCreated) -> CreatedTopic:
    replication_factor = len(next(iter(change.partitions.values())).replicas)
    return CreatedTopic(change.id, len(change.partitions), replication_factor)


class DeleteTopicsCommand(Command[Mapping[str, KafkaError | None]]):
    """From its answer on clients do not see the topic. Its znodes go when all replicas are deleted."""

    def __init__(self, names: Sequence[str], quota: MutationQuota = UNLIMITED, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._names = names
        self._quota = quota
        self._begun: dict[str, UUID | None] = {}
        """The ids of the topics whose deletion the last decision began."""

    def decide(self, work: Round) -> Iterator[None]:
        results: dict[str, KafkaError | None] = {}
        for name in self._names:
            results[name] = self._delete(work, name)
            yield
        self.answer(results)

    def _delete(self, work: Round, name: str) -> KafkaError | None:
        if name in self._begun and topic_changes.is_in_deletion(work.view.cluster, self._begun[name], name):
            work.view.found_durable(TopicDeletionStarted(name))
            return None
        try:
            change = topic_deletion.delete_topic(work.view, name)
            topic = work.view.cluster.topics[name]
            if name not in self._begun:
                self._quota.record(len(topic.partitions))
        except KafkaError as error:
            return error.as_answer()
        self._begun[name] = topic.id
        work.view.add(change)
        return None


class CreatePartitionsCommand(Command[Mapping[str, KafkaError | None]]):
    def __init__(
        self,
        wanted: Sequence[NewPartitions],
        *,
        validate_only: bool,
        quota: MutationQuota = UNLIMITED,
        by: Requester = CONTROLLER,
    ) -> None:
        super().__init__()
        self.by = by
        self._quota = quota
        self._wanted = wanted
        self._validate_only = validate_only
        self._made: dict[str, tuple[UUID | None, PartitionsAdded]] = {}
        """The new partitions of the last decision, and the id of their topic."""

    def decide(self, work: Round) -> Iterator[None]:
        results: dict[str, KafkaError | None] = {}
        room = MAX_NEW_PARTITIONS
        for wanted in self._wanted:
            refused = None
            if not self._added_before(work, wanted.topic):
                refused = work.refused.get(wanted.topic)
                try:
                    if refused is None:
                        room -= yield from self._add(work, wanted, room)
                except KafkaError as error:
                    refused = error.as_answer()
            results[wanted.topic] = refused
            yield
        self.answer(results)

    def _added_before(self, work: Round, name: str) -> bool:
        if name not in self._made:
            return False
        topic_id, made = self._made[name]
        durable = topic_changes.has_added(work.view.cluster, topic_id, made)
        if durable:
            work.view.found_durable(made)
        return durable

    def _add(self, work: Round, wanted: NewPartitions, room: int) -> Generator[None, None, int]:
        before = work.view.topics.get(wanted.topic)
        change = yield from topic_changes.create_partitions(
            work.view, wanted.topic, wanted.count, wanted.assignments, most=room
        )
        count = len(change.partitions) - (len(before.partitions) if isinstance(before, PartitionsAdded) else 0)
        if not self._validate_only:
            if wanted.topic not in self._made:
                self._quota.record(count)
            work.view.add(change)
            self._made[wanted.topic] = work.view.cluster.topics[wanted.topic].id, change
        return count


class TopicDeletionsRead(OthersChanged[MarksChanged]):
    """The marks in `/admin/delete_topics`: the deletion of topics that others have marked begins now.

    A topic stays if its mark goes before the deletion has begun. Its partitions without a state get their first one.

    marked    called with the topics whose replicas have to stop now
    stale     called if there are marks: those in `Cluster.stale_marks` have to go
    """

    def __init__(
        self,
        found: MarksFound,
        own_id: int,
        *,
        marked: Callable[[Sequence[str]], None],
        stale: Callable[[], None],
    ) -> None:
        super().__init__(found, lambda changed: marked(changed.begun))
        self._marks = found.marks
        self._own_id = own_id
        self._stale = stale

    def decide(self, work: Round) -> Iterator[None]:
        for name in self._changed.begun:
            work.view.report(Event(catalogue.TOPIC_DELETED, name, who=by_deletion_mark(name).who))
        unmarked = _partitions(work.view.cluster, self._changed.unmarked)
        yield from change_each(work, unmarked, lambda name: self._first_state(work.view, name))
        self.answer(None)

    def _first_state(self, view: RoundView, name: TopicPartition) -> list[Change]:
        partition = view.get(*name)
        if partition is None or partition.partition_epoch >= 0:
            return []
        return fail_over(view, *name, own_id=self._own_id)

    def durable(self) -> None:
        if self._marks:
            self._stale()
        super().durable()


class TopicsRead(OthersChanged[TopicsChanged]):
    """Topics that others have created or changed.

    New partitions that come with a state existed before: their epochs rise, so that leaders repeat a request for an ISR
    that was refused in between. `appeared` is called with the names once the topics are usable.
    """

    def __init__(self, found: TopicsFound, own_id: int, *, appeared: Callable[[Sequence[str]], None]) -> None:
        super().__init__(found, lambda changed: appeared(changed.topics))
        self._own_id = own_id

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        for name in self._changed.topics:
            yield from change_each(
                work, _partitions(cluster, [name]), lambda partition: self._fail_over(work, partition)
            )
            give_topic_id(work, name)
        for name, count in cluster.soft.former.unreported(cluster.topics):
            work.view.report(vanished(name, count))
        self.answer(None)

    def _fail_over(self, work: Round, name: TopicPartition) -> list[Change]:
        return fail_over(
            work.view,
            *name,
            own_id=self._own_id,
            is_as_known=name not in self._changed.partitions,
            is_reassigned=name in self._changed.reassigned,
        )


def _partitions(cluster: Cluster, names: Iterable[str]) -> Iterator[TopicPartition]:
    for name in names:
        topic = cluster.topics.get(name)
        for index in topic.partitions if topic else ():
            yield TopicPartition(name, index)


class TopicsVanished(Command[None]):
    """`topics` has their `Topic.created` by name: by now another topic may have that name."""

    def __init__(self, topics: Mapping[str, int]) -> None:
        super().__init__()
        self._topics = topics

    def decide(self, work: Round) -> Iterator[None]:
        for name, created in self._topics.items():
            topic = work.view.cluster.topics.get(name)
            if topic is not None and topic.created == created and name not in work.view.topics:
                work.view.add(TopicDeleted(name))
                if not topic.deleting:
                    work.view.report(vanished(name, len(topic.partitions)))
            yield
        self.answer(None)
        yield
