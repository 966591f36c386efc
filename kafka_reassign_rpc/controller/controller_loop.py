"""The controller's loop: decide, commit, replay, tell. One task, one queue, the only writer.

A round takes everything that is queued, lets each command decide against one shared view, makes the changes
durable in as few transactions as there can be, replays them into the cluster, tells the brokers, and only
then answers. A command costs one round trip at rest and a share of one under load.

What can go wrong with a commit, and what follows:

    fenced, session over       somebody else is controller, or may be: every command answers NOT_CONTROLLER
    changed under our hands    a znode has another version than ours: read the cluster again, decide again
    outcome unknown            the connection broke: the same, as soon as it is back
    does not fit               a topic znode over ZooKeeper's packet limit: its partitions are refused, the
                               round is decided again without them
    always the same refusal    a command wants what cannot be in ZooKeeper as it is: each gets a round of its own
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commit.durable_store import (
    ControllerMoved,
    DurableStore,
    ReloadNeeded,
    TopicTooLarge,
)
from kafka_reassign_rpc.controller.commit.throttle_configs import ThrottleConfigs
from kafka_reassign_rpc.controller.telemetry.event_recorder import COMMIT, ROUND, ObserveDuration, Record
from kafka_reassign_rpc.core.events import catalogue, decided_events
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, PolicyViolation, UnknownServerError
from kafka_reassign_rpc.core.restrictions import NO_RULES, Rules
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster, Topic
from kafka_reassign_rpc.support.slice_timer import SliceTimer

log = logging.getLogger(__name__)

ATTEMPTS = 10
"""How often a round is decided again after foreign writes before its commands are tried one by one, or fail."""

T = TypeVar("T")


class ControllerLoop:
    """Works on commands while this process is the controller.

    cluster   what is durable; readers may look at it at any time
    tell      given what a commit changed, after the replay; works in slices
    anew      makes the command that puts things right after the cluster was read again; given the topics that are
              gone since
    rules     what every new move is held to
    record    given what has happened, once it is durable and answered
    took      given how long that took

    `throttler` sets the throttles that moves have; whoever runs the loop runs it beside.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: DurableStore,
        tell: Callable[[replay.ReplayedChanges], Iterator[None]],
        anew: Callable[[Sequence[Topic]], Command[None]],
        rules: Rules = NO_RULES,
        record: Record = lambda _: None,
        took: ObserveDuration = lambda *_: None,
    ) -> None:
        self.cluster = cluster
        self._store = store
        self._tell = tell
        self._anew = anew
        self.rules = rules
        self._record = record
        self._took = took
        self.throttler = ThrottleConfigs(cluster, store, record)
        self._said: list[decided_events.RoundNote] = []
        self._news_of = decided_events.ClusterNews()
        self._queue: list[Command[Any]] = []
        self._news = asyncio.Event()
        self._closed: BaseException | None = None

    @property
    def is_open(self) -> bool:
        """Whether commands are still taken: what the cluster shows is current only as long."""
        return self._closed is None

    def submit(self, command: Command[T]) -> asyncio.Future[T]:
        """Queue a command. Its future fails with NotController once this process is no longer the controller."""
        if self._closed is not None:
            command.failed(NotController())
        else:
            self._queue.append(command)
            self._news.set()
        return command.future

    async def run(self) -> None:
        """Until deposed (returns) or cancelled."""
        working: Sequence[Command[Any]] = ()
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                working, self._queue = self._queue, []
                begun = time.perf_counter()
                await self._round(working)
                self._took(ROUND, time.perf_counter() - begun)
        except (ControllerMoved, ReloadNeeded) as reason:
            log.warning("the loop ends: %s", reason)
        finally:
            self._closed = NotController()
            for command in (*working, *self._queue):
                command.failed(NotController())
            self._queue = []

    async def _round(self, commands: Sequence[Command[Any]]) -> None:
        refused: dict[str, KafkaError] = {}
        first: list[Command[Any]] = []
        gone: list[Topic] = []
        for _ in range(ATTEMPTS):
            work = Round(RoundView(self.cluster), refused | self._unreadable(), self.rules)
            decided = await self._decide([*first, *commands], work)
            known = set(decided)
            commands = [command for command in commands if command in known]
            begun = time.perf_counter()
            try:
                await self.throttler.before(work.view)
                applied = await self._store.commit(self.cluster, work.view)
            except TopicTooLarge as error:
                self.throttler.given_up()
                refused[error.topic] = PolicyViolation(str(error))
            except ReloadNeeded as reason:
                log.warning("reading the cluster again: %s", reason)
                self.throttler.given_up()
                gone += await self._store.reload(self.cluster)
                self._said += decided_events.durable_notes(work.view.notes, self.cluster)
                first = [self._anew(gone)]
                self.throttler.everything()
            else:
                self._took(COMMIT, time.perf_counter() - begun)
                self.throttler.after(applied)
                await SliceTimer().through(self._tell(applied))
                for command in decided:
                    command.durable()
                self._report(work.view, applied)
                return
        if len(commands) > 1:
            for command in (self._anew(gone), *commands):
                await self._round([command])
            return
        for command in commands:
            log.error("%s was given up after %d attempts", type(command).__name__, ATTEMPTS)
            command.failed(UnknownServerError("ZooKeeper is being written by somebody else: try again"))

    def _report(self, view: RoundView, applied: replay.ReplayedChanges) -> None:
        """What a round has done, with what rounds before it turn out to have done although their commits were lost."""
        found = self._store.problems()
        problems = [
            Event(catalogue.ENTRY_REFUSED, who=f"znode {problem.root}", reason=problem.text) for problem in found
        ]
        said = deque(chain(self._said, problems, view.notes))
        self._said = []
        news = list(self._news_of.of(self.cluster))
        if said or news:
            self._record(chain(decided_events.events_of(said, applied.moves), news))

    def _unreadable(self) -> dict[str, KafkaError]:
        """Names that are taken by garbage."""
        known = self.cluster.topics
        return {name: UnknownServerError(why) for name, why in self.cluster.unreadable.items() if name not in known}

    @staticmethod
    async def _decide(commands: Sequence[Command[Any]], work: Round) -> list[Command[Any]]:
        """The commands that could be decided; those that could not have got their answer."""
        pace = SliceTimer()
        decided = []
        for command in commands:
            work.view.by = command.by
            try:
                await pace.through(command.decide(work))
                await pace.rest()  # a short one has not come to a yield
            except KafkaError as error:
                command.failed(error)
            except Exception as error:  # a defect in one decision must not take the others with it
                log.exception("%s could not be decided", type(command).__name__)
                command.failed(UnknownServerError(str(error)))
            else:
                decided.append(command)
        return decided
