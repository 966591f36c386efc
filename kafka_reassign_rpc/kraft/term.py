"""A term in front of KRaft: the loop and its duties, from the claim of the state log until another server has it.

load    replay and one look; from here on what is known can be shown
work    looks, acts, the queue and the throttles, until the log is fenced
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.api.ports import ItemResult
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.disk_survey import DiskSurvey
from kafka_reassign_rpc.controller.duties.partition_counting import count_partitions
from kafka_reassign_rpc.controller.duties.progress_sampling import ProgressSampler, Sampling
from kafka_reassign_rpc.controller.duties.term_tasks import Duty, TermTasks
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves
from kafka_reassign_rpc.controller.duties.window_changes import WindowChanges
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.partition_health import PartitionHealth
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import TakenOver
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.looking import Looking, LookPace
from kafka_reassign_rpc.kraft.ports import IntentLog, KRaftCluster
from kafka_reassign_rpc.kraft.recorded_outcomes import RecordedOutcomes
from kafka_reassign_rpc.kraft.sightings import Settling, Sightings, settling
from kafka_reassign_rpc.kraft.telling import Telling
from kafka_reassign_rpc.support.parts import nothing
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

USUAL_PACE = LookPace()
USUAL_SETTLING = settling(4.0, 30.0)
MOST_TOLD_MS, OF_TIMEOUT = 10_000, 0.8
"""Who has asked for a move waits so long at most for what the cluster says, and for this part of its own time-out."""


class Claimed(NamedTuple):
    """The log once it is this server's: `intents` replayed up to the claim, `epoch` of it."""

    log: IntentLog
    intents: Intents
    epoch: int


class Asked(NamedTuple):
    """How brokers are asked for the progress of moves, and how often."""

    links: BrokerLinks
    sampling: Sampling = Sampling()
    client_id: str = "kafka-reassign-rpc"


async def _at_once() -> None:
    pass


class KRaftTerm:
    def __init__(
        self,
        claimed: Claimed,
        cluster: KRaftCluster,
        now_ms: Callable[[], int],
        record: Record,
        asked: Asked,
        started_with: ReassignmentSettings = DEFAULT_SETTINGS,
        pace: LookPace = USUAL_PACE,
        written: Callable[[], Awaitable[None]] = _at_once,
        settling: Settling = USUAL_SETTLING,
    ) -> None:
        """`written`: waits until the events are written that `record` has got."""
        self._record = record
        self._now_ms = now_ms
        self._asked = asked
        sightings = Sightings(claimed.intents, settling)
        self._telling = Telling(cluster, claimed.intents, sightings)
        self._looking = Looking(cluster, claimed.intents, sightings, pace)
        self._log, self._intents, epoch = claimed
        self._store = KRaftStore(
            self._log, cluster, self._intents, epoch, now_ms, self._telling.tell, started_with=started_with
        )
        self._outcomes = RecordedOutcomes(self._intents, record, written, self._store.acknowledge)
        self._tasks = TermTasks()
        self._waiting_moves: WaitingMoves | None = None

    async def serve(self, begin: Callable[[MovesTerm], None]) -> str:
        """Calls `begin` once commands are taken. Returns why the term has ended."""
        self._tasks.begin(self._log.keep(), "signs of life")
        try:
            await self._work(await self._loaded(), begin)
            why = await self._tasks.over()
            self._tasks.raise_defect()
        except (NotController, ControllerMoved) as reason:
            why = str(reason)
        finally:
            await self._tasks.stop()
            self._telling.callers.all_answered(NotController())
        return why

    async def _loaded(self) -> Cluster:
        """Raises ControllerMoved: the term may end before the cluster answers."""
        loading, over = asyncio.create_task(self._store.load()), asyncio.create_task(self._tasks.over())
        try:
            await asyncio.wait([loading, over], return_when=asyncio.FIRST_COMPLETED)
            if not loading.done():
                raise ControllerMoved(self._tasks.why)
            return loading.result().cluster
        finally:
            await end(over, loading)

    async def _work(self, cluster: Cluster, begin: Callable[[MovesTerm], None]) -> None:
        """Raises NotController."""
        self._outcomes.take_over()
        loop = ControllerLoop(
            cluster,
            self._store,
            self._round_replayed,
            lambda _: iter(()),
            lambda *_: TakenOver(),
            lambda events: self._record_round(sampler.tracker.ended(self._telling.callers.heard(events), cluster)),
        )
        links, sampling, client_id = self._asked
        sampler = ProgressSampler(loop, sampling, client_id, links, self._record)
        disks, health = DiskSurvey(sampler.everything, self._now_ms), PartitionHealth()
        self._waiting_moves = waiting_moves = WaitingMoves(loop)
        windows = WindowChanges(loop, self._now_ms, lambda: None)
        self._tasks.start(
            loop.run(),
            (
                Duty("acts", lambda: self._telling.run(loop), at_once=True),
                Duty("looks", lambda: self._looking.run(loop), at_once=True),
                Duty("waiting moves", waiting_moves.run, at_once=True),
                Duty("windows", windows.run, at_once=True),
                Duty("throttles", loop.throttle_leases.run),
                Duty("recorded outcomes", self._outcomes.run, at_once=True),
                Duty("snapshots", self._store.keep_log_short),
                Duty("progress", sampler.run),
                Duty("partition counts", lambda: count_partitions(loop, health)),
                Duty("disks", disks.run),
            ),
        )
        taken_over = loop.submit(TakenOver())
        begin(
            MovesTerm(
                loop,
                nothing,
                sampler.tracker,
                None,
                health,
                disks,
                lambda: True,
                nothing,
                partial(self._as_told, loop),
                partial(self._looking.look_for, loop),
            )
        )
        await taken_over
        self._tasks.failed_over()

    def _record_round(self, events: Iterable[Event]) -> None:
        self._record(events)
        self._outcomes.handed()

    def stop(self, why: str) -> None:
        self._tasks.end_term(why)

    async def _as_told(
        self, loop: ControllerLoop, results: Sequence[ItemResult], timeout_ms: int = MOST_TOLD_MS, /
    ) -> Sequence[ItemResult]:
        """What has joined the queue is answered as it is."""
        moves, queue, asked = self._intents.moves, loop.cluster.queue, {}
        for topic, index, error in results:
            record = moves.get(name := TopicPartition(topic, index))
            if error is None and record is not None and queue.place(topic, index) is None:
                asked[name] = record
        seconds = min(MOST_TOLD_MS, timeout_ms * OF_TIMEOUT) / 1000
        answers = await self._telling.callers.answers(asked, seconds)
        if not any(answers.values()):
            return results
        return [(topic, index, error or answers.get(TopicPartition(topic, index))) for topic, index, error in results]

    def _round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        self._looking.round_replayed()
        self._telling.round_replayed()
        for topic, index, _, after in applied.partitions:
            self._telling.callers.moved_on(
                TopicPartition(topic, index), None if after.move is None else after.move.phase
            )
            yield
        if self._waiting_moves is not None:
            yield from self._waiting_moves.round_replayed(applied)
