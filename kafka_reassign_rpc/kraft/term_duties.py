"""The duties of one term in front of KRaft, put together on the cluster as it was loaded; and what one finds for the
others to do."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.cordon_watch import CordonWatch
from kafka_reassign_rpc.controller.duties.disk_survey import DiskSurvey
from kafka_reassign_rpc.controller.duties.partition_counting import count_partitions
from kafka_reassign_rpc.controller.duties.progress_sampling import ProgressSampler, Sampling
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.duties.term_tasks import Duty, TermTasks
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves
from kafka_reassign_rpc.controller.duties.window_changes import WindowChanges
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.events.cluster_news import ClusterNews
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.partition_health import PartitionHealth
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.kraft import callers_waiting
from kafka_reassign_rpc.kraft.alter_sender import AlterSender
from kafka_reassign_rpc.kraft.cluster_poller import ClusterPoller
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import Noticed, TakenOver
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.recorded_outcomes import RecordedOutcomes
from kafka_reassign_rpc.support.parts import nothing
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

MOST_TOLD_MS, OF_TIMEOUT = 10_000, 0.8
"""How long at most a request for a move waits for what the cluster says, and for which part of its own time-out."""


class Asked(NamedTuple):
    """How brokers are asked for the progress of moves, and how often."""

    links: BrokerLinks
    sampling: Sampling = Sampling()
    client_id: str = "kafka-reassign-rpc"


class Surroundings(NamedTuple):
    """What a term has before it knows the cluster."""

    store: KRaftStore
    intents: Intents
    sender: AlterSender
    poller: ClusterPoller
    outcomes: RecordedOutcomes
    tasks: TermTasks
    record: Record
    now_ms: Callable[[], int]
    asked: Asked


class TermDuties:
    """`all` is in the order of their start."""

    def __init__(self, around: Surroundings, cluster: Cluster) -> None:
        self._around = around
        store, _, sender, poller, outcomes, _, record, now_ms, (links, sampling, client_id) = around
        self.loop = loop = ControllerLoop(
            cluster, store, self._round_replayed, lambda _: iter(()), lambda *_: TakenOver(), self._record_round
        )
        self._news = ClusterNews()
        self._settings = cluster.settings
        self._cordon = CordonWatch(cluster, record)
        self._health = PartitionHealth()
        self._sampler = sampler = ProgressSampler(loop, sampling, client_id, links, record)
        self._healer = Healer(
            loop, now_ms, sampler.everything, sampler.tracker.observed_throughput, sampler.failed_log_dirs
        )
        self._disks = DiskSurvey(sampler.everything, now_ms)
        self._waiting_moves = WaitingMoves(loop)
        self._windows = WindowChanges(loop, now_ms, self._healer.diagnose_again)
        poller.noticed = self._noticed
        self.all = (
            Duty("acts", lambda: sender.run(loop), at_once=True),
            Duty("looks", lambda: poller.run(loop), at_once=True),
            Duty("waiting moves", self._waiting_moves.run, at_once=True),
            Duty("windows", self._windows.run, at_once=True),
            Duty("throttles", loop.throttle_leases.run),
            Duty("recorded outcomes", outcomes.run, at_once=True),
            Duty("snapshots", store.keep_log_short),
            Duty("progress", sampler.run),
            Duty("partition counts", lambda: count_partitions(loop, self._health)),
            Duty("self-healing", self._heal),
            Duty("disks", self._disks.run),
        )

    def services(self) -> MovesTerm:
        return MovesTerm(
            self.loop,
            nothing,
            self._sampler.tracker,
            self._healer,
            self._health,
            self._disks,
            lambda: True,
            nothing,
            self._as_told,
            self._looked_for,
        )

    async def _looked_for(self, request: AlterReassignments) -> None:
        await self._around.poller.look_for(self.loop, request)
        if request.queue:
            self._around.store.asked()
        elif look := self._around.store.look_ahead({topic for topic, _ in request.topics}):
            self._around.tasks.begin(look)

    async def _heal(self) -> None:
        """Not by the one look that a term begins with: a broker that lags may have left out others."""
        await self._around.poller.looked.wait()
        await self._healer.run()

    def _record_round(self, events: Iterable[Event]) -> None:
        heard = self._around.sender.callers.heard(events)
        self._around.record(self._sampler.tracker.ended(heard, self.loop.cluster))
        self._around.outcomes.handed()

    async def _as_told(
        self, decided: asyncio.Future[Sequence[ItemResult]], timeout_ms: int = MOST_TOLD_MS, /
    ) -> Sequence[ItemResult]:
        callers, asked = self._around.sender.callers, callers_waiting.Asked()
        decided.add_done_callback(partial(self._begin_to_wait, asked))
        results = await decided
        answers = await callers.answers(asked, min(MOST_TOLD_MS, timeout_ms * OF_TIMEOUT) / 1000)
        cancelled = [n for n, one in asked.moves.items() if one.phase is Phase.CANCEL and answers.get(n) is None]
        if cancelled:
            await self._around.poller.look_again(self.loop, cancelled)
        if not any(answers.values()):
            return results
        return [(topic, index, error or answers.get(TopicPartition(topic, index))) for topic, index, error in results]

    def _begin_to_wait(self, asked: callers_waiting.Asked, decided: asyncio.Future[Sequence[ItemResult]]) -> None:
        """What has joined the queue is answered as it is."""
        if decided.cancelled() or decided.exception() is not None:
            return
        moves, queue, found = self._around.intents.moves, self.loop.cluster.queue, {}
        for topic, index, error in decided.result():
            record = moves.get(name := TopicPartition(topic, index))
            if error is None and record is not None and queue.place(topic, index) is None:
                found[name] = record
        self._around.sender.callers.begin(asked, found)

    def _round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        cluster, (_, _, sender, poller, *_) = self.loop.cluster, self._around
        poller.round_replayed()
        sender.round_replayed()
        for topic, index, _, after in applied.partitions:
            sender.callers.moved_on(TopicPartition(topic, index), after.move)
            yield
        yield from self._waiting_moves.round_replayed(applied)
        yield from self._cordon.changed(applied.partitions)
        if news := [*self._news.of(cluster)]:
            self._around.record(news)
        if cluster.settings is not self._settings:
            self._settings = cluster.settings
            self._windows.settings_changed()
            self._changed()
        if not cluster.moving and not cluster.queue:
            self._healer.nothing_moves()

    def _noticed(self, found: Noticed) -> None:
        if found.brokers:
            self._changed()
            self.loop.throttle_leases.everything()  # the rates of a broker that is back may have to go
        if found.arrived:
            self._around.tasks.begin_steps(self._cordon.changed(found.arrived))

    def _changed(self) -> None:
        """Of what moves and repairs wait for."""
        self._waiting_moves.may_start()
        self._healer.diagnose_again()
