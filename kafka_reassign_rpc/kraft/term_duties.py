"""The duties of one term in front of KRaft, put together on the cluster as it was loaded; and what one finds for the
others to do.

Outcomes of moves reach an event log although servers die: they are part of the round that ends a move, until a later
record of the state log says that they are in an event log. A server that takes over records those that are not.

It may record some a second time: each has the same `event`, `topic`, `partition` and `id` (that of the move) again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.duties.progress_sampling import DiskSurvey, ProgressSampler, Sampling
from kafka_reassign_rpc.controller.duties.replica_watch import CordonWatch, count_partitions
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.duties.term_tasks import Duty, TermTasks
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves, WindowChanges
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.events.cluster_news import ClusterNews
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError, RequestTimedOut
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.kraft import alter_sender
from kafka_reassign_rpc.kraft.alter_sender import AlterSender
from kafka_reassign_rpc.kraft.cluster_poller import ClusterPoller
from kafka_reassign_rpc.kraft.kraft_commands import Noticed, TakenOver
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.support.tasks import nothing
from kafka_reassign_rpc.support.turns import Steps, in_turns
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

PAUSE_S = 1.0
"""Between two records that say so."""


class RecordedOutcomes:
    """`written`: waits until all events are written that `record` has got. `acknowledge`: makes durable how many
    outcomes there are in event logs."""

    def __init__(
        self,
        intents: Intents,
        record: Record,
        written: Callable[[], Awaitable[None]],
        acknowledge: Callable[[int], Awaitable[None]],
    ) -> None:
        self._intents = intents
        self._record = record
        self._written = written
        self._acknowledge = acknowledge
        self._handed = intents.recorded
        self._more = asyncio.Event()

    def take_over(self) -> None:
        """What servers before may not have recorded. Before the first round."""
        if self._intents.outcomes:
            self._record(list(self._intents.outcomes))
        self.handed()

    def handed(self) -> None:
        """The events of all rounds up to now were handed to `record`."""
        self._handed = self._intents.recorded + len(self._intents.outcomes)
        self._more.set()

    async def run(self) -> None:
        """Until it is cancelled. Raises ControllerMoved."""
        while True:
            await self._more.wait()
            self._more.clear()
            if (handed := self._handed) > self._intents.recorded:
                await self._written()
                await self._acknowledge(handed)
                await asyncio.sleep(PAUSE_S)


MOST_TOLD_MS, OF_TIMEOUT = 10_000, 0.8
"""How long at most a request for a move waits for what the cluster says, and for which part of its own time-out."""
LEAST_S = 1.0
"""How long it waits at least for what is decided."""
NOT_DECIDED = "Nothing was decided within {:g} s, nor will be: ask again."
NOT_KNOWN = "It is not known within {:g} s whether this is decided: it may still be carried out."


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
    notices: SettingsNotices


class TermDuties:
    """`all` is in the order of their start."""

    def __init__(self, around: Surroundings, cluster: Cluster) -> None:
        self._around = around
        store, _, sender, poller, outcomes, _, record, now_ms, (links, sampling, client_id), notices = around
        self.loop = loop = ControllerLoop(
            cluster, store, self._round_replayed, lambda _: iter(()), lambda *_: TakenOver(), self._record_round
        )
        self._news = ClusterNews()
        self._notices = notices
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
        seconds = _decided_s(request.timeout_ms)
        try:
            async with asyncio.timeout(seconds):
                await self._around.poller.look_for(self.loop, request)
        except TimeoutError:
            raise RequestTimedOut(NOT_DECIDED.format(seconds)) from None
        if request.queue:
            self._around.store.asked()
            return
        topics = {topic for topic, _ in request.topics}
        expects = any(what.expected is not None for _, items in request.topics for _, what in items)
        if look := self._around.store.look_ahead(topics, up_to_date=expects):
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
        self, command: AlterReassignmentsCommand, timeout_ms: int = MOST_TOLD_MS, /
    ) -> Sequence[ItemResult]:
        """Raises RequestTimedOut where nothing is decided for so long: the cluster does not answer."""
        callers, asked, seconds = self._around.sender.callers, alter_sender.Asked(), _decided_s(timeout_ms)
        command.on_durable = partial(self._begin_to_wait, asked)
        await asyncio.wait([command.future], timeout=seconds)
        if not command.future.done():
            is_decided = NOT_DECIDED if self.loop.withdraw(command) else NOT_KNOWN
            raise RequestTimedOut(is_decided.format(seconds))
        results = command.future.result()
        answers = await callers.answers(asked, _told_s(timeout_ms))
        if cancelled := await in_turns(_cancelled(asked, answers)):
            await self._around.poller.look_again(self.loop, cancelled)
        if not any(answers.values()):
            return results
        return await in_turns(_with_answers(results, answers))

    def _begin_to_wait(self, asked: alter_sender.Asked, results: Sequence[ItemResult]) -> Iterator[None]:
        """What has joined the queue is answered as it is. Yields after each partition."""
        moves, queue, callers = self._around.intents.moves, self.loop.cluster.queue, self._around.sender.callers
        for topic, index, error in results:
            record = moves.get(name := TopicPartition(topic, index))
            if error is None and record is not None and queue.place(topic, index) is None:
                callers.begin(asked, name, record)
            yield

    def _round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        cluster, (_, _, sender, poller, *_) = self.loop.cluster, self._around
        poller.round_replayed()
        sender.round_replayed()
        for topic, index, _, after in applied.partitions:
            sender.callers.moved_on(TopicPartition(topic, index), after.move)
            yield
        yield from self._waiting_moves.round_replayed(applied)
        yield from self._cordon.changed(applied.partitions)
        self._notices.check(cluster)
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
            self._around.tasks.begin_steps(self._healer.look_for_lost(one.after for one in found.arrived))

    def _changed(self) -> None:
        """Of what moves and repairs wait for."""
        self._waiting_moves.may_start()
        self._healer.diagnose_again()


def _told_s(timeout_ms: int) -> float:
    """How long a request with this time-out waits for what the cluster says, and at least so long for its decision."""
    return min(MOST_TOLD_MS, timeout_ms * OF_TIMEOUT) / 1000


def _decided_s(timeout_ms: int) -> float:
    return max(LEAST_S, _told_s(timeout_ms))


def _cancelled(
    asked: alter_sender.Asked, answers: Mapping[TopicPartition, KafkaError | None]
) -> Steps[list[TopicPartition]]:
    """Those of which the cluster has taken a cancel."""
    found = []
    for name, one in asked.moves.items():
        if one.phase is Phase.CANCEL and answers.get(name) is None:
            found.append(name)
        yield
    return found


def _with_answers(
    results: Sequence[ItemResult], answers: Mapping[TopicPartition, KafkaError | None]
) -> Steps[list[ItemResult]]:
    found = []
    for topic, index, error in results:
        found.append((topic, index, error or answers.get(TopicPartition(topic, index))))
        yield
    return found
