"""Self-healing (KIP-46) during one term: diagnoses failed brokers and queues their repairs.

1. After a change of brokers or configs, and at set times, `DiagnoseFailedBrokers` says which brokers to heal now or
   soon.
2. Soon: the healer asks brokers for the sizes of their replicas, and the planner decides where replicas go.
3. Now: `QueueRepairs` compares the plan with the state by then. Its moves join the queue: they are durable, and the
   failures are forgotten.

A controller that dies on the way leaves failures for its successor. Replicas whose moves wait or move by then do not
count as lost, so nothing is repaired twice. When a broker returns, moves of its repair that have not started leave the
queue.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.controller.commands.queue_repairs_command import (
    ApproveRepairs,
    PreparedRepair,
    QueuedRepair,
    QueueRepairs,
)
from kafka_reassign_rpc.controller.commands.repair_commands import (
    DiagnoseFailedBrokers,
    FailedBrokersReport,
    RepairMemory,
)
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties import healing_answers
from kafka_reassign_rpc.controller.duties.progress_sampling import Disk, Sample
from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.healing import repair_targets
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, PREPARE_MS, DescribedLogDirs, RepairCounts
from kafka_reassign_rpc.core.healing.repair_targets import rates_of
from kafka_reassign_rpc.core.healing.self_healing_status import (
    ApprovalOutcome,
    HealingStatus,
    Repair,
)
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.reassignment.remaining_time import ObservedThroughput
from kafka_reassign_rpc.core.reassignment_algebra import min_insync_replicas
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import missing_replicas
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import InMemoryPlanner
from kafka_reassign_rpc.planner.plan_result import Plan, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import (
    UNKNOWN,
    PlannerBroker,
    PlannerCluster,
    PlannerPartition,
    PlannerTopic,
)
from kafka_reassign_rpc.support.counted import those
from kafka_reassign_rpc.support.turns import Pace, in_turns

log = logging.getLogger(__name__)

DIAGNOSE_EVERY_S = 10.0
"""How often to diagnose while a broker is gone: moves by hand can end a failure too."""

DIAGNOSE_MOVES_EVERY_S = 60.0
"""How often while no replica is lost, and there are moves: one may name a broker that is gone. A look at 100,000
partitions costs 0.2 s of CPU."""

PLANNING = PlanOptions(lead_first=False, weights=GoalWeights(time=0.0))
"""The cluster is not balanced after a repair: the emptiest brokers get most, and no leader changes for it."""


class Healer:
    """sample          asks brokers for the sizes of their replicas
    ask             asks brokers which of their log dirs have failed
    """

    def __init__(
        self,
        loop: ControllerLoop,
        now_ms: Callable[[], int],
        sample: Callable[[], Awaitable[Sample]],
        throughput: ObservedThroughput,
        ask: Callable[[Collection[int]], Awaitable[Mapping[int, DescribedLogDirs]]],
    ) -> None:
        self._ask = ask
        self._described: Mapping[int, DescribedLogDirs] = {}
        self._loop = loop
        self._now_ms = now_ms
        self._sample = sample
        self._throughput = throughput
        self._memory = RepairMemory()
        self._prepared: PreparedRepair | None = None
        self._wake = asyncio.Event()
        self._repairs = asyncio.Lock()
        self.last_diagnosed = NO_REPAIRS
        self._last_report: FailedBrokersReport | None = None
        self._sizes: dict[TopicPartition, int] = {}
        """Of partitions that repairs may concern."""
        self._sized: tuple[int, frozenset[int]] = (0, frozenset())
        """When the brokers were last asked for sizes, and because of which lost ones."""
        self._is_viewed = False

    def diagnose_again(self) -> None:
        self._wake.set()

    def look_for_lost(self, partitions: Iterable[Partition]) -> Iterator[None]:
        """Others may have put replicas where no broker is: nothing else would have that noticed."""
        for one in partitions:
            if any(broker not in self._loop.cluster.brokers for broker in one.replicas):
                self.diagnose_again()
                return
            yield

    def nothing_moves(self) -> None:
        """If there was a repair, it has ended."""
        if self._memory.repairs:
            self._wake.set()

    async def run(self) -> None:
        while self._loop.is_open:
            self._wake.clear()
            pause: float | None = DIAGNOSE_EVERY_S
            try:
                pause = await self.diagnose_and_heal()
                if await self.ask_for_sizes():
                    await self._diagnose()
            except (PlanError, KafkaError) as error:
                log.info("no repair starts before the next diagnosis: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    async def diagnose_and_heal(self) -> float | None:
        """Heals or prepares. Returns after how many seconds to diagnose again if nothing happens.

        Raises PlanError if brokers came back in between, KafkaError if repairs are held back by now, or if this is no
        longer the controller.
        """
        damaged = frozenset() if self._last_report is None else self._last_report.damaged
        self._described = await self._ask(damaged) if damaged else {}
        found = await self._diagnose()
        if found.unjudged:
            self._described = {**self._described, **await self._ask(found.unjudged)}
            found = await self._diagnose()
        if found.diagnosis.heal:
            await self._heal(found.diagnosis.heal, CONTROLLER)
        coming = found.diagnosis.prepare
        if not coming:
            self._prepared = None
        elif self._prepared_for(coming) is None:
            self._prepared = await self._prepare(coming)
        return self._pause(found)

    async def ask_for_sizes(self) -> bool:
        """Of the replicas of lost brokers: at once for one that is newly lost, then from time to time while somebody
        looks. Returns whether it has asked."""
        found = self._last_report
        lost = frozenset() if found is None else frozenset(found.lost) | {one.broker for one in found.repairs}
        at, before = self._sized
        if not lost:
            self._sizes, self._sized = {}, (0, lost)
        elif lost != before or (self._is_viewed and not 0 <= self._now_ms() - at < healing_answers.ASK_EVERY_S * 1000):
            self._is_viewed = False
            sample, sizes = await self._sample(), dict[TopicPartition, int]()
            await Pace().through(healing_answers.of_lost(self._loop.cluster, sample.sizes, sizes))
            self._sizes, self._sized = sizes, (self._now_ms(), lost)
            return True
        return False

    def viewed(self) -> None:
        self._is_viewed = True

    async def status(self) -> HealingStatus:
        self.viewed()
        return self._status_of(await self._diagnose())

    @property
    def last_status(self) -> HealingStatus | None:
        """Costs nothing; None before the first diagnosis."""
        return None if self._last_report is None else self._status_of(self._last_report)

    def _status_of(self, found: FailedBrokersReport) -> HealingStatus:
        cluster = self._loop.cluster
        costs = healing_answers.costs_of(cluster, found.costs, found.settings.throttle, self._throughput.fastest)
        return healing_answers.status_of(cluster, found, costs, self._memory.problems, self._memory.left)

    async def heal(self, broker: int, by: Requester, *, dry_run: bool, as_known: bool = False) -> Repair:
        """As an operator wants; a dry run shows the plan.

        as_known  a dry run that waits for no store: it plans from what was last diagnosed

        Raises InvalidRequest if the broker is not lost, PolicyViolation if something holds repairs back.
        """
        if broker in self._loop.cluster.brokers and broker not in self._loop.cluster.failed_log_dirs:
            raise InvalidRequest(f"Broker {broker} is registered: there is nothing to heal.")
        error = missing_replicas.refusal(self._loop.cluster, (broker,))
        if error is not None:
            raise InvalidRequest(error.message)
        known = self._last_report if dry_run and as_known else None
        found = known or await self._diagnose(() if dry_run else (broker,))
        if not found.lost.get(broker):
            raise InvalidRequest(healing_answers.nothing_left(broker, found))
        if found.diagnosis.held_back is not None and not dry_run:
            raise healing_answers.nothing_is_healed(found.diagnosis.held_back)
        try:
            if dry_run:
                prepared = await self._prepare((broker,))
                queued = QueuedRepair(None, prepared.plan.moves, prepared.plan.left_out)
            else:
                prepared, queued = await self._heal((broker,), by)
        except PlanError as error:
            raise PolicyViolation(f"Nothing can be healed: {error}.") from error
        rate = rates_of(self._loop.cluster, found.settings.throttle, self._throughput.fastest)
        return await in_turns(healing_answers.shown(queued.moves, queued.left_out, prepared.sizes, rate))

    async def approve(self, brokers: Collection[int] | None, by: Requester) -> ApprovalOutcome:
        """`brokers` None: all. Raises PolicyViolation if something holds repairs back."""
        found = await self._loop.submit(ApproveRepairs(brokers, by))
        if found.held_back is not None:
            raise healing_answers.nothing_is_healed(found.held_back)
        self._wake.set()
        return found.outcome

    def _pause(self, found: FailedBrokersReport) -> float | None:
        """Seconds until the next diagnosis if nothing happens; None waits without end."""
        every: float | None = None
        if any((found.lost, found.damaged, found.waiting, found.moving)):
            every = DIAGNOSE_EVERY_S
        elif found.gone or self._loop.cluster.moving or self._loop.cluster.queue.names:
            every = DIAGNOSE_MOVES_EVERY_S
        due = found.diagnosis.due_ms
        return every if every is None or due is None else min(every, max(0.0, (due - self._now_ms()) / 1000))

    async def _diagnose(self, ordered: Sequence[int] = ()) -> FailedBrokersReport:
        found = await self._loop.submit(
            DiagnoseFailedBrokers(
                self._memory,
                self._now_ms(),
                ordered,
                fastest=self._throughput.fastest,
                described=self._described,
                sizes=self._sizes,
            )
        )
        self._last_report = found
        self.last_diagnosed = RepairCounts(
            failed=len(self._loop.cluster.failed) + len(found.gone),
            log_dirs=len(self._loop.cluster.live_with_failed_log_dirs),
            alerted=len(found.diagnosis.alerts) + found.gone_alerted,
            waiting=found.waiting,
            moving=found.moving,
            impossible=len(self._memory.left),
            held_back=found.diagnosis.held_back is not None,
            paused=found.settings.paused,
            unapproved=found.unapproved,
        )
        return found

    async def _heal(self, brokers: tuple[int, ...], by: Requester) -> tuple[PreparedRepair, QueuedRepair]:
        """One repair runs at a time: the next one knows its queued moves. Raises PolicyViolation if repairs are held
        back by the time that this one is planned."""
        async with self._repairs:
            prepared = self._prepared_for(brokers) or await self._prepare(brokers)
            self._prepared = None
            fastest, now_ms = self._throughput.fastest, self._now_ms()
            queueing = QueueRepairs(prepared, fastest, self._memory, now_ms, by)
            queued = await self._loop.submit(queueing)
            if queued.held_back is not None:
                raise healing_answers.nothing_is_healed(queued.held_back)
            return prepared, queued

    def _prepared_for(self, brokers: tuple[int, ...]) -> PreparedRepair | None:
        found = self._prepared
        cluster = self._loop.cluster
        wanted = brokers, cluster.brokers, cordoned(cluster)
        if found is None or (found.brokers, found.live, found.cordoned) != wanted:
            return None
        return found if 0 <= self._now_ms() - found.at_ms <= 2 * PREPARE_MS else None

    async def _prepare(self, brokers: tuple[int, ...]) -> PreparedRepair:
        at_ms, live = self._now_ms(), self._loop.cluster.brokers
        sample = await self._sample()
        cluster = self._loop.cluster
        topics: list[PlannerTopic] = []
        coming = _Coming(Counter(), Counter())
        waiting: dict[TopicPartition, PlannedMove] = {}
        stand_ins: set[int] = set()
        await Pace().through(_topics(cluster, sample, topics, coming, frozenset(brokers), waiting, stand_ins))
        absent = {*cluster.failed, *brokers} - cluster.brokers.keys()
        lost = [PlannerBroker(broker, live=False) for broker in sorted(absent | stand_ins)]
        closed = cordoned(cluster)
        there = [
            PlannerBroker(
                broker.id,
                broker.rack,
                capacity=UNKNOWN if disk.capacity is None else disk.capacity,
                free=UNKNOWN if disk.free is None else disk.free,
                arriving=coming.bytes[broker.id],
                arriving_unknown=coming.unknown[broker.id],
                volumes=disk.volumes,
                cordoned=broker.id in closed or has_failed,
                failed_log_dirs=has_failed,
            )
            for broker in cluster.brokers.values()
            for disk in [sample.disks.get(broker.id, Disk())]
            for has_failed in [bool(disk.failed) or _stand_in(broker.id) in stand_ins]
        ]
        named = [_stand_in(broker) if broker in cluster.brokers else broker for broker in brokers]
        back = [_stand_in(one) for one in named if one < 0 and one not in stand_ins]
        if back:
            raise PlanError(f"{those(back, verb='are')} live")
        goal = Goal(GoalKind.HEAL, tuple(named))
        planning = InMemoryPlanner(PlannerCluster(there + lost, topics), goal, PLANNING)
        await Pace().through(planning.steps())
        await Pace().through(_free(topics))
        plan = await in_turns(_with_brokers(planning.plan, waiting.values()))
        return PreparedRepair(plan, brokers, live, at_ms, closed, waiting.keys(), sample.sizes)


def _free(topics: list[PlannerTopic]) -> Iterator[None]:
    """Freeing all partitions at once takes too long."""
    while topics:
        topics.pop()
        yield


class _Coming(NamedTuple):
    """What moves, waiting or not, have yet to copy to each broker: bytes, and replicas of unknown size. The copied part
    counts as well: brokers are asked only for the sizes of leaders."""

    bytes: Counter[int]
    unknown: Counter[int]


def _topics(
    cluster: Cluster,
    sample: Sample,
    found: list[PlannerTopic],
    coming: _Coming,
    repaired: frozenset[int],
    waiting: dict[TopicPartition, PlannedMove],
    stand_ins: set[int],
) -> Iterator[None]:
    """Fills `found` with the planner's input: each partition has the replicas that its move, waiting or not, leads to;
    and `waiting` with the moves of others that wait and would take lost replicas from the `repaired` brokers: they are
    as good as what the planner finds, and their operators want them. To the planner a replica on a failed log dir is
    one on a dead broker, the `_stand_in` of its own. Those go into `stand_ins`.
    """
    for topic in list(cluster.topics.values()):
        if topic.deleting:
            continue
        min_isr = min_insync_replicas(cluster, topic.name)
        partitions = []
        for index in sorted(topic.partitions):
            partition = cluster.get(topic.name, index)
            if partition is None:
                continue
            place = cluster.queue.place(topic.name, index)
            queued = None if place is None else place.move
            wanted = repair_targets.wanted_replicas(cluster, partition, queued)
            target = queued.terms.target if repair_targets.serves_as_repair(queued, cluster, partition) else wanted
            size = sample.sizes.get(TopicPartition(topic.name, index), UNKNOWN)
            to_copy = repair_targets.still_to_copy(partition, target)
            if target != wanted and any(cluster.is_lost(one, partition) for one in repaired.intersection(wanted)):
                copied = max(0, size) * len(to_copy)
                waiting[TopicPartition(topic.name, index)] = PlannedMove(
                    topic.name, index, wanted, target, partition.leader, copied, 0, "its move waits already", ""
                )
            for broker in to_copy:
                if size == UNKNOWN:
                    coming.unknown[broker] += 1
                else:
                    coming.bytes[broker] += size
            offline = {broker for broker in partition.offline if broker in cluster.brokers}
            stand_ins.update(map(_stand_in, offline.intersection(target)))
            partitions.append(
                PlannerPartition(
                    index,
                    tuple([_stand_in(broker) if broker in offline else broker for broker in target]),
                    leader=partition.leader,
                    isr=tuple([broker for broker in partition.isr if broker not in offline]),
                    # The planner leaves moving partitions alone, unless they move to a failed broker.
                    moving=target != partition.replicas
                    and not any(cluster.is_lost(broker, partition) for broker in target),
                    bytes=size,
                    min_isr=min_isr,
                )
            )
            yield
        found.append(PlannerTopic(topic.name, partitions))


def _stand_in(broker: int) -> int:
    """An id that no broker has. It is its own inverse, so that the plan can be read back."""
    return -2 - broker


def _with_brokers(plan: Plan, adopted: Iterable[PlannedMove]) -> Generator[None, None, Plan]:
    """The plan without stand-ins, and before it the moves that others have in the queue."""
    moves = [*adopted]
    for move in plan.moves:
        moves.append(move._replace(original=_real(move.original), target=_real(move.target)))
        yield
    left_out = []
    for one in plan.left_out:
        left_out.append(one._replace(replicas=_real(one.replicas)))
        yield
    return msgspec.structs.replace(plan, moves=tuple(moves), left_out=tuple(left_out))


def _real(replicas: tuple[int, ...]) -> tuple[int, ...]:
    return (
        replicas if min(replicas, default=0) >= 0 else tuple([one if one >= 0 else _stand_in(one) for one in replicas])
    )
