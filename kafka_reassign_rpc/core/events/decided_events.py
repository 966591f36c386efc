"""Events of decisions, with their requester. `RoundView` collects the decisions; once the round is durable, `events_of`
makes events of those about a partition's assignment:

the partition before      after                                  event(s)
at rest                   moving                                 move.started
at rest                   at rest, other replicas or order       move.started, move.completed
moving                    moving, another target                 move.retargeted
moving                    at rest, with the target               move.completed
moving                    at rest, with the original replicas    move.cancelled
moving                    at rest, with others                   move.retargeted, move.completed

A move that waits in the queue gives move.waiting; if a client cancels or replaces it there, move.withdrawn. Of a move
that a stock or earlier controller has started only the id is known.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.requesters import Requester, requester_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.bounded_text import shortened, word
from kafka_reassign_rpc.support.counted import counted

BY_REQUEST = "znode /admin/reassignment_requests/"
"""`who` of a request znode begins with this."""

REFUSALS = 10
"""Refused partitions of one request that have an event each; the others share one."""

LONGEST_ERROR = 400
"""Characters of an error's text in the shared event."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the event log, without its time and place. `catalogue.EVENTS` has the fields of each event."""

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
    principal: str | None = None
    client_id: str | None = None
    address: str | None = None
    copied: int | None = None
    listener: str | None = None
    mechanism: str | None = None
    requested_by: str | None = None

    def asked_by(self, requester: Requester, former: Requester | None = None) -> "Event":
        """`former` had asked for the move that `requester` ends or changes."""
        before = None if former is None or former.is_same(requester) else former.who
        who, principal, client_id, address, listener, mechanism = requester
        return replace(  # by name: a mapping of the fields takes longer to make than all else of an event
            self,
            who=who,
            principal=principal,
            client_id=client_id,
            address=address,
            listener=listener,
            mechanism=mechanism,
            requested_by=before,
        )


def of_waiting_move(event: str, name: TopicPartition, terms: MoveTerms) -> Event:
    return Event(event, *name, route=terms.route, reason=terms.reason or None, target=terms.target)


class AssignmentDecision(NamedTuple):
    """`size`: one replica's bytes as last sampled, None if unknown."""

    topic: str
    partition: int
    before: Partition
    after: Partition
    by: Requester
    size: int | None = None


RoundNote = AssignmentDecision | Event


def reassigned(before: Partition, after: Partition) -> bool:
    """More than leader or ISR changes."""
    return before.replicas != after.replicas or before.adding != after.adding or before.removing != after.removing


def events_of(notes: deque[RoundNote], moves: Mapping[TopicPartition, MoveRecord]) -> Iterator[Event]:
    """The events of a durable round, in the order of its decisions. `moves`: the move records that it has written.

    Empties `notes` step by step: freeing a hundred thousand at once takes longer than a slice may.
    """
    while notes:
        note = notes.popleft()
        if isinstance(note, Event):
            yield note
        else:
            yield from _events_of_decision(note, moves)


def durable_notes(notes: Iterable[RoundNote], cluster: Cluster) -> Iterator[RoundNote]:
    """The notes that `cluster`, read after a lost commit, confirms.

    The controller decides the rest again and notes it then, except refusals of entries that are gone.
    """
    decided: dict[TopicPartition, list[AssignmentDecision]] = {}
    for note in notes:
        if isinstance(note, AssignmentDecision):
            decided.setdefault(TopicPartition(note.topic, note.partition), []).append(note)
        elif _is_still_true(cluster, note):
            yield note
    for (topic, index), decisions in decided.items():
        current = cluster.get(topic, index)
        if current is not None and _is_durable(decisions[0].before, decisions[-1].after, current):
            for decision in decisions:
                move = decision.after.move and current.move
                yield decision if move is None else decision._replace(after=replace(decision.after, move=move))


def _is_still_true(cluster: Cluster, event: Event) -> bool:
    match event.event:
        case catalogue.ENTRY_REFUSED:
            return not _is_decided_again(cluster, event)
        case catalogue.MOVE_WAITING:
            return _is_queued(cluster, event)
        case catalogue.MOVE_HELD:
            return _is_queued(cluster, event, held=True)
        case catalogue.MOVE_RELEASED:
            return _is_queued(cluster, event, held=False)
        case catalogue.MOVE_WITHDRAWN:
            return not _is_queued(cluster, event)
    return False


