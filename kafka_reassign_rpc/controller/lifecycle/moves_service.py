"""The controller of moves as the APIs call it, in front of any store: each call becomes a command, and waits
until the command is durable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, TypeVar

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands import queue_commands
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.commands.queue_commands import HoldMoves
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.progress_sampling import DiskSurvey
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.telemetry.server_status import NO_FIGURES, ClusterFigures, figures_of
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, NotController
from kafka_reassign_rpc.core.queue.holding import LONGEST_REASON, LONGEST_WHO, HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.status.broker_documents import ControllerState, broker_states
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.core.status.moves import moves_in_flight
from kafka_reassign_rpc.core.status.views import PartitionHealth, TermView
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.wall_clock import now_ms

T = TypeVar("T")

READ_S = 2.0
"""How long a reader waits for ZooKeeper. Then it gets what was known last."""


async def _diagnosed(term: "MovesTerm") -> HealingStatus:
    await term.up_to_date()
    return await term.healer.status()


async def _as_known(term: "MovesTerm", reading: Coroutine[object, object, T]) -> T | None:
    """For a reader who cannot wait until ZooKeeper is back; None: the last known has to do."""
    if term.connected():
        with suppress(TimeoutError):
            return await asyncio.wait_for(reading, READ_S)
    reading.close()
    return None


class ToldResults(Protocol):
    async def __call__(self, command: AlterReassignmentsCommand, timeout_ms: int = ..., /) -> Sequence[ItemResult]:
        """Waits until the cluster has been sent what was decided. Returns its refusals too, before the time is over.
        `command`: the loop has just got it."""


async def _durable(command: AlterReassignmentsCommand, _timeout_ms: int = 0, /) -> Sequence[ItemResult]:
    return await command.future


async def _known(_: AlterReassignments) -> None:
    pass


class MovesTerm(NamedTuple):
    """What one term offers to the APIs about moves.

    up_to_date  waits until the loop knows everything that was written to ZooKeeper before the call
    obeyed      waits until brokers obey; raises NotController if they do not
    looked_for  waits until what the request names, and the loop does not know, was looked for
    """

    loop: ControllerLoop
    up_to_date: Callable[[], Coroutine[object, object, None]]
    progress: ProgressTracker
    healer: Healer
    health: PartitionHealth
    disks: DiskSurvey
    connected: Callable[[], bool]
    obeyed: Callable[[], Awaitable[None]]
    told: ToldResults = _durable
    looked_for: Callable[[AlterReassignments], Awaitable[None]] = _known


class MovesService:
    """The `MovesPort`: passes calls to the loop of the present term."""

    def __init__(self) -> None:
        self._term: MovesTerm | None = None
        self._lease_left: Callable[[], float] = lambda: 0
        self.epoch: int | None = None
        """The epoch of the last term of this process."""
        self.since_ms: int | None = None
        """When that term was won, ms since 1970."""

    def begin(self, term: MovesTerm, lease_left: Callable[[], float]) -> None:
        """`lease_left` returns for how many seconds no other server can have become the controller: so a process that
        was frozen finds out by its clock."""
        self._term = term
        self._lease_left = lease_left

    def end(self) -> None:
        self._term = None

    async def finish(self, seconds: float) -> None:
        """Gives waiting calls this many seconds to get an answer."""
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
        await term.looked_for(request)
        command = AlterReassignmentsCommand(request, ctx.requester)
        self._active().loop.submit(command)
        return await term.told(command, request.timeout_ms)

    async def change_rates(
        self, wanted: Mapping[str, Collection[int] | None] | None, rate: int, ctx: RequestContext
    ) -> ThrottledMoves:
        await self._active().up_to_date()
        changed = await self.submit(queue_commands.ChangeLeaseRates(wanted, rate, ctx.requester))
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
            raise BrokerNotAvailable(
                "What stores the cluster does not answer, and self-healing was not diagnosed before."
            )
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
        return await self.submit(HoldMoves(selection, held, ctx.requester))

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
        assert self.epoch is not None, "a term is active"
        assert self.since_ms is not None, "a term is active"
        return ControllerState(product_version(), self.epoch, self.since_ms, states)

    def figures(self) -> ClusterFigures:
        if self._term is None or not self.is_active():
            return NO_FIGURES
        loop = self._term.loop
        return figures_of(loop.cluster, self._term.progress, refused=loop.throttle_leases.refused)

    def view(self) -> TermView | None:
        """What the status document is made of; None while this process is not the controller."""
        if self._term is None or not self.is_active():
            return None
        health, healer = self._term.health, self._term.healer
        return TermView(
            self._term.loop.cluster,
            self._term.progress,
            health.now if health.counted else None,
            healer.last_status,
            self._term.disks.disks,
            self._viewed,
            removed=self._term.loop.throttle_leases.removed,
        )

    def _viewed(self) -> None:
        if self._term is not None:
            self._term.disks.viewed()
            self._term.healer.viewed()

    @property
    def repairs(self) -> RepairCounts:
        """As last diagnosed."""
        return NO_REPAIRS if self._term is None or not self.is_active() else self._term.healer.last_diagnosed

    def _active(self) -> MovesTerm:
        term = self._term
        if term is None or not term.loop.is_open or self._lease_left() <= 0:  # as `is_active`: each request asks often
            raise NotController
        return term

    async def submit(self, command: Command[T]) -> T:
        return await self._active().loop.submit(command)
