"""A term in front of KRaft on a cluster and a log in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService, MovesTerm
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import (
    KafkaError,
)
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.sightings import Settling
from kafka_reassign_rpc.kraft.term import Claimed, KRaftTerm
from kafka_reassign_rpc.kraft.term_duties import Asked
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import NOW, LogWriter, MemoryCluster, MemoryLog
from tests.waiting import eventually

NAME, OTHER, THIRD = (TopicPartition("t", index) for index in range(3))
SELDOM = LookPace(60, 60, 0)
QUICK, AT_ONCE = LookPace(0.01, 0.02, 0), Settling(0.0, 0.0)
NOT_ASKED = Asked(BrokerLinks(), Sampling(interval_s=0))


class Here:
    def __init__(self) -> None:
        self.cluster = MemoryCluster(
            {NAME: KRaftPartition(1, 2), OTHER: KRaftPartition(2, 1), THIRD: KRaftPartition(1, 2)}, (1, 2, 3, 4)
        )
        self.log = MemoryLog()
        self.now = NOW
        self.events: list[Event] = []
        self.record: Callable[[Iterable[Event]], None] = self.events.extend
        self.loses_events = False
        self.notices = SettingsNotices()
        self.loop: ControllerLoop
        self.begun: MovesTerm
        self.writer: LogWriter
        self.writes: Callable[[MemoryLog], LogWriter] = LogWriter

    @asynccontextmanager
    async def term(
        self, caps: InFlightCaps | None = None, pace: LookPace = QUICK, healing: HealingSettings | None = None
    ) -> AsyncIterator[ControllerLoop]:
        self.writer = writer = self.writes(self.log)
        settings = ReassignmentSettings(caps=caps or InFlightCaps(), healing=healing or HealingSettings())
        claimed = Claimed(writer, self.log.replayed(), writer.epoch)
        record = (lambda _: None) if self.loses_events else self.record
        term = KRaftTerm(
            claimed,
            self.cluster,
            lambda: self.now,
            record,
            NOT_ASKED,
            settings,
            pace,
            self._written,
            AT_ONCE,
            notices=self.notices,
        )
        begun: asyncio.Future[MovesTerm] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(term.serve(begun.set_result))
        self.begun = await begun
        self.loop = self.begun.loop
        try:
            yield self.loop
        finally:
            await end(serving)
        of_zookeeper = [one for one in self.events if "znode" in f"{one.who} {one.requested_by} {one.reason}"]
        assert not of_zookeeper, "a cluster without ZooKeeper has no znodes"

    async def _written(self) -> None:
        if self.loses_events:
            await asyncio.Event().wait()

    async def ask(self, name: TopicPartition, target: tuple[int, ...] | None, rate: int | None = None) -> None:
        assert await self.answers([name], target, rate) == {name: None}

    async def answers(
        self, names: Iterable[TopicPartition], target: tuple[int, ...] | None, rate: int | None = None
    ) -> dict[TopicPartition, KafkaError | None]:
        found = await self.submitted(names, target, rate).future
        return {TopicPartition(topic, index): error for topic, index, error in found}

    def submitted(
        self, names: Iterable[TopicPartition], target: tuple[int, ...] | None, rate: int | None = None
    ) -> AlterReassignmentsCommand:
        asked = CancelMove() if target is None else MoveTerms(target, throttle=rate)
        command = AlterReassignmentsCommand(
            AlterReassignments([(name.topic, [(name.partition, asked)]) for name in names])
        )
        self.loop.submit(command)
        return command

    async def asked_by_api(
        self,
        name: TopicPartition,
        target: tuple[int, ...] | None,
        *,
        queue: bool = False,
        expected: tuple[int, ...] | None = None,
    ) -> KafkaError | None:
        """Answered as soon as it is durable. `expected`: see `MoveTerms` and `CancelMove`."""

        async def durable(command: AlterReassignmentsCommand, _timeout_ms: int = 0, /) -> Sequence[ItemResult]:
            return await command.future

        service = MovesService()
        asked = CancelMove(expected) if target is None else MoveTerms(target, expected=expected)
        service.begin(self.begun._replace(told=durable), lambda: 1.0)
        request = AlterReassignments([(name.topic, [(name.partition, asked)])], queue=queue)
        [(*_, error)] = await service.alter_reassignments(request, RequestContext(45, 0, 1, "test"))
        return error

    async def told(
        self, name: TopicPartition, target: tuple[int, ...] | None, timeout_ms: int = 60_000
    ) -> KafkaError | None:
        """As a client is answered."""
        [(*_, error)] = await self.begun.told(self.submitted([name], target), timeout_ms)
        return error

    def named(self, event: str) -> list[TopicPartition]:
        return [TopicPartition(one.topic or "", one.partition or 0) for one in self.events if one.event == event]


async def looked(here: Here, more: int = 6) -> None:
    before = here.cluster.looks
    await eventually(lambda: here.cluster.looks >= before + more)