def _is_durable(first: Partition, last: Partition, current: Partition) -> bool:
    """Whether the store has the result. One transaction writes the end of a move and of its record."""
    if first.move is not None and last.move is None:
        return current.move is None
    written = _as_written(last)
    return _as_written(current) == written and (
        written != _as_written(first) or current.leader_epoch >= last.leader_epoch
    )


def _as_written(partition: Partition) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The assignment as it is stored, with pending deletions as removing replicas."""
    pending_deletion = partition.pending_deletion
    return (*partition.replicas, *pending_deletion), partition.adding, (*partition.removing, *pending_deletion)


def _is_decided_again(cluster: Cluster, refused: Event) -> bool:
    """Whether a repeated round reports this refusal again, as those of a whole batch or queue part."""
    who, topic, partition = refused.who or "", refused.topic, refused.partition
    if who.startswith(BY_REQUEST):
        return who.removeprefix(BY_REQUEST) in cluster.requests
    if topic is None or partition is None or cluster.queue.place(topic, partition) is not None:
        return True
    return cluster.batch is not None and (topic, partition) in cluster.batch.entries


def _is_queued(cluster: Cluster, event: Event, *, held: bool | None = None) -> bool:
    if event.topic is None or event.partition is None:
        return False
    place = cluster.queue.place(event.topic, event.partition)
    if place is None or (place.move.terms.route, place.move.terms.target) != (event.route, event.target):
        return False
    return held is None or held == (place.move.held is not None)


def _events_of_decision(decision: AssignmentDecision, durable: Mapping[TopicPartition, MoveRecord]) -> Iterator[Event]:
    topic, partition, before, after, by, size = decision
    move = after.move or before.move
    route, reason = (None, None) if move is None else (move.terms.route, move.terms.reason or None)
    if move is not None and move.id is None:
        move = durable.get(TopicPartition(topic, partition))
    id_, started = (None, None) if move is None else (move.id, move.started)
    back, target = before.original, after.target
    asked = None if before.move is None else before.move.terms.by
    for name in _event_names(before, after, back):
        event = Event(
            name,
            topic,
            partition,
            id_,
            route,
            reason=reason,
            target=before.target if name == catalogue.MOVE_CANCELLED else target,
            original=back,
            replicas=after.replicas,
            started=started,
            copied=len(before.adding) * size if size is not None and name == catalogue.MOVE_COMPLETED else None,
        )
        if name == catalogue.MOVE_COMPLETED and before.is_moving and before.target == target:
            known = None if before.move is None else requester_of(before.move.terms.route, asked)
            yield event if known is None else event.asked_by(known)
        else:
            # Another target that is reached at once is the requester's own.
            yield event.asked_by(by, None if name == catalogue.MOVE_COMPLETED else asked)


def _event_names(before: Partition, after: Partition, back: tuple[int, ...]) -> tuple[str, ...]:
    """In front of KRaft no decision ends a move: that is seen later."""
    goes_on = after.is_moving or (after.move is not None and after.move.phase is not None)
    if not before.is_moving:
        begun = catalogue.MOVE_STARTED if before.move is None else catalogue.MOVE_RETARGETED  # of another order
        return (begun,) if goes_on else (begun, catalogue.MOVE_COMPLETED)
    if not goes_on and after.replicas == back:
        return (catalogue.MOVE_CANCELLED,)
    news = (catalogue.MOVE_RETARGETED,) if before.target != after.target else ()
    return news if goes_on else (*news, catalogue.MOVE_COMPLETED)


class Refusals:
    """The refused partitions of one request."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._others: Counter[str] = Counter()
        self._first_other = ""

    def add(self, topic: str, partition: int, target: tuple[int, ...] | None, error: KafkaError) -> None:
        if len(self._events) < REFUSALS:
            reason = f"{error.name}: {error}"
            self._events.append(Event(catalogue.MOVE_REFUSED, topic, partition, reason=reason, target=target))
            return
        if not self._others:
            self._first_other = f"{word(topic, LONGEST_ERROR)}-{partition}: {shortened(str(error), LONGEST_ERROR)}"
        self._others[error.name] += 1

    def events(self) -> Iterator[Event]:
        """Without a requester, which the caller adds."""
        yield from self._events
        if self._others:
            errors = ", ".join(f"{count} {name}" for name, count in self._others.most_common())
            count = self._others.total()
            reason = f"{counted(count, 'more partition')}: {errors}; the first of them {self._first_other}"
            yield Event(catalogue.MOVE_REFUSED, reason=reason, count=count)
