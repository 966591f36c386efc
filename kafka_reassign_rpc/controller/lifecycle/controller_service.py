"""The controller as the APIs call it: each call becomes a command, and waits until the command is durable."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from random import SystemRandom
from typing import NamedTuple, TypeVar
from uuid import uuid4

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import (
    LONGEST_WAIT_MS,
    AlterPartition,
    AlterReassignments,
    CreatedTopic,
    ItemResult,
    NewPartitions,
    NewTopic,
)
from kafka_reassign_rpc.controller.commands import (
    alter_reassignments_command,
    leadership_commands,
    lease_commands,
    topic_commands,
)
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.commands.queue_commands import HoldMoves
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.disk_survey import DiskSurvey
from kafka_reassign_rpc.controller.duties.producer_ids import ProducerIds
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.telemetry.cluster_figures import NO_FIGURES, ClusterFigures, figures_of
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerIdNotRegistered,
    BrokerNotAvailable,
    KafkaError,
    NotController,
    RequestTimedOut,
    StaleBrokerEpoch,
)
from kafka_reassign_rpc.core.queue.holding import LONGEST_REASON, LONGEST_WHO, HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.controller_state import ControllerState, broker_states
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.core.status.moves import moves_in_flight
from kafka_reassign_rpc.core.status.partition_health import PartitionHealth
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.support.wall_clock import now_ms

T = TypeVar("T")

STOPPING_S = 2.0
"""The answer to a controlled shutdown waits so long for the broker's StopReplica: once it has the answer, a stock
broker soon takes no more requests. Stock controllers send StopReplica before they write the ISRs, so it mostly comes
first. A broker waits for the answer for controller.socket.timeout.ms (30 s)."""
READ_S = 2.0
"""Who only reads waits so long for ZooKeeper, and then gets what was known last."""
LEADERS_S = 0.1
"""So often new topics without leaders are checked while their clients wait."""


async def _diagnosed(term: "TermServices") -> HealingStatus:
    await term.up_to_date()
    return await term.healer.status()


async def _as_known(term: "TermServices", reading: Coroutine[object, object, T]) -> T | None:
    """For a reader who cannot wait until ZooKeeper is back; None: the last known has to do."""
    if term.connected():
        with suppress(TimeoutError):
            return await asyncio.wait_for(reading, READ_S)
    reading.close()
    return None


def _successes(outcomes: Mapping[str, object]) -> Collection[str]:
    return [name for name, outcome in outcomes.items() if not isinstance(outcome, KafkaError)]


def _too_late(outcomes: Mapping[str, T | KafkaError], late: Iterable[str]) -> Mapping[str, T | KafkaError]:
    """These have been changed, but the client's time is over. It gets the same answer as from Kafka."""
    return {**outcomes, **dict.fromkeys(late, RequestTimedOut())}


class TermServices(NamedTuple):
    """What one term offers to the APIs.

    up_to_date      waits until the loop knows everything that was written to ZooKeeper before the call
    deletion_known  set once `delete.topic.enable` is known, and at the end of the term
    stops_answered  waits, for so many seconds at most, until a broker has stopped the replicas that it has to stop
    obeyed          waits until brokers obey; raises NotController if they do not
    """

    loop: ControllerLoop
    producer_ids: ProducerIds
    up_to_date: Callable[[], Coroutine[object, object, None]]
    progress: ProgressTracker
    healer: Healer
    deletion_known: asyncio.Event
    health: PartitionHealth
    stops_answered: Callable[[int, float], Awaitable[None]]
    disks: DiskSurvey
    connected: Callable[[], bool]
    obeyed: Callable[[], Awaitable[None]]


