"""Tells the cluster what durable rounds ask for, one request after the other, and the loop what it has answered.

Callers wait for what the cluster makes of what they have asked for (`CallersWaiting`, without I/O). They are answered
when the cluster has taken it, or when it is durable that it has not: a server that takes over would otherwise tell it
again. Where nobody knows what an Alter has done, looks say it.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import NotSent
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
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
from kafka_reassign_rpc.core.phases.kraft_refusals import takes_nothing
from kafka_reassign_rpc.core.phases.phases import DELETED, Act, is_sent_again
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.kraft_commands import ActsAnswered, AnsweredAct
from kafka_reassign_rpc.kraft.kraft_store import ToTell
from kafka_reassign_rpc.kraft.ports import KRaftCluster
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.kraft.upstream import Outcome, Told
from kafka_reassign_rpc.support.turns import Pace

NOT_YET = "It is durable, and goes on: the cluster has not said within {:g} s whether it takes it."


class Asked:
    """A request: what it has asked for, what of that has no answer yet, and the answers."""

    def __init__(self) -> None:
        self.moves: dict[TopicPartition, MoveRecord] = {}
        self.left: set[TopicPartition] = set()
        self.answers: dict[TopicPartition, KafkaError | None] = {}
        self.all_answered = asyncio.Event()

    def wait_for(self, name: TopicPartition) -> None:
        self.left.add(name)
        self.all_answered.clear()

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

    def begin(self, asked: Asked, name: TopicPartition, record: MoveRecord) -> None:
        """`record`: as it has just become durable. Before another round is, though the sender may go on later: no
        answer that comes in between is lost."""
        asked.moves[name] = record
        taken = self._taken.get(name)
        is_taken = taken is not None and _asked(taken) == _asked(record)
        if is_taken or record.phase not in (Phase.START, Phase.CANCEL):
            return
        if self._is_term_over:
            asked.answer(name, NotController())
            return
        known = self._waiting.get(name)
        if known is None or not known.asks_for(record):
            self._answer(name, None)  # another has come in its place
            known = self._waiting[name] = _Waiting([], record)
        known.asked.append(asked)
        asked.wait_for(name)

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
        """The events of a durable round, of which some end moves. In one round a move may end and the next one begin:
        the end of the former says nothing to who waits for the next.
        """
        for event in events:
            if event.topic is not None and event.partition is not None and event.event in _ENDS:
                name = TopicPartition(event.topic, event.partition)
                waiting, taken = self._waiting.get(name), self._taken.get(name)
                if taken is not None and taken.id == event.id:
                    del self._taken[name]
                if waiting is not None and waiting.record.id == event.id:
                    self._answer(name, _ended(event, is_cancel=waiting.is_cancel))
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


log = logging.getLogger(__name__)

WAITS = "It is durable, and waits: {}."


class AlterSender:
    """An act whose record has changed before it is sent is dropped: the later round has its own."""

    def __init__(self, cluster: KRaftCluster, intents: Intents, sightings: Sightings) -> None:
        self._cluster = cluster
        self._intents = intents
        self._sightings = sightings
        self._due: dict[TopicPartition, ToTell] = {}
        self._wake = asyncio.Event()
        self.callers = CallersWaiting()
        self._refused_all = ""
        """Why the cluster takes nothing from this server; "": it does. Looks have the acts told again."""

    def tell(self, acts: Mapping[TopicPartition, ToTell]) -> None:
        self._due |= acts
        self._sightings.being_told(acts)
        self._wake.set()

    async def run(self, loop: ControllerLoop) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = self._due, {}
            targets, pace = {}, Pace()
            for name, one in due.items():
                if self._intents.moves.get(name) == one.record:
                    targets[name] = _target(one)
                await pace.rest()
            try:
                outcomes = await self._cluster.alter(targets, partial(self._heard, loop, due))
                self._sightings.unanswered([name for name, one in outcomes.items() if one.told is Told.UNKNOWN])
            finally:
                self._sightings.answered([name for name in due if name not in self._due])
            before, self._refused_all = self._refused_all, self._now_refused_all(outcomes)
            if self._refused_all:
                self.callers.all_answered(RequestTimedOut(WAITS.format(self._refused_all)))
            if before != self._refused_all:
                self._report(loop, {})

    def _heard(
        self, loop: ControllerLoop, due: Mapping[TopicPartition, ToTell], outcomes: Mapping[TopicPartition, Outcome]
    ) -> None:
        known = {name: AnsweredAct(*due[name], one.error) for name, one in outcomes.items() if one.is_known}
        if known:
            self._report(loop, known)  # first: what its sender asks for next is decided after it
        for name, one in known.items():
            if one.error is None and _is_asked(one):
                self.callers.taken(name, one.record)

    def _report(self, loop: ControllerLoop, answered: Mapping[TopicPartition, AnsweredAct]) -> None:
        """The next acts are sent while the loop takes it in."""
        errors = {
            name: (one.record, one.error)
            for name, one in answered.items()
            if one.error is not None and not (one.act is Act.CANCEL and is_sent_again(one.record))
        }
        durable = loop.submit(ActsAnswered(answered, self._refused_all))
        durable.add_done_callback(partial(self._reported, errors))

    def _reported(
        self, errors: Mapping[TopicPartition, tuple[MoveRecord, KafkaError]], durable: asyncio.Future[None]
    ) -> None:
        """Where it failed, the loop has logged it, and a look says what has become of the acts."""
        if not durable.cancelled() and durable.exception() is None:
            self.callers.refused(errors)

    def round_replayed(self) -> None:
        if self._refused_all and not self._has_acts():
            self._wake.set()  # nothing is told again that would show that it is over

    def _now_refused_all(self, outcomes: Mapping[TopicPartition, Outcome]) -> str:
        refusal = next((one.error for one in outcomes.values() if one.told is Told.NOT_TOLD), None)
        if refusal is not None and not isinstance(refusal, NotSent):
            if not self._refused_all:
                log.error("no move starts, and those that are decided wait: %s", takes_nothing(refusal))
            return self._refused_all or takes_nothing(refusal)
        if not any(one.is_known for one in outcomes.values()) and self._has_acts():
            return self._refused_all
        if self._refused_all:
            log.info("moves start again: the cluster takes changes from this server")
        return ""

    def _has_acts(self) -> bool:
        return any(one.phase is not Phase.MOVING for one in self._intents.moves.values())


def _is_asked(one: AnsweredAct) -> bool:
    """Whether it is what the caller has asked for. A start may need a cancel before it, which is all that the original
    replicas need."""
    is_cancel = one.record.phase is Phase.CANCEL or one.record.terms.target == one.record.original
    return one.act is Act.SEND or (one.act is Act.CANCEL and is_cancel)


def _target(one: ToTell) -> tuple[int, ...] | None:
    if one.act is Act.CANCEL:
        return None
    return one.record.original if one.act is Act.RESTORE else one.record.terms.target
