"""Tells the cluster what durable rounds ask for, one request after the other, and the loop what it has answered."""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial

from kafka_reassign_rpc.client.client_errors import NotSent
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, RequestTimedOut
from kafka_reassign_rpc.core.phases.kraft_refusals import takes_nothing
from kafka_reassign_rpc.core.phases.phases import Act, is_sent_again
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.callers_waiting import CallersWaiting
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import ActsAnswered, AnsweredAct
from kafka_reassign_rpc.kraft.kraft_store import ToTell
from kafka_reassign_rpc.kraft.ports import KRaftCluster
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.kraft.upstream.outcomes import Outcome, Told
from kafka_reassign_rpc.support.turns import Pace

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
