"""What was decided, by whom, as events: for the event log, for operators, for the counts that metrics show.

A decision about a partition's assignment is noted by `View.add`; whatever else somebody has to be told (an entry that
is refused, a throttle that is set) is said with `View.report`. Both become events here, once their round is durable:

    the partition before      after                                  event(s)
    at rest                   moving                                 move.started
    at rest                   at rest, other replicas or order       move.started, move.completed
    moving                    moving, another target                 move.retargeted
    moving                    at rest, with the target               move.completed
    moving                    at rest, with the original replicas    move.cancelled
    moving                    at rest, with others                   move.retargeted, move.completed

Of a move that has to wait in the queue first it is noted that it does (move.waiting) and, where somebody gives it up
or wants something else before it has started, that too (move.withdrawn).

A move that a stock controller has started, or the controller before this one, is known by its id alone: it has the
events of what happens to it from then on. What is read of the cluster (brokers, the guard) becomes events by
`ClusterNews`, however it came to be known.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.healing import lost_brokers
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment_algebra.assignment import original
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, MoveRecord, Partition, TopicPartition

CONTROLLER = "controller"
"""Who decides what nobody has asked for: that a move is over, for one."""

BY_REQUEST = "znode /admin/reassignment_requests/"
"""Who asks, with the name of the znode after it."""

REFUSALS = 100
"""Refused partitions of one request that have an event each; the others share one for each topic and error."""

SLICE = 200
"""Events between two `yield`s where many are made."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the event log, without when and where it was written.

    `event` is its name in `catalogue.EVENTS`, which says what fields it has; `catalogue.EVENT_FIELDS` explains them.
    """

    event: str
    topic: str | None = None
    partition: int | None = None
    id: int | None = None
    route: str | None = None
    who: str | None = None
    reason: str | None = None
    target: tuple[int, ...] | None = None
    original: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    bytes: int | None = None
    broker: int | None = None
    started: int | None = None
    count: int | None = None


class AssignmentDecision(NamedTuple):
    """A partition before and after a decision about its assignment, and who has asked for that."""

    topic: str
    partition: int
    before: Partition
    after: Partition
    who: str


RoundNote = AssignmentDecision | Event
"""What a round notes, in its order."""


def reassigned(before: Partition, after: Partition) -> bool:
    """Whether a new value is a decision about the assignment, and not about leader or ISR alone."""
    return before.replicas != after.replicas or before.adding != after.adding or before.removing != after.removing


def events_of(said: deque[RoundNote], moves: Mapping[TopicPartition, MoveRecord]) -> Iterator[Event]:
    """A durable round's events, in the order of its decisions. `moves`: those whose records it has written.

    Takes `said` apart as it goes: to let go of a hundred thousand decisions at once takes longer than to tell of some.
    """
    while said:
        one = said.popleft()
        if isinstance(one, Event):
            yield one
        else:
            yield from _of_move(one, moves)


def kept(said: Iterable[RoundNote], cluster: Cluster) -> Iterator[RoundNote]:
    """What was made durable of a round whose commit was lost: what stands in the cluster as it was read again since.

    The rest is decided again, and noted again then. An entry that was refused is not there any more to be refused.
    """
    decided: dict[TopicPartition, list[AssignmentDecision]] = {}
    for one in said:
        if isinstance(one, AssignmentDecision):
            decided.setdefault(TopicPartition(one.topic, one.partition), []).append(one)
        elif _stands(cluster, one):
            yield one
    for (topic, index), ones in decided.items():
        standing = cluster.get(topic, index)
        if standing is not None and _durable(ones[0].before, ones[-1].after, standing):
            for one in ones:
                move = one.after.move and standing.move
                yield one if move is None else one._replace(after=replace(one.after, move=move))


def _stands(cluster: Cluster, event: Event) -> bool:
    """Whether what was reported with a lost commit is not found again when its round is decided again."""
    match event.event:
        case catalogue.ENTRY_REFUSED:
            return not _looked_at_again(cluster, event)
        case catalogue.MOVE_WAITING:
            return _waits(cluster, event)
        case catalogue.MOVE_WITHDRAWN:
            return not _waits(cluster, event)
    return False


def _durable(first: Partition, last: Partition, standing: Partition) -> bool:
    """Whether what was to stand after `first` stands. A move's end goes into ZooKeeper with the end of its record."""
    if first.move is not None and last.move is None:
        return standing.move is None
    written = _written(last)
    return _written(standing) == written and (written != _written(first) or standing.leader_epoch >= last.leader_epoch)


def _written(partition: Partition) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """As the topic znode has it: pending_deletion replicas are read again as removing ones."""
    pending_deletion = partition.pending_deletion
    return (*partition.replicas, *pending_deletion), partition.adding, (*partition.removing, *pending_deletion)


