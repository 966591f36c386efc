"""Callers that wait for what the cluster makes of what they have asked for. No I/O.

They are answered when the cluster has taken it, or when it is durable that it has not: a server that takes over would
otherwise tell it again. Where nobody knows what an Alter has done, looks say it.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import (
    KafkaError,
    NoReassignmentInProgress,
    NotController,
    ReassignmentInProgress,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.phases.phases import DELETED
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

NOT_YET = "It is durable, and goes on: the cluster has not said within {:g} s whether it takes it."


class Asked:
    """A request: what it has asked for, what of that has no answer yet, and the answers."""

    def __init__(self) -> None:
        self.moves: dict[TopicPartition, MoveRecord] = {}
        self.left: set[TopicPartition] = set()
        self.answers: dict[TopicPartition, KafkaError | None] = {}
        self.all_answered = asyncio.Event()

    def answer(self, name: TopicPartition, error: KafkaError | None) -> None:
        self.answers[name] = error
        self.left.discard(name)
        if not self.left:
            self.all_answered.set()


class _Waiting(NamedTuple):
    """`record`: what they have asked for."""

    asked: list[Asked]
    record: MoveRecord

    @property
    def is_cancel(self) -> bool:
        return _is_cancel(self.record)

    def asks_for(self, record: MoveRecord) -> bool:
        return _asked(self.record) == _asked(record)


class CallersWaiting:
    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, _Waiting] = {}
        self._taken: dict[TopicPartition, MoveRecord] = {}
        """What the cluster has taken, until the records show it: of a cancel once looks have seen the end."""
        self._is_term_over = False

    def begin(self, asked: Asked, moves: Mapping[TopicPartition, MoveRecord]) -> None:
        """`moves`: as they have just become durable. At once, though their sender may go on later: no answer that comes
        in between is lost."""
        asked.moves.update(moves)
        for name, record in moves.items():
            taken = self._taken.get(name)
            is_taken = taken is not None and _asked(taken) == _asked(record)
            if is_taken or record.phase not in (Phase.START, Phase.CANCEL):
                continue
            known = self._waiting.get(name)
            if known is None or not known.asks_for(record):
                self._answer(name, None)  # another has come in its place
                known = self._waiting[name] = _Waiting([], record)
            known.asked.append(asked)
            asked.left.add(name)
        if self._is_term_over:
            self.all_answered(NotController())

    async def answers(self, asked: Asked, seconds: float) -> Mapping[TopicPartition, KafkaError | None]:
        """Raises NotController once the term is over: another server answers who asks again, as for a request that was
        not durable by then."""
        if asked.left:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asked.all_answered.wait()
        if any(isinstance(error, NotController) for error in asked.answers.values()):
            raise NotController
        return asked.answers | dict.fromkeys(asked.left, RequestTimedOut(NOT_YET.format(seconds)))

    def taken(self, name: TopicPartition, record: MoveRecord) -> None:
        """Also before its sender has asked here: the cluster is told while the round goes on."""
        self._taken[name] = record
        if self._waits_for(name, record):
            self._answer(name, None)

    def refused(self, errors: Mapping[TopicPartition, tuple[MoveRecord, KafkaError]]) -> None:
        """Durable. A cancel that found no move may have had its effect before: a look says how the move has ended."""
        for name, (record, error) in errors.items():
            if not isinstance(error, NoReassignmentInProgress) and self._waits_for(name, record):
                self._answer(name, error)

    def _waits_for(self, name: TopicPartition, record: MoveRecord) -> bool:
        """Not what has come in its place: the cluster has not been asked for that yet."""
        known = self._waiting.get(name)
        return known is not None and known.asks_for(record)

    def term_is_over(self) -> None:
        self._is_term_over = True
        self.all_answered(NotController())

    def all_answered(self, error: KafkaError) -> None:
        for name in list(self._waiting):
            self._answer(name, error)

    def moved_on(self, name: TopicPartition, move: MoveRecord | None) -> None:
        """A durable round has given the partition this move: what was asked for, or a former one that goes on since
        the cluster has refused that. None: there is none."""
        taken = self._taken.get(name)
        if taken is not None and (move is None or move.phase is not taken.phase):
            del self._taken[name]
        if move is not None and move.phase in (Phase.MOVING, Phase.RESTORE) and self._waits_for(name, move):
            self._answer(name, None)

    def heard(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events of a durable round, of which some end moves."""
        for event in events:
            if event.topic is not None and event.partition is not None:
                name = TopicPartition(event.topic, event.partition)
                if event.event in _ENDS:
                    self._taken.pop(name, None)
                    if name in self._waiting:
                        self._answer(name, _ended(event, is_cancel=self._waiting[name].is_cancel))
            yield event

    def _answer(self, name: TopicPartition, error: KafkaError | None) -> None:
        known = self._waiting.pop(name, None)
        if known is not None:
            for one in known.asked:
                one.answer(name, error)


def _is_cancel(record: MoveRecord) -> bool:
    return record.phase in (Phase.CANCEL, Phase.RESTORE)


def _asked(record: MoveRecord) -> object:
    """What stays of a record while looks, and answers of the cluster, change it before all is sent that it needs."""
    return record.id, record.terms.target, _is_cancel(record)


_ENDS = (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED, catalogue.MOVE_GONE)


def _ended(event: Event, *, is_cancel: bool) -> KafkaError | None:
    if event.event == catalogue.MOVE_COMPLETED:
        return NoReassignmentInProgress() if is_cancel else None
    if event.event == catalogue.MOVE_CANCELLED:
        return None
    return UnknownTopicOrPartition() if event.reason == DELETED else ReassignmentInProgress(event.reason)