class ControllerService:
    """The `ControllerPort`: passes calls to the loop of the present term."""

    def __init__(self) -> None:
        self._random = SystemRandom()
        self._term: TermServices | None = None
        self._lease_left: Callable[[], float] = lambda: 0
        self.epoch = -1
        """The epoch of the last term of this process."""
        self.since_ms = -1
        """When that term was won, ms since 1970."""

    def begin(self, term: TermServices, lease_left: Callable[[], float]) -> None:
        """`lease_left` returns for how many seconds no other server can have become the controller: so a process that
        was frozen finds out by its clock."""
        self._term = term
        self._lease_left = lease_left

    def end(self) -> None:
        self._term = None

    async def finish(self, seconds: float) -> None:
        """Gives waiting calls so many seconds to get an answer."""
        term, self._term = self._term, None
        if term is not None:
            await term.loop.wait_for_answers(seconds)

    @property
    def cluster(self) -> Cluster | None:
        return self._term.loop.cluster if self._term is not None and self.is_active() else None

    def is_active(self) -> bool:
        return self._term is not None and self._term.loop.is_open and self._lease_left() > 0

    async def obeyed(self) -> None:
        await self._active().obeyed()

    async def alter_reassignments(self, request: AlterReassignments, ctx: RequestContext) -> Sequence[ItemResult]:
        term = self._active()
        if any(isinstance(asked, MoveTerms) for _, items in request.topics for _, asked in items):
            await term.up_to_date()  # reassignments may have been disabled
        return await self._submit(alter_reassignments_command.AlterReassignmentsCommand(request, ctx.requester))

    async def change_rates(
        self, wanted: Mapping[str, Collection[int] | None] | None, rate: int, ctx: RequestContext
    ) -> ThrottledMoves:
        await self._active().up_to_date()
        changed = await self._submit(lease_commands.ChangeLeaseRates(wanted, rate, ctx.requester))
        if isinstance(changed, KafkaError):
            raise changed
        return changed

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
        term = self._active()
        await _as_known(term, term.up_to_date())
        return restrictions.reassignments_disabled(self._active().loop.cluster)

    async def healing(self) -> HealingStatus:
        """As diagnosed now; while ZooKeeper does not answer, as last diagnosed."""
        term = self._active()
        found = await _as_known(term, _diagnosed(term)) or term.healer.last_status
        if found is None:
            raise BrokerNotAvailable("ZooKeeper does not answer, and self-healing was not diagnosed before.")
        return found

    async def heal(self, broker: int, ctx: RequestContext, *, dry_run: bool) -> Repair:
        """A dry run writes nothing, so it does without ZooKeeper: it shows what was last known."""
        as_known = dry_run and not self._active().connected()
        if not as_known:
            await self._active().up_to_date()
        return await self._active().healer.heal(broker, ctx.requester, dry_run=dry_run, as_known=as_known)

    async def approve_repairs(self, brokers: Collection[int] | None, ctx: RequestContext) -> ApprovalOutcome:
        await self._active().up_to_date()
        return await self._active().healer.approve(brokers, ctx.requester)

    async def hold_moves(
        self, selection: Selection, ctx: RequestContext, *, hold: bool, reason: str = ""
    ) -> HoldOutcome:
        held = Held(now_ms(), ctx.requester.who[:LONGEST_WHO], reason[:LONGEST_REASON]) if hold else None
        return await self._submit(HoldMoves(selection, held, ctx.requester))

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

    def moves_in_flight(self, wanted: Mapping[str, Collection[int]] | None) -> Iterator[Move | None]:
        view = self.view()
        return iter(()) if view is None else moves_in_flight(view, wanted)

    def throttles(self, topic: str) -> TopicThrottles:
        return TopicThrottles(self._active().loop.cluster, topic)

    def state(self) -> ControllerState:
        states = broker_states(self._active().loop.cluster)
        return ControllerState(product_version(), self.epoch, self.since_ms, states)

    def figures(self) -> ClusterFigures:
        if self._term is None or not self.is_active():
            return NO_FIGURES
        loop = self._term.loop
        return figures_of(loop.cluster, self._term.progress, refused=loop.throttle_configs.refused)

    def view(self) -> TermView | None:
        """What the status document is made of; None while this process is not the controller."""
        if self._term is None or not self.is_active():
            return None
        health = self._term.health
        return TermView(
            self._term.loop.cluster,
            self._term.progress,
            health.now if health.counted else None,
            self._term.healer.last_status,
            self._term.disks.disks,
            self._viewed,
        )

    def _viewed(self) -> None:
        if self._term is not None:
            self._term.disks.viewed()
            self._term.healer.viewed()

    @property
    def repairs(self) -> RepairCounts:
        """As last diagnosed."""
        return NO_REPAIRS if self._term is None or not self.is_active() else self._term.healer.last_diagnosed

    async def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        outcomes = await self._submit(
            topic_commands.CreateTopicsCommand(
                topics, validate_only=validate_only, new_id=uuid4, random=self._random, quota=quota, by=ctx.requester
            )
        )
        return outcomes if validate_only else await self._led_in_time(outcomes, timeout_ms)

    async def delete_topics(
        self, names: Sequence[str], *, quota: MutationQuota, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        known = self._active().deletion_known
        if not known.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(known.wait(), min(max(timeout_ms, 0), LONGEST_WAIT_MS) / 1000)
        outcomes = await self._submit(topic_commands.DeleteTopicsCommand(names, quota, ctx.requester))
        return outcomes if timeout_ms > 0 else _too_late(outcomes, _successes(outcomes))

    async def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, KafkaError | None]:
        outcomes = await self._submit(
            topic_commands.CreatePartitionsCommand(topics, validate_only=validate_only, quota=quota, by=ctx.requester)
        )
        return outcomes if validate_only else await self._led_in_time(outcomes, timeout_ms)

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        return await self._submit(
            leadership_commands.ElectLeadersCommand(partitions, unclean=unclean, by=ctx.requester)
        )

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        return await self._active().loop.submit(leadership_commands.AlterPartitionCommand(request))

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[TopicPartition]:
        term = self._active()
        left = await term.loop.submit(leadership_commands.ControlledShutdownCommand(broker_id, broker_epoch))
        await term.stops_answered(broker_id, STOPPING_S)
        return left

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        term = self._active()
        cluster = term.loop.cluster
        broker = cluster.brokers.get(broker_id)
        if broker is None:
            raise BrokerIdNotRegistered
        if broker_epoch != broker.epoch:
            raise StaleBrokerEpoch
        return await term.producer_ids.allocate(broker_id)

    async def producer_id(self) -> int:
        return await self._active().producer_ids.one()

    async def _led_in_time(
        self, outcomes: Mapping[str, T | KafkaError], timeout_ms: int
    ) -> Mapping[str, T | KafkaError]:
        """Answers once all partitions have leaders or the client's time is over (ZkAdminManager,
        DelayedCreatePartitions)."""
        late: Collection[str] = _successes(outcomes)
        if timeout_ms <= 0:
            return _too_late(outcomes, late)
        until = time.monotonic() + min(timeout_ms, LONGEST_WAIT_MS) / 1000
        while True:
            late = await in_turns(self._leaderless(late))
            if not late or time.monotonic() >= until:
                return _too_late(outcomes, late)
            await asyncio.sleep(LEADERS_S)

    def _leaderless(self, names: Iterable[str]) -> Generator[None, None, Collection[str]]:
        found = []
        for name in names:
            topic = None if self.cluster is None else self.cluster.topics.get(name)
            if topic is None or any(one.leader == NO_LEADER for one in topic.partitions.values()):
                found.append(name)
            yield
        return found

    def _active(self) -> TermServices:
        term = self._term
        if term is None or not term.loop.is_open or self._lease_left() <= 0:  # as `is_active`: each request asks often
            raise NotController
        return term

    async def _submit(self, command: Command[T]) -> T:
        return await self._active().loop.submit(command)
