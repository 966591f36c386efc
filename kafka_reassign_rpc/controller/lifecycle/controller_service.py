"""The controller as the APIs reach it: each call becomes a command, and waits until it is durable."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from random import SystemRandom
from typing import NamedTuple, TypeVar
from uuid import uuid4

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import (
    AlterPartition,
    AlterReassignments,
    CreatedTopic,
    ItemResult,
    NewPartitions,
    NewTopic,
)
from kafka_reassign_rpc.controller.commands import alter_reassignments_command, leadership_commands, topic_commands
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.producer_ids import ProducerIds
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, StaleBrokerEpoch
from kafka_reassign_rpc.core.reassignment.progress import NO_TOTALS, MoveProgress, ProgressTracker, Totals
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition, Topic, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles

T = TypeVar("T")


WHO_LENGTH = 100
"""Characters of a principal or a client id that are recorded: they may be as long as whoever sends them likes."""


def who(ctx: RequestContext) -> str:
    """A client, as events name it."""
    client = f" as {_clipped(ctx.client_id)}" if ctx.client_id else ""
    return f"{_clipped(ctx.principal)}{client} from {ctx.client_host}"


def _clipped(text: str) -> str:
    """What a client has sent, fit for a line of a log."""
    return "".join([character if character.isprintable() else "?" for character in text[:WHO_LENGTH]])


class TermServices(NamedTuple):
    """What one term of office offers to the APIs.

    up_to_date  waits until what has been written to ZooKeeper before is known to the loop
    progress    how moves get on
    healer      what becomes of lost brokers
    """

    loop: ControllerLoop
    producer_ids: ProducerIds
    up_to_date: Callable[[], Awaitable[None]]
    progress: ProgressTracker
    healer: Healer


class ControllerService:
    """The `ControllerPort`: passes everything to the loop of the present term, if this process has one."""

    def __init__(self) -> None:
        self._random = SystemRandom()
        self._office: TermServices | None = None
        self._lease_left: Callable[[], float] = lambda: 0
        self.epoch = -1
        """Of the last term of this process."""

    def begin(self, office: TermServices, lease_left: Callable[[], float]) -> None:
        """This process is the controller and its loop is running.

        lease_left  seconds for which nobody else can have become the controller: a process that was frozen finds out
                    by its clock, before anybody tells it
        """
        self._office = office
        self._lease_left = lease_left

    def end(self) -> None:
        """This process is not the controller any more."""
        self._office = None

    @property
    def cluster(self) -> Cluster | None:
        """What is durable, while this process is the controller."""
        return self._office.loop.cluster if self._office is not None and self.is_active() else None

    def is_active(self) -> bool:
        return self._office is not None and self._office.loop.is_open and self._lease_left() > 0

    async def alter_reassignments(self, request: AlterReassignments, ctx: RequestContext) -> Sequence[ItemResult]:
        office = self._active()
        if any(target is not None for _, items in request.topics for _, target, _ in items):
            await office.up_to_date()  # a guard that stands holds it up
        return await self._submit(lambda: alter_reassignments_command.AlterReassignmentsCommand(request, who(ctx)))

    def list_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[Topic, Collection[int]]]:
        cluster = self._active().loop.cluster
        names: Iterable[str] = cluster.moving if wanted is None else (name for name in wanted if name in cluster.moving)
        for name in names:
            moving = cluster.moving[name]
            found = moving if wanted is None else sorted(moving.intersection(wanted[name]))
            if found:
                yield cluster.topics[name], found

    async def reassignments_disabled(self) -> KafkaError | None:
        await self._active().up_to_date()
        return restrictions.reassignments_disabled(self._active().loop.cluster)

    async def healing(self) -> HealingStatus:
        await self._active().up_to_date()
        return await self._active().healer.status()

    async def heal(self, broker: int, ctx: RequestContext, *, dry_run: bool) -> Repair:
        await self._active().up_to_date()
        return await self._active().healer.heal(broker, who(ctx), dry_run=dry_run)

    def waiting_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[str, Sequence[tuple[int, Partition, WaitingMove]]]]:
        cluster = self._active().loop.cluster
        waiting = cluster.queue.topics
        for name in list(waiting) if wanted is None else [name for name in wanted if name in waiting]:
            places = waiting[name]
            found = []
            for index in places if wanted is None else sorted(places.keys() & set(wanted[name])):
                partition = cluster.get(name, index)
                if partition is not None and not partition.is_moving:
                    found.append((index, partition, places[index].move))
            if found:
                yield name, found

    def throttles(self, topic: str) -> TopicThrottles:
        return TopicThrottles(self._active().loop.cluster, topic)

    def progress(self, topic: str, partition: int) -> MoveProgress | None:
        return None if self._office is None else self._office.progress.figures(topic, partition)

    def samples(self) -> int:
        return 0 if self._office is None else self._office.progress.samples

    @property
    def totals(self) -> Totals:
        """Of all moves in flight, as of the last sample; nothing while this process is not the controller."""
        return NO_TOTALS if self._office is None or not self.is_active() else self._office.progress.totals

    @property
    def repairs(self) -> RepairCounts:
        """As the last look has found them; none while this process is not the controller."""
        return NO_REPAIRS if self._office is None or not self.is_active() else self._office.healer.last_seen

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        return await self._submit(
            lambda: topic_commands.CreateTopicsCommand(
                topics, validate_only=validate_only, new_id=uuid4, random=self._random, by=who(ctx)
            )
        )

    async def delete_topics(
        self, names: Sequence[str], *, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        return await self._submit(lambda: topic_commands.DeleteTopicsCommand(names, who(ctx)))

    async def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        return await self._submit(
            lambda: topic_commands.CreatePartitionsCommand(topics, validate_only=validate_only, by=who(ctx))
        )

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, timeout_ms: int, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        return await self._submit(lambda: leadership_commands.ElectLeadersCommand(partitions, unclean=unclean))

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        return await self._submit(lambda: leadership_commands.AlterPartitionCommand(request))

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[TopicPartition]:
        return await self._submit(lambda: leadership_commands.ControlledShutdownCommand(broker_id, broker_epoch))

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        office = self._active()
        cluster = office.loop.cluster
        broker = cluster.brokers.get(broker_id)
        if broker is None or (broker_epoch >= 0 and broker_epoch != broker.epoch):
            raise StaleBrokerEpoch
        return await office.producer_ids.allocate(broker_id)

    async def producer_id(self) -> int:
        return await self._active().producer_ids.one()

    def _active(self) -> TermServices:
        if self._office is None or not self.is_active():
            raise NotController
        return self._office

    async def _submit(self, command: Callable[[], Command[T]]) -> T:
        return await self._active().loop.submit(command())
