"""Self-healing (KIP-46), for one term of office: looks at who is gone, and queues repairs.

    a broker goes or comes, a config changes, a time has come
        -> `Look`: failures are noted and forgotten; which brokers are to be healed
        -> the planner, in slices: where their replicas go
        -> the queue, like any other moves, with the route "heal": durable, and taken up chunk by chunk
        -> `Scheduled`: the failures are forgotten

A controller that dies anywhere on the way leaves failures that its successor heals: what is queued or moving by then
is not lost any more, so nothing is repaired twice. A broker that comes back takes what has not started out of the
queue.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress

from kafka_reassign_rpc.api.node import AlterReassignments, FailedBroker, HealingStatus, Repair, RepairMove, TargetItem
from kafka_reassign_rpc.controller.command import SLICE
from kafka_reassign_rpc.controller.commands import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.healing_commands import Found, Look, Memory, Repaired, Scheduled
from kafka_reassign_rpc.controller.loop import Loop
from kafka_reassign_rpc.controller.pace import Pace
from kafka_reassign_rpc.controller.progress import Disk, Sample
from kafka_reassign_rpc.core import healing, model
from kafka_reassign_rpc.core.errors import InvalidRequest, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.healing import NO_REPAIRS, Healing, Repairs
from kafka_reassign_rpc.core.history import CONTROLLER
from kafka_reassign_rpc.core.model import HEAL, Cluster, TopicPartition
from kafka_reassign_rpc.planner.local import Planning, Snapshot
from kafka_reassign_rpc.planner.model import UNKNOWN, Broker, Goal, Kind, Partition, Plan, PlanError, Topic

log = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0
"""How often to look while somebody is gone: what an operator does by hand ends a failure too."""

MIN_ISR = "min.insync.replicas"


class Healer:
    """`run` is its one task; `status` and `heal` answer operators.

    last_seen     how repairs stand as of the last look
    started_with  how this server was told to heal; the cluster's dynamic configs stand above it
    sample        asks brokers what lies on them
    """

    def __init__(
        self,
        loop: Loop,
        started_with: Healing,
        now_ms: Callable[[], int],
        sample: Callable[[], Awaitable[Sample]],
    ) -> None:
        self._loop = loop
        self._started_with = started_with
        self._now_ms = now_ms
        self._sample = sample
        self._memory = Memory()
        self._news = asyncio.Event()
        self._repairs = asyncio.Lock()
        self.last_seen = NO_REPAIRS

    def look_again(self) -> None:
        """Something has changed that matters here: brokers, or configs."""
        self._news.set()

    def nothing_moves(self) -> None:
        """Nothing moves or waits any more: if there was a repair, it has ended."""
        if self._memory.repairs:
            self._news.set()

    async def run(self) -> None:
        """Until cancelled, or until this is no longer the controller."""
        while self._loop.is_open:
            self._news.clear()
            pause: float | None = LOOK_EVERY_S
            try:
                pause = await self.turn()
            except (PlanError, KafkaError) as error:
                log.info("not healed now: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.wait()

    async def turn(self) -> float | None:
        """One look, and what follows from it. Returns after how many seconds to look again though nothing happens.

        Raises PlanError where brokers came back meanwhile, KafkaError where this is no longer the controller.
        """
        found = await self._look()
        if found.diagnosis.heal:
            await self._heal(found.diagnosis.heal, found.settings, CONTROLLER)
        return self._pause(found)

    async def status(self) -> HealingStatus:
        """What is known of lost brokers, and what becomes of them."""
        found = await self._look()
        failed = self._loop.cluster.failed
        brokers = [
            FailedBroker(broker, since, found.diagnosis.heal_at.get(broker), found.lost.get(broker, 0))
            for broker, since in sorted(failed.items())
        ]
        settings = found.settings
        return HealingStatus(
            settings.interval_ms,
            settings.paused,
            found.diagnosis.held_back,
            brokers,
            found.waiting,
            found.moving,
            problems=[*self._memory.problems, *self._memory.impossible],
        )

    async def heal(self, broker: int, by: str, *, dry_run: bool) -> Repair:
        """An operator wants a lost broker healed now, or to see what that would be.

        Raises InvalidRequest where it is not lost, PolicyViolation where something holds repairs back.
        """
        if broker in self._loop.cluster.brokers:
            raise InvalidRequest(f"Broker {broker} is registered: there is nothing to heal.")
        found = await self._look(() if dry_run else (broker,))
        if broker not in found.lost:
            raise InvalidRequest(f"Broker {broker} holds no replica that is not being moved already.")
        if found.diagnosis.held_back is not None and not dry_run:
            raise PolicyViolation(f"Nothing is healed: {found.diagnosis.held_back}.")
        try:
            plan = await (self._plan((broker,)) if dry_run else self._heal((broker,), found.settings, by))
        except PlanError as error:
            raise PolicyViolation(f"Nothing can be healed: {error}.") from error
        return _shown(plan)

    def _pause(self, found: Found) -> float | None:
        """How long there is nothing to look at unless something happens, in seconds; None: for ever."""
        if not found.lost and not found.waiting and not found.moving:
            return None
        due = found.diagnosis.due_ms
        return LOOK_EVERY_S if due is None else min(LOOK_EVERY_S, max(0.0, (due - self._now_ms()) / 1000))

    async def _look(self, ordered: Sequence[int] = ()) -> Found:
        found = await self._loop.submit(Look(self._started_with, self._memory, self._now_ms(), ordered))
        self.last_seen = Repairs(
            failed=len(self._loop.cluster.failed),
            alerted=len(found.diagnosis.alerts),
            waiting=found.waiting,
            moving=found.moving,
            impossible=self._memory.left,
            held_back=found.diagnosis.held_back is not None,
        )
        return found

    async def _heal(self, brokers: Sequence[int], settings: Healing, by: str) -> Plan:
        """Queue the repair of these brokers. One at a time: what the other has queued is not lost any more."""
        async with self._repairs:
            live, began = frozenset(self._loop.cluster.brokers), self._now_ms()
            plan = await self._plan(brokers)
            gone = [broker for broker in brokers if broker not in self._loop.cluster.brokers]
            wanted: Wanted = {}
            await Pace().through(_wanted(self._loop.cluster, plan, gone, wanted))
            moves, left = Counter(dict.fromkeys(gone, 0)), Counter[int]()
            reasons: Counter[str] = Counter()
            repairs = set()
            for (_, reason), topics in wanted.items():
                request = AlterReassignments(
                    topics=[(topic, [item for item, _ in found]) for topic, found in topics.items()],
                    queue=True,
                    route=HEAL,
                    reason=reason,
                    throttle=settings.throttle,
                )
                lost = {
                    (topic, item[0]): brokers_lost for topic, found in topics.items() for item, brokers_lost in found
                }
                for topic, index, error in await self._loop.submit(AlterReassignmentsCommand(request, by)):
                    if error is None:
                        moves.update(lost[topic, index])
                        repairs.add(reason)
                    else:
                        left.update(lost[topic, index])
                        reasons[f"{error.name}: {error}"] += 1
            for one in plan.left_out:
                left.update(broker for broker in one.replicas if broker in gone)
                reasons[one.reason] += 1
            repaired = Repaired(moves, left, reasons, frozenset(repairs), live, began)
            await self._loop.submit(Scheduled(repaired, self._memory, by))
            return plan

    async def _plan(self, brokers: Sequence[int]) -> Plan:
        sample = await self._sample()
        cluster = self._loop.cluster
        topics: list[Topic] = []
        await Pace().through(_topics(cluster, sample, topics))
        lost = [Broker(broker, live=False) for broker in {*cluster.failed, *brokers} - cluster.brokers.keys()]
        live = [
            Broker(broker.id, broker.rack, capacity=disk.capacity, free=disk.free)
            for broker in cluster.brokers.values()
            for disk in [sample.disks.get(broker.id, Disk())]
        ]
        planning = Planning(Snapshot(live + lost, topics), Goal(Kind.HEAL, tuple(brokers)))
        await Pace().through(planning.steps())
        return planning.plan


Wanted = dict[tuple[int, str], dict[str, list[tuple[TargetItem, Sequence[int]]]]]
"""What is to join the queue, by priority and reason, in this order; by topic; with the brokers that were lost."""


def _wanted(cluster: Cluster, plan: Plan, gone: Sequence[int], wanted: Wanted) -> Iterator[None]:
    """Fill `wanted`, yielding every `SLICE` moves. Partitions that have got other replicas since, or whose brokers
    are back, are left to the next look."""
    for count, move in enumerate(plan.moves, 1):
        partition = cluster.get(move.topic, move.partition)
        lost = [broker for broker in move.origin if broker in gone]
        if partition is not None and lost and _stands(cluster, move.topic, move.partition, partition) == move.origin:
            item = (move.partition, move.target, partition.replicas)
            wanted.setdefault((move.priority, _reason(lost)), {}).setdefault(move.topic, []).append((item, lost))
        if count % SLICE == 0:
            yield


def _stands(cluster: Cluster, topic: str, index: int, partition: model.Partition) -> tuple[int, ...]:
    place = cluster.queue.place((topic, index))
    return healing.wanted(cluster, partition, None if place is None else place.move)


def _reason(brokers: Sequence[int]) -> str:
    return f"heal broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, sorted(brokers)))}"


def _topics(cluster: Cluster, sample: Sample, found: list[Topic]) -> Iterator[None]:
    """Fill `found` with the cluster as the planner sees it, with what waits and what moves where it will be; yields
    every `SLICE` partitions."""
    count = 0
    for topic in list(cluster.topics.values()):
        if topic.deleting:
            continue
        text = cluster.topic_config(topic.name, MIN_ISR, "1")
        min_isr = int(text) if text.isascii() and text.isdigit() else 1
        partitions = []
        for index in sorted(topic.partitions):
            partition = cluster.get(topic.name, index)
            if partition is None:
                continue
            target = _stands(cluster, topic.name, index, partition)
            partitions.append(
                Partition(
                    index,
                    target,
                    leader=partition.leader,
                    isr=partition.isr,
                    # What is on its way somewhere else is left alone, unless it is on its way to a lost broker.
                    moving=target != partition.replicas and all(broker in cluster.brokers for broker in target),
                    bytes=sample.sizes.get(TopicPartition(topic.name, index), UNKNOWN),
                    min_isr=min_isr,
                )
            )
            count += 1
            if count % SLICE == 0:
                yield
        found.append(Topic(topic.name, partitions))


def _shown(plan: Plan) -> Repair:
    return Repair(
        [RepairMove(move.topic, move.partition, move.origin, move.target) for move in plan.moves],
        [(one.topic, one.partition, one.reason) for one in plan.left_out],
        plan.summary.bytes,
    )
