"""Queues the moves of a planned repair (KIP-46), of failed brokers and of what brokers have lost with log dirs; and
approves repairs (`core.healing.failed_brokers` says which ones need it).
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.repair_commands import RepairMemory, count_lost
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing import failed_brokers, repair_targets
from kafka_reassign_rpc.core.healing.failed_brokers import awaits, brake, counting, needed_since
from kafka_reassign_rpc.core.healing.repair_targets import explained
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, UnrepairedPartition, impossible_texts
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue import holding, queue_admission
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment_algebra import min_insync_replicas
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import QueuePlace, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.planner.plan_result import LeftOut, Plan, PlannedMove
from kafka_reassign_rpc.planner.scheduling.queue_order import StartOrder, start_priority
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command

ENDS_UNSEEN = "how its move has ended is not sure yet: ask again"
HAS_CHANGED = "its replicas or waiting moves have changed since the repair was planned: ask again"


class PreparedRepair(NamedTuple):
    """`plan` heals `brokers`. It was made at `at_ms`, when the brokers in `live` were registered.

    cordoned   the brokers that it gives no replica
    adopted    moves of the plan that others had in the queue
    sizes      bytes of the leaders' replicas, as far as brokers have reported them
    """

    plan: Plan
    brokers: tuple[int, ...]
    live: Mapping[int, Broker]
    at_ms: int
    cordoned: frozenset[int] = frozenset()
    adopted: Collection[TopicPartition] = ()
    sizes: Mapping[TopicPartition, int] = {}


class QueuedRepair(NamedTuple):
    """held_back  why nothing of it joined the queue
    moves      those in the queue now, in the order of the plan
    left_out   the partitions that the planner or the queue did not take
    """

    held_back: str | None
    moves: Sequence[PlannedMove] = ()
    left_out: Sequence[LeftOut] = ()


class QueueRepairs(Command[QueuedRepair]):
    """Queues the moves of a planned repair, and forgets the failures of absent brokers that the repair empties.

    If pause or brake hold by now, nothing joins the queue, and the answer says why. The next diagnosis deals with a
    partition whose replicas or waiting moves have changed since, or whose brokers are back: the failures of brokers
    that hold such partitions stay. Partitions that cannot be written to now come first (see `start_priority`); within
    that, brokers take turns. A repair in the place of a held move is held as that was: its operator wants nothing to
    start there before its release.

    `fastest` is the highest observed replication throughput, bytes/s.
    """

    def __init__(
        self,
        prepared: PreparedRepair,
        fastest: int,
        memory: RepairMemory,
        now_ms: int,
        by: Requester,
    ) -> None:
        super().__init__()
        self.by = by
        self._prepared = prepared
        self._fastest = fastest
        self._emptied: set[int] = set()
        self._since: dict[int, int] = {}
        """Of brokers whose failure ends since their repair is queued."""
        self._now_ms = now_ms
        self._memory = memory

    def decide(self, work: Round) -> Iterator[None]:
        settings = work.view.cluster.soft.in_force.healing
        lost = yield from count_lost(work)
        self._leaving, self._rest = lost.leaving, Counter(lost.replicas)
        gone = self._still_gone(work)
        self._held_back = brake(counting(lost.brokers, work.view.cluster), work.view.cluster.brokers, settings)
        if self._held_back is None and not gone:
            self._held_back = "what was to be healed has come back, or its repair is queued already"
        if self._held_back is None:
            yield from self._queue_all(work, gone, settings)
            moves = []
            for move in self._prepared.plan.moves:
                if (move.topic, move.partition) in self._queued:
                    moves.append(move)
                yield
            self.answer(QueuedRepair(None, moves, [*self._prepared.plan.left_out, *self._refused]))
        else:
            self.answer(QueuedRepair(self._held_back))

    def _still_gone(self, work: Round) -> frozenset[int]:
        """Those that have been gone all the time: a bounce during planning ends a failure too. After a lost commit this
        very repair may be why the failures are forgotten."""
        brokers = work.view.cluster.brokers.keys()
        gone = (work.view.failures().keys() | self._emptied) - brokers
        in_part = (work.view.log_dir_failures().keys() | self._emptied) & brokers
        return frozenset(self._prepared.brokers) & (gone | in_part)

    def _queue_all(self, work: Round, gone: frozenset[int], settings: HealingSettings) -> Iterator[None]:
        throttle = settings.throttle
        self._rate, self._explained = throttle.of(self._fastest), explained(throttle, self._fastest)
        self._unapproved: Counter[int] = Counter()
        self._held: Counter[int] = Counter()
        self._queued: set[tuple[str, int]] = set()
        self._refused: list[LeftOut] = []
        self._moves, self._repairs = dict.fromkeys(sorted(gone), 0), set[str]()
        self._left = {name: left for name, left in self._memory.left.items() if left.brokers.isdisjoint(gone)}
        turns = StartOrder()
        yield from self._order_moves(work, gone, turns)
        for move in turns.moves():
            self._queue(work, move, gone, settings)
            yield
        for one in self._prepared.plan.left_out:
            self._leave(work, TopicPartition(one.topic, one.partition), one.replicas, one.reason)
            yield
        self._report(work)

    def _order_moves(self, work: Round, gone: frozenset[int], turns: StartOrder) -> Iterator[None]:
        cluster = work.view.cluster
        topic, min_isr = None, 1
        for move in self._prepared.plan.moves:
            name = TopicPartition(move.topic, move.partition)
            partition = work.view.get(*name)
            if partition is not None and _lost(cluster, partition, move, gone):
                queued = queue_admission.find(work.view, name)
                joined = queued is not None and (queued.terms.route, queued.terms.target) == (HEAL, move.target)
                wanted = repair_targets.wanted_replicas(cluster, partition, queued)
                if repair_targets.ends_unseen(partition):
                    self._refused.append(LeftOut(*name, move.original, ENDS_UNSEEN))
                elif joined or (wanted == move.original and self._is_as_planned(work, name, move.target, queued)):
                    if move.topic != topic:
                        topic, min_isr = move.topic, min_insync_replicas(cluster, move.topic)
                    turns.add(move, start_priority(partition.isr, min_isr, cluster.brokers), partition.leader)
                else:
                    self._refused.append(LeftOut(*name, move.original, HAS_CHANGED))
            yield

    def _is_as_planned(
        self, work: Round, name: TopicPartition, target: tuple[int, ...], queued: WaitingMove | None
    ) -> bool:
        """Whether the moves that the repair has adopted are still wanted, and no other move is by now."""
        partition = work.view.get(*name)
        if partition is not None and repair_targets.serves_as_repair(queued, work.view.cluster, partition):
            return queued.terms.target == target
        return name not in self._prepared.adopted

    def _queue(self, work: Round, move: PlannedMove, gone: frozenset[int], settings: HealingSettings) -> None:
        name = TopicPartition(move.topic, move.partition)
        partition, before = work.view.get(*name), queue_admission.find(work.view, name)
        assert partition is not None
        error: KafkaError | None = None
        if partition.is_moving:  # or nothing is refused that keeps the replication factor and brings in live brokers
            error, _ = alter(work.view, name, MoveTerms(move.target))
        cluster = work.view.cluster
        lost = _lost(cluster, partition, move, gone)
        absent = [broker for broker in lost if broker not in cluster.brokers]
        reason = repair_targets.repair_reason(absent, [broker for broker in lost if broker not in absent])
        adopted = before if repair_targets.serves_as_repair(before, cluster, partition) else None
        unapproved = needed_since(settings, self.by, adopted, self._now_ms)
        if error is None:
            rate, held, expected = self._rate if self._rate > 0 else None, None, None
            if before is not None:
                held, expected = before.held, before.terms.expected
            terms = MoveTerms(move.target, HEAL, reason, rate, expected=expected)
            error = queue_admission.append(work.view, name, WaitingMove(terms, held, unapproved))
        if error is not None:
            refused = LeftOut(*name, move.original, f"{error.name}: {error}")
            self._refused.append(refused)
            self._leave(work, name, refused.replicas, refused.reason)
            return
        self._queued.add(name)
        reassign_partitions.withdraw_for_client(work.view, name, None)
        self._repairs.add(reason)
        queued = queue_admission.find(work.view, name)
        if queued is not None and queued.unapproved is not None:
            self._unapproved.update(lost)
        if queued is not None and queued.held is not None:
            self._held.update(lost)
        for broker in lost:
            self._moves[broker] += 1
            self._rest[broker] -= before is None or before.terms.route != HEAL

    def _leave(self, work: Round, name: TopicPartition, replicas: Iterable[int], reason: str) -> None:
        cluster, partition = work.view.cluster, work.view.get(*name) or Partition(())
        lost = frozenset(replica for replica in replicas if cluster.is_lost(replica, partition))
        self._left[name] = UnrepairedPartition(lost, reason)

    def _report(self, work: Round) -> None:
        self._unhealed = self._moves.keys() & {broker for left in self._left.values() for broker in left.brokers}
        for broker, count in self._moves.items():
            if broker not in self._unhealed and broker not in self._leaving and not self._rest[broker]:
                if broker not in work.view.cluster.brokers:  # failed log dirs are shown until they hold nothing
                    self._since.setdefault(broker, work.view.failures().get(broker, self._now_ms))
                    work.view.forget_failure(broker)
                self._emptied.add(broker)
            if count:
                what = f"{counted(count, 'move')} joined the queue{self._explained and ', '}{self._explained}"
                if held := self._held[broker]:
                    release = command("kafka-reassign release", "--broker", broker)
                    what += f"; {held} of them in the place of held moves, and held as these were: {release}"
                work.view.report(Event(catalogue.HEAL_SCHEDULED, broker=broker, reason=what))
            if unapproved := self._unapproved[broker]:
                waiting = f"{counted(unapproved, 'move')} {agreeing(unapproved, 'wait')} for approval"
                what = f"{waiting}: {command('kafka-reassign heal', '--approve', '--brokers', broker)}"
                work.view.report(Event(catalogue.HEAL_UNAPPROVED, broker=broker, reason=what))
        reported = list(impossible_texts(self._memory.left))
        for problem in impossible_texts(self._left):
            if problem not in reported:
                work.view.report(Event(catalogue.HEAL_IMPOSSIBLE, reason=problem))

    def durable(self) -> None:
        if self._held_back is None:
            self._remember()
        super().durable()

    def _remember(self) -> None:
        memory, live = self._memory, frozenset(self._prepared.live)
        for broker in self._unhealed:
            memory.tried[broker] = (self._now_ms + failed_brokers.RETRY_MS, live)
        memory.repairs |= self._repairs
        memory.left = self._left
        memory.gone |= self._since


def _lost(cluster: Cluster, partition: Partition, move: PlannedMove, gone: Collection[int]) -> list[int]:
    return [broker for broker in move.original if broker in gone and cluster.is_lost(broker, partition)]


class Approval(NamedTuple):
    """`held_back`: why nothing was approved; None: nothing was in the way."""

    held_back: str | None
    outcome: ApprovalOutcome


class ApproveRepairs(Command[Approval]):
    """`brokers` None: all that wait for approval. The brake holds for this order too. What a lost commit has approved
    counts as approved; for the rest the brake is asked again."""

    def __init__(self, brokers: Collection[int] | None, by: Requester) -> None:
        super().__init__()
        self.by = by
        self._brokers = None if brokers is None else frozenset(brokers)
        self._approved: dict[TopicPartition, tuple[bool, frozenset[int]]] = {}
        """Whether each is also held, and the brokers that it repairs."""

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        lost = yield from count_lost(work)
        waiting = yield from self._waiting(work)
        for name in waiting:
            self._approved.pop(name, None)  # the commit that approved it has failed
            yield
        is_needed = waiting or (view.cluster.queue.unapproved and not self._approved)
        held_back = brake(lost.brokers, view.cluster.brokers, view.cluster.soft.in_force.healing) if is_needed else None
        for name, place in waiting.items() if held_back is None else ():
            move = view.queue.now(name, place)
            holding.approve(view, name, place)
            of = frozenset(repair_targets.repaired_brokers(move.terms.reason, move.terms.target))
            self._approved[name] = move.held is not None, of
            yield
        held, of_brokers = 0, Counter[int]()
        for is_held, of in self._approved.values():
            held += is_held
            of_brokers.update(of)
            yield
        for broker, count in sorted(of_brokers.items()):
            view.report(Event(catalogue.HEAL_APPROVED, broker=broker, reason=f"{counted(count, 'move')} may start"))
        outcome = ApprovalOutcome(len(self._approved), held, sorted(of_brokers))
        self.answer(Approval(None if self._approved else held_back, outcome))

    def _waiting(self, work: Round) -> Generator[None, None, dict[TopicPartition, QueuePlace]]:
        view, queue = work.view, work.view.cluster.queue
        found = {}
        for stored in list(queue.names.values()) if queue.unapproved else ():
            yield
            name = TopicPartition(*stored)
            place = queue.place(*name)
            if place is None or view.queue.gone(name, place.path):
                continue
            if awaits(view.queue.now(name, place), self._brokers):
                found[name] = place
        return found
