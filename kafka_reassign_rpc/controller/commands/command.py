"""A command decides on the round's view, and gets its answer once the round is durable. What it has read, or was
reported to it, it first hands over as facts (`core.writers.facts`). Its decision only reads the cluster."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar
from uuid import UUID, uuid4

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.failed_brokers import braked_caps
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.queue.in_flight_caps import MovesInFlight
from kafka_reassign_rpc.core.round.round_view import Change, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester, by_topic_znode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import Fact

Answer = TypeVar("Answer")
Changed = TypeVar("Changed")


def every_partition(cluster: Cluster) -> Iterator[TopicPartition]:
    """Decisions skip those that are gone by the time of a later slice."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield TopicPartition(topic.name, index)


def change_each(
    work: "Round", names: Iterable[TopicPartition], decide: Callable[[TopicPartition], Iterable[Change]]
) -> Iterator[None]:
    for name in names:
        for change in decide(name):
            work.view.add(change)
        yield


def give_topic_id(work: "Round", name: str) -> None:
    """KIP-516; Kafka: KafkaController.processTopicIds. A topic of a cluster before 2.8, or of a tool that writes to
    ZooKeeper, has none. One that had an id before its znode vanished keeps it: brokers would refuse their own logs
    under another one."""
    topic, given = work.view.topic(name), work.view.topic_ids
    if topic is not None and topic.id is None and name not in work.refused and name not in given:
        former = work.view.cluster.soft.former.id_of(name)
        if former is not None and (former in work.view.cluster.topic_names or former in work.ids_given_back):
            former = None  # another topic has it
        elif former is not None:
            work.ids_given_back.add(former)
        given[name] = former or uuid4()


def vanished(topic: str, count: int) -> Event:
    reason = "no mark of deletion: its logs stay on the brokers. Put the znodes back, or let them be"
    return Event(catalogue.TOPIC_VANISHED, topic, who=by_topic_znode(topic).who, reason=reason, count=count)


class Round:
    """The queued commands of one turn share its view. `refused`: topics for whose changes of this round the
    store has no room, with the reason: a command that changes their assignment answers with it instead."""

    def __init__(self, view: RoundView, refused: dict[str, KafkaError]) -> None:
        self.view = view
        self.refused = refused
        self.ids_given_back = set[UUID]()
        self._in_flight: MovesInFlight | None = None

    @property
    def in_flight(self) -> MovesInFlight:
        """Call `count_moves_in_flight` first."""
        assert self._in_flight is not None
        return self._in_flight

    def count_moves_in_flight(self) -> Iterator[None]:
        """Once in each round. The caps are always read: a command of this round may have read other configs, or that
        brokers are gone."""
        cluster, gone = self.view.cluster, self.view.gone
        caps = braked_caps(cluster, cluster.soft.gone if gone is None else gone)
        if self._in_flight is not None:
            self._in_flight.caps = caps
            return
        in_flight = MovesInFlight(cluster, caps)
        yield from in_flight.count(self.view)
        self._in_flight = in_flight

    def starts(self, name: TopicPartition, before: Partition, after: Partition) -> bool:
        """Whether the caps on moves in flight allow this change now. If so, counts it."""
        if self.in_flight.waits_for(name, before, after) is not None:
            return False
        self.in_flight.replace(name, before, after)
        return True

    def has_to_wait(self, name: TopicPartition, before: Partition, after: Partition) -> bool:
        """In the queue: other moves wait already, or the caps do not allow it."""
        if self.in_flight.unlimited or not after.adding:
            return False
        return queue_admission.is_room_claimed(self.view) or not self.starts(name, before, after)

    def start_queued_moves(self) -> Iterator[None]:
        asked_by, self.view.by = self.view.by, self.view.queue_requester
        yield from self.count_moves_in_flight()
        yield from queue_admission.start_waiting_moves(self.view, self.in_flight, self.refused)
        self.view.by = asked_by


class Command(Generic[Answer]):
    """After a lost commit `decide` runs again on the state as read again. `learn` does not: what was read again is
    newer than its facts, and what was reported outlives a reload. `by` is who asked for the command."""

    by: Requester = CONTROLLER

    def __init__(self) -> None:
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer: Answer

    def learn(self, _cluster: Cluster) -> Iterator[None]:
        """The loop calls it once, before any command of the round decides."""
        return iter(())

    def decide(self, work: Round) -> Iterator[None]:
        """Adds changes to `work.view`, yielding after each partition; then calls `answer`."""
        raise NotImplementedError

    def answer(self, answer: Answer) -> None:
        """The caller gets it once all changes of this round are durable."""
        self._answer = answer

    def before_answer(self) -> Iterator[None]:
        """What takes many steps, once the round is durable: the next round waits for it."""
        return iter(())

    def durable(self) -> None:
        if not self.future.done():
            self.future.set_result(self._answer)

    def failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # marks it as retrieved: without a waiting caller asyncio would warn


class OthersChanged(Command[None], Generic[Changed]):
    """What was read of others' changes. `notify` is called once the decisions are durable, if anything has changed."""

    _changed: Changed

    def __init__(self, found: Fact[Changed], notify: Callable[[Changed], None]) -> None:
        super().__init__()
        self._found, self._notify = found, notify

    def learn(self, cluster: Cluster) -> Iterator[None]:
        self._changed = yield from self._found.apply(cluster)

    def durable(self) -> None:
        if self._changed:
            self._notify(self._changed)
        super().durable()