def _looked_at_again(cluster: Cluster, refused: Event) -> bool:
    """Also where it is not about one entry of batch or queue: whoever found that says it again."""
    who, topic, partition = refused.who or "", refused.topic, refused.partition
    if who.startswith(BY_REQUEST):
        return who.removeprefix(BY_REQUEST) in cluster.requests
    if topic is None or partition is None or cluster.queue.place(topic, partition) is not None:
        return True
    return cluster.batch is not None and (topic, partition) in cluster.batch.entries


def _waits(cluster: Cluster, event: Event) -> bool:
    """Whether the move that an event is about stands in the queue."""
    if event.topic is None or event.partition is None:
        return False
    place = cluster.queue.place(event.topic, event.partition)
    return place is not None and (place.move.route, place.move.target) == (event.route, event.target)


def _of_move(one: AssignmentDecision, durable: Mapping[TopicPartition, MoveRecord]) -> Iterator[Event]:
    topic, partition, before, after, who = one
    move = after.move or before.move
    route, reason = (None, None) if move is None else (move.route, move.reason or None)
    if move is not None and move.id < 0:
        move = durable.get(TopicPartition(topic, partition))
    id_, started = (None, None) if move is None else (move.id, move.started)
    back, target = original(before), after.target
    for name in _what(before, after, back):
        yield Event(
            name,
            topic,
            partition,
            id_,
            route,
            CONTROLLER if name == catalogue.MOVE_COMPLETED else who,
            reason,
            before.target if name == catalogue.MOVE_CANCELLED else target,
            back,
            after.replicas,
            started=started,
        )


def _what(before: Partition, after: Partition, back: tuple[int, ...]) -> tuple[str, ...]:
    """What happens to a move whose original replicas are `back`."""
    if not before.is_moving:
        return (catalogue.MOVE_STARTED,) if after.is_moving else (catalogue.MOVE_STARTED, catalogue.MOVE_COMPLETED)
    if not after.is_moving and after.replicas == back:
        return (catalogue.MOVE_CANCELLED,)
    news = (catalogue.MOVE_RETARGETED,) if before.target != after.target else ()
    return news if after.is_moving else (*news, catalogue.MOVE_COMPLETED)


class Refusals:
    """The partitions of one request that are refused: `REFUSALS` of them one by one, the others by topic and error."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._events: list[Event] = []
        self._others: dict[tuple[str, str], list[KafkaError | int]] = {}

    def add(self, topic: str, partition: int, target: tuple[int, ...] | None, error: KafkaError) -> None:
        if len(self._events) < REFUSALS:
            reason = f"{error.name}: {error}"
            self._events.append(
                Event(catalogue.MOVE_REFUSED, topic, partition, who=self._who, reason=reason, target=target)
            )
        else:
            self._others.setdefault((topic, error.name), [error]).append(partition)

    def events(self) -> Iterator[Event]:
        yield from self._events
        for (topic, name), (error, *partitions) in self._others.items():
            reason = f"{len(partitions)} more partitions, the first of them {partitions[0]}: {name}: {error}"
            yield Event(catalogue.MOVE_REFUSED, topic, who=self._who, reason=reason, count=len(partitions))


class ClusterNews:
    """What has changed since the last look about what is read, not decided: which brokers live, whether the guard
    is closed, whether healing is paused."""

    def __init__(self) -> None:
        self._brokers: Mapping[int, Broker] | None = None
        self._closed: str | None = None
        self._paused = False

    def of(self, cluster: Cluster) -> Iterator[Event]:
        """The first look at a cluster finds no broker lost or back, but says what is closed or paused."""
        if cluster.brokers is not self._brokers:
            if self._brokers is not None:
                yield from _brokers(self._brokers, cluster.brokers)
            self._brokers = cluster.brokers
        closed = restrictions.reassignments_disabled(cluster)
        reason = None if closed is None else str(closed)
        if reason != self._closed:
            self._closed = reason
            yield (
                Event(catalogue.REASSIGNMENTS_ENABLED)
                if reason is None
                else Event(catalogue.REASSIGNMENTS_DISABLED, reason=reason)
            )
        if lost_brokers.is_paused(cluster) != self._paused:
            self._paused = not self._paused
            yield (
                Event(catalogue.HEAL_PAUSED, reason=f"{lost_brokers.PAUSED}=true")
                if self._paused
                else Event(catalogue.HEAL_RESUMED)
            )


def _brokers(before: Mapping[int, Broker], after: Mapping[int, Broker]) -> Iterator[Event]:
    for id_ in sorted(before.keys() | after.keys()):
        if id_ not in after:
            yield Event(catalogue.BROKER_LOST, broker=id_)
        elif id_ not in before:
            yield Event(catalogue.BROKER_RETURNED, broker=id_)
        elif before[id_].epoch != after[id_].epoch:
            yield Event(catalogue.BROKER_RETURNED, broker=id_, reason="it has registered anew")
