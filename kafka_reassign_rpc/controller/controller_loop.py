"""The controller's loop: learn, decide, commit, replay, propagate, answer. It is one task with one queue, and the only
writer.

A round takes all queued commands: on an idle server a command costs one write; under load it shares one. How a commit
can fail (`controller.store`), and what the loop does then:

    another controller      it was elected, or may be: every command answers NOT_CONTROLLER
    reload needed           the store has changed, or may have: read the cluster again, decide again
    too large               the store has no room for a topic: refuse its partitions, decide again without the writes of
                            this topic that no request asked for
    fails every time        the store refuses what one of the commands wants: each command gets a round of its own; one
                            that still fails answers REQUEST_TIMED_OUT
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded, Store, TopicTooLarge
from kafka_reassign_rpc.controller.telemetry.event_recorder import COMMIT, ROUND, ObserveDuration, Record
from kafka_reassign_rpc.controller.throttle_leases import ThrottleLeases
from kafka_reassign_rpc.core.events import catalogue, decided_events
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import (
    KafkaError,
    NotController,
    PolicyViolation,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.facts import Fact, all_of
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import Pace

log = logging.getLogger(__name__)

ATTEMPTS = 10
"""How often a round is decided again after foreign writes. Then its commands are tried one by one, or fail."""

FIRST_AGAIN_S, LONGEST_AGAIN_S = 0.1, 5.0
"""Waits before a command that has no client to repeat it is submitted again."""

T = TypeVar("T")


class ControllerLoop:
    """cluster            the durable state; readers may read it at any time
    propagate          called after the replay with what the round changed; yields after each item
    topics_vanished    called after a reload with the topics that are gone; yields after each item. Nothing else may be
                       propagated then: until the failover is durable, what was read names failed brokers as leaders
    failover_command   makes the command that decides about everything after a reload; its arguments are the partitions
                       of which others have changed replicas or move, and the brokers that bounced, since the last
                       durable round
    record             takes the events of a round, once it is durable and answered

    `throttle_leases` sets the throttles of moves. Its `run` is a task next to the loop.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        propagate: Callable[[replay.ReplayedChanges], Iterator[None]],
        topics_vanished: Callable[[Sequence[Topic]], Iterator[None]],
        failover_command: Callable[[Collection[TopicPartition], Collection[int]], Command[None]],
        record: Record = lambda _: None,
        observe_duration: ObserveDuration = lambda *_: None,
    ) -> None:
        self.cluster = cluster
        self._store = store
        self._propagate = propagate
        self._topics_vanished = topics_vanished
        self._failover_command = failover_command
        self._record = record
        self._observe_duration = observe_duration
        self.throttle_leases = ThrottleLeases(cluster, store.configs, record, self.learn)
        self._late_notes: list[decided_events.RoundNote] = []
        self._was_reloaded = False
        """Whether the cluster was read again, and no failover has been durable since."""
        self._too_large: set[str] = set()
        """Topics that were reported as too large for the store: once in a term."""
        self._changed: set[TopicPartition] = set()
        """Partitions whose replicas or moves others have changed since the last durable round."""
        self._durable_brokers = cluster.brokers
        """The brokers of the last durable round."""
        self._queue: list[Command[Any]] = []
        self._working: Sequence[Command[Any]] = ()
        self._reported: list[Fact[object]] = []
        """Facts that came in during the round under way."""
        self._is_in_round = False
        self._queued = asyncio.Event()
        self._closed: BaseException | None = None

    @property
    def is_open(self) -> bool:
        """Only then is `cluster` current."""
        return self._closed is None

    def submit(self, command: Command[T]) -> asyncio.Future[T]:
        """The future fails with NotController once this process is no longer the controller."""
        if self._closed is not None:
            command.failed(NotController())
        else:
            self._queue.append(command)
            self._queued.set()
        return command.future

    def withdraw(self, command: Command[Any]) -> bool:
        """Whether no round has taken it yet: it is not decided then."""
        if command not in self._queue:
            return False
        self._queue.remove(command)
        command.future.cancel()
        return True

    def learn(self, fact: Fact[object]) -> None:
        """Applies a short fact that needs no decision: now, or at the end of the round under way."""
        self._reported.append(fact)
        if not self._is_in_round:
            self._apply_reported()

    def _apply_reported(self) -> None:
        reported, self._reported = self._reported, []
        for _ in all_of(reported, self.cluster):
            pass

    async def wait_for_answers(self, seconds: float) -> None:
        unanswered = [command.future for command in (*self._working, *self._queue) if not command.future.done()]
        if unanswered:
            await asyncio.wait(unanswered, timeout=seconds)

    async def insist(self, make: Callable[[], Command[T]]) -> T:
        """For a command that has no client to repeat it: it is submitted again while others keep changing what is
        stored. Raises NotController, and UnknownServerError if a defect prevents the decision.
        """
        backoff = Backoff(FIRST_AGAIN_S, LONGEST_AGAIN_S)
        while True:
            try:
                return await self.submit(make())
            except RequestTimedOut as error:
                log.warning("a command of this controller is submitted again after a pause: %s", error)
                await backoff.sleep()

    async def run(self) -> None:
        """Returns when another controller is elected."""
        try:
            while True:
                await self._queued.wait()
                self._queued.clear()
                self._working, self._queue = self._queue, []
                begun = time.perf_counter()
                self._is_in_round = True
                await self._round(await self._learn(self._working))
                self._is_in_round = False
                self._working = ()
                self._apply_reported()
                self._observe_duration(ROUND, time.perf_counter() - begun)
        except (ControllerMoved, ReloadNeeded) as reason:
            log.warning("this term ends, and commands that wait get NOT_CONTROLLER: %s", reason)
        finally:
            self._closed = NotController()
            for command in (*self._working, *self._queue):
                command.failed(NotController())
            self._working, self._queue = (), []

    async def _round(self, commands: Sequence[Command[Any]]) -> None:
        refused: dict[str, KafkaError] = {}
        attempts = 0
        while attempts < ATTEMPTS:
            work = Round(self._store.view(self.cluster, refused.keys()), refused | self._unreadable())
            decided = await self._decide([*self._failover(), *commands], work)
            known = set(decided)
            commands = [command for command in commands if command in known]
            begun = time.perf_counter()
            try:
                if work.view.leased or work.view.asked_again or work.view.unthrottled:
                    await self.throttle_leases.before(work.view)
                applied = await self._store.commit(self.cluster, work.view)
            except TopicTooLarge as error:
                self.throttle_leases.given_up()
                attempts += error.topic in refused  # each topic can be too large, and every round would start again
                self._refuse(error, refused)
            except ReloadNeeded as reason:
                attempts += 1
                log.warning("the cluster is read again, and commands wait until then: %s", reason)
                self.throttle_leases.given_up()
                found = await self._store.reload(self.cluster)
                self._changed |= found.changed
                self._was_reloaded = True
                await Pace().through(self._topics_vanished(found.gone))
                if work.view.may_be_written:
                    self._late_notes += decided_events.durable_notes(work.view.notes, self.cluster)
                self.throttle_leases.everything()
            else:
                self._was_reloaded, self._changed, self._durable_brokers = False, set(), self.cluster.brokers
                self._observe_duration(COMMIT, time.perf_counter() - begun)
                self.throttle_leases.after(applied)
                await Pace().through(self._propagate(applied))
                for command in decided:
                    await self._before_answer(command)
                    command.durable()
                self._report(work.view, applied)
                await Pace().through(emptied(applied.partitions, work.view.partitions))
                return
        if len(commands) > 1:
            await self._round([])
            for command in commands:
                await self._round([command])
            return
        for command in commands:
            log.error(
                "%s was given up after %d attempts: its sender gets REQUEST_TIMED_OUT", type(command).__name__, ATTEMPTS
            )
            command.failed(RequestTimedOut(f"{self._store.place} is being changed by others: try again"))
        if commands:
            await self._round([])  # the cluster was read again: that must be decided about without this command too
        else:
            log.error(
                "others keep changing %s: after %d attempts, what was read waits for the next command",
                self._store.place,
                ATTEMPTS,
            )

    @staticmethod
    async def _before_answer(command: Command[Any]) -> None:
        try:
            await Pace().through(command.before_answer())
        except Exception:
            log.exception("a defect in %s: it is durable, and its sender gets its answer", type(command).__name__)

    def _refuse(self, error: TopicTooLarge, refused: dict[str, KafkaError]) -> None:
        if error.topic in self.cluster.topics and error.topic not in self._too_large:
            self._too_large.add(error.topic)
            log.error(
                "this topic keeps its assignment and its moves in %s; only states of partitions change: %s",
                self._store.place,
                error,
            )
        refused[error.topic] = PolicyViolation(str(error))

    def _failover(self) -> list[Command[Any]]:
        if not self._was_reloaded:
            return []
        before, now = self._durable_brokers, self.cluster.brokers
        bounced = {id_ for id_ in before.keys() & now.keys() if before[id_].epoch != now[id_].epoch}
        return [self._failover_command(self._changed, bounced)]

    def _report(self, view: RoundView, applied: replay.ReplayedChanges) -> None:
        """Also events of earlier rounds whose commit was lost but turned out to be durable."""
        found = self._store.problems()
        problems = [Event(catalogue.ENTRY_REFUSED, who=problem.who, reason=problem.reason) for problem in found]
        notes = deque(chain(self._late_notes, problems, view.notes))
        self._late_notes = []
        if notes:
            self._record(decided_events.events_of(notes, applied.moves))

    def _unreadable(self) -> dict[str, KafkaError]:
        """A stock controller has no partitions of such a topic, either: it answers this code, without a reason."""
        known = self.cluster.topics
        return {
            name: UnknownTopicOrPartition(why) for name, why in self.cluster.unreadable.items() if name not in known
        }

    async def _learn(self, commands: Sequence[Command[Any]]) -> list[Command[Any]]:
        """Returns the commands that may decide; the others have got their error."""
        pace = Pace()
        learnt = []
        for command in commands:
            try:
                await pace.through(command.learn(self.cluster))
            except Exception:
                log.exception(
                    "a defect in %s: what was read or reported has no effect until it comes again",
                    type(command).__name__,
                )
                command.failed(UnknownServerError())
            else:
                learnt.append(command)
        return learnt

    @staticmethod
    async def _decide(commands: Sequence[Command[Any]], work: Round) -> list[Command[Any]]:
        pace = Pace()
        decided = []
        for command in commands:
            work.view.by = command.by
            try:
                await pace.through(command.decide(work))
                await pace.rest()  # a short command has not yielded
            except KafkaError as error:
                command.failed(error)
            except Exception:  # a defect in one decision must not take the others with it
                log.exception(
                    "a defect in %s: it changes nothing, and its sender gets UNKNOWN_SERVER_ERROR",
                    type(command).__name__,
                )
                command.failed(UnknownServerError())
            else:
                decided.append(command)
        return decided
