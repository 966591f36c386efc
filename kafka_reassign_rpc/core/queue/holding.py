"""Moves of the queue that are held: they start only once they are released.

A hold concerns the moves that wait when it is decided: brokers cannot pause a copy and keep what they have got. A held
move keeps its place, and starts only from the replicas from which it led. After an absence
(`core.failover`) entries of `/admin/reassign_partitions` and targets of request znodes that have not
started join the queue as held, and leave their znode.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import of_waiting_move
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.reassignment.move_sums import origin_of
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import Held, QueuePlace, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

LONGEST_REASON = 200
LONGEST_WHO = 500
"""Characters of both that are kept: each move has them."""


class Selection(msgspec.Struct, frozen=True):
    """Which moves: those that all of these name; None: any.

    brokers   one of these is among the replicas, old or new
    reasons   the reasons that they were asked for with: moves of one request or plan have one
    """

    topics: frozenset[str] | None = None
    brokers: frozenset[int] | None = None
    reasons: frozenset[str] | None = None

    def takes(self, name: TopicPartition, partition: Partition | None, target: tuple[int, ...], reason: str) -> bool:
        if self.topics is not None and name.topic not in self.topics:
            return False
        if self.reasons is not None and reason not in self.reasons:
            return False
        replicas = () if partition is None else partition.replicas
        return self.brokers is None or not self.brokers.isdisjoint((*replicas, *target))


class HoldOutcome(msgspec.Struct, frozen=True):
    """How many selected moves were `changed`, were so already, or are `in_flight`, where a hold does not stop them."""

    changed: int
    unchanged: int
    in_flight: int


def hold_all(view: RoundView, held: Held) -> Iterator[None]:
    """After an absence: each move starts only from the replicas that it was queued at."""
    for stored in list(view.cluster.queue.names.values()):
        yield
        name = TopicPartition(*stored)
        place = view.cluster.queue.place(*name)
        if place is not None and not view.queue.gone(name, place.path):
            hold(view, name, place, held, expected=place.move.terms.expected or place.move.origin)


def hold(
    view: RoundView, name: TopicPartition, place: QueuePlace, held: Held, expected: tuple[int, ...] | None = None
) -> bool:
    """False if it is held already: since when and by whom stays. `expected`: the only replicas from which it starts,
    None: those from which it leads now.
    """
    move, partition = view.queue.now(name, place), view.get(*name)
    if move.held is not None:
        return False
    if expected is None and partition is not None:
        expected = origin_of(partition)
    terms = replace(move.terms, expected=expected)
    view.queue.changed.setdefault(place.path, {})[name] = replace(move, terms=terms, held=held)
    _report_held(view, name, terms, held)
    return True


def join_held(view: RoundView, name: TopicPartition, terms: MoveTerms, held: Held) -> KafkaError | None:
    """Queues a target that has not waited in the queue, as held. Returns why it cannot be queued. `terms.expected` as
    in `hold`.
    """
    partition = view.get(*name)
    if terms.expected is None and partition is not None:
        terms = replace(terms, expected=origin_of(partition))
    error = queue_admission.append(view, name, WaitingMove(terms, held))
    if error is None and name in view.queue.appended:
        _report_held(view, name, terms, held)
    return error


def _report_held(view: RoundView, name: TopicPartition, terms: MoveTerms, held: Held) -> None:
    view.report(of_waiting_move(catalogue.MOVE_HELD, name, replace(terms, reason=held.reason)))


def release(view: RoundView, name: TopicPartition, place: QueuePlace) -> bool:
    """Lets one move start when it is its turn. False if it may already."""
    move = view.queue.now(name, place)
    if move.held is None:
        return False
    view.queue.changed.setdefault(place.path, {})[name] = replace(move, held=None)
    view.report(of_waiting_move(catalogue.MOVE_RELEASED, name, move.terms))
    return True


def approve(view: RoundView, name: TopicPartition, place: QueuePlace) -> None:
    """A hold on it goes on."""
    move = replace(view.queue.now(name, place), unapproved=None)
    view.queue.changed.setdefault(place.path, {})[name] = move
