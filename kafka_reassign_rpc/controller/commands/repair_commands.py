"""The diagnosis of self-healing (KIP-46): finds failed brokers, and withdraws repairs that are no longer needed.
`core.healing.failed_brokers` decides which broker is healed and when.

The diagnosis and the brake count which absent brokers hold replicas.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands.command import Command, Round, every_partition
from kafka_reassign_rpc.controller.commands.queue_commands import rate_event
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing import failed_brokers, repair_targets
from kafka_reassign_rpc.core.healing.failed_brokers import (
    DescribedLogDirs,
    Diagnosis,
    FailureWatch,
    LostReplicas,
    described_now,
    diagnose,
    is_another,
    recorded,
)
from kafka_reassign_rpc.core.healing.repair_targets import CostSum, renewed
from kafka_reassign_rpc.core.healing.self_healing_status import (
    LEFT_TO_MOVES,
    BrokerRepair,
    GoneBroker,
    UnrepairedPartition,
)
from kafka_reassign_rpc.core.queue import lease_rates, queue_admission
from kafka_reassign_rpc.core.reassignment import alter
from kafka_reassign_rpc.core.round.round_view import PartitionChange
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.state.partition import HEAL, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted, first_of, plural

NO_SIZES: Mapping[TopicPartition, int] = {}


def count_lost(work: Round, sizes: Mapping[TopicPartition, int] = NO_SIZES) -> Generator[None, None, LostReplicas]:
    """From now on the brake of this round knows the brokers. `sizes`: of leaders, as far as they are known."""
    losses = LostReplicas(work.view.cluster)
    for name in every_partition(work.view.cluster):
        partition = work.view.get(*name)
        if partition is not None:
            losses.count(partition, queue_admission.find(work.view, name), sizes.get(name))
        yield
    view = work.view
    before, view.gone = view.cluster.soft.gone if view.gone is None else view.gone, losses.brokers
    if before - view.gone and view.cluster.queue.routes[HEAL]:
        queue_admission.lines_of(view).more = True  # the brake may no longer hold waiting repairs
    return losses


def brake_waiting_repairs(work: Round) -> Iterator[None]:
    """If repairs wait, the brake must know of brokers that have come or gone before the next of their moves may start:
    the healer diagnoses nothing while it plans."""
    if work.view.cluster.queue.routes[HEAL] or work.view.queue.appended:
        yield from count_lost(work)


def forget_failures_of_registered(work: Round, joined: Collection[int] = ()) -> None:
    """A broker that is back has not failed, nor has one of `joined`, which may be lost again by now: that is a new
    failure with its own time. The healer may see it too late: it diagnoses nothing while it plans."""
    for broker in sorted(work.view.failures().keys() & (work.view.cluster.brokers.keys() | joined)):
        work.view.forget_failure(broker)
        work.view.report(Event(catalogue.HEAL_OVER, broker=broker, reason="it is back"))


PATHS_NAMED = 3
"""How many log dirs are named in an event."""


class RepairMemory:
    """What one controller remembers between diagnoses. Its successor starts without it, and may report something again.

    missed      since when it has missed each lost broker, ms
    tried       incomplete repairs by broker: when to try again (ms), and the brokers that were live at the last try
    repairs     reasons of the repairs that wait or move
    alerted     brokers for which it has raised an alert
    held_back   the last reported reason why nothing is healed
    problems    the last reported invalid configs and unknown racks
    left        partitions that a repair could not move
    braked_ms   when too many brokers were last gone
    throttle    what repairs follow since the last diagnosis; None: before the first one
    seen        registered brokers whose repair it has seen, and under which registration: it knows what they have lost,
                though they may not have answered for all of their replicas
    gone        since when brokers are gone that have no failure (any more), ms; None: before this controller's term
    began_ms    when it first diagnosed
    """

    def __init__(self) -> None:
        self.missed: dict[int, int] = {}
        self.tried: dict[int, tuple[int, frozenset[int]]] = {}
        self.repairs: frozenset[str] = frozenset()
        self.alerted: frozenset[int] = frozenset()
        self.held_back: str | None = None
        self.problems: list[str] = []
        self.left: Mapping[TopicPartition, UnrepairedPartition] = {}
        self.braked_ms: int | None = None
        self.throttle: HealingThrottle | None = None
        self.gone: dict[int, int | None] = {}
        self.seen: Mapping[int, int] = {}
        self.began_ms: int | None = None


class FailedBrokersReport(msgspec.Struct, frozen=True):
    """The diagnosis, the number of lost replicas by broker, the number of repair moves that wait and move, both by
    broker, and how many of those that wait need approval.

    damaged     registered brokers with offline replicas, or with log dirs that are known to have failed
    unjudged    those of them that have to be asked about their log dirs
    gone        brokers that are gone besides the failed ones, of which `gone_alerted` for the alert interval
    costs       of the repairs of each broker, of the same moment as the counts
    """

    settings: HealingSettings
    diagnosis: Diagnosis
    lost: Mapping[int, int]
    waiting: int
    moving: int
    repairs: Sequence[BrokerRepair] = ()
    unapproved: int = 0
    damaged: frozenset[int] = frozenset()
    unjudged: frozenset[int] = frozenset()
    gone: Sequence[GoneBroker] = ()
    gone_alerted: int = 0
    costs: Mapping[int, CostSum] = {}


class DiagnoseFailedBrokers(Command[FailedBrokersReport]):
    """Records new failures, forgets past ones, withdraws repairs that are no longer needed. Repairs that wait or move
    follow `self.healing.throttle`. The answer says what to heal now.

    `ordered` are brokers that an operator wants healed at once; `described` is what brokers with offline replicas say
    about their log dirs. One that has not been asked is not judged yet. `sizes`: as in `count_lost`.
    """

    def __init__(
        self,
        memory: RepairMemory,
        now_ms: int,
        ordered: Collection[int] = (),
        *,
        fastest: int = 0,
        described: Mapping[int, DescribedLogDirs] | None = None,
        sizes: Mapping[TopicPartition, int] = NO_SIZES,
    ) -> None:
        super().__init__()
        self._sizes = sizes
        self._described = {} if described is None else described
        self._fastest = fastest
        self._memory = memory
        self._now_ms = now_ms
        self._ordered = frozenset(ordered)
        self._begin()

    def _begin(self) -> None:
        self._waiting: Counter[str] = Counter()
        self._moving: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._waiting_for: Counter[int] = Counter()
        self._moving_from: Counter[int] = Counter()
        self._unapproved_for: Counter[int] = Counter()
        self._held_for: Counter[int] = Counter()
        self._still_lost: set[int] = set()
        """Brokers under repair that are gone, or whose log dirs have not come back."""
        self._unapproved = 0
        self._rated_waiting: Counter[int] = Counter()
        self._rated_moving: Counter[int] = Counter()
        """Repairs that get another rate, by that rate."""

    def decide(self, work: Round) -> Iterator[None]:
        self._begin()
        cluster, memory = work.view.cluster, self._memory
        rules = cluster.soft.in_force
        settings = rules.healing
        self._problems = [*rules.healing_problems, *failed_brokers.rack_problems(cluster, settings)]
        self._throttle = settings.throttle
        yield from self._review_waiting_repairs(work)
        yield from self._review_moving_repairs(work, cancel=settings.cancel_on_return)
        losses = yield from count_lost(work, self._sizes)
        counted_lost = losses.replicas
        failed, in_part, now_ms = work.view.failures(), work.view.log_dir_failures(), self._now_ms
        described = described_now(self._described, cluster.brokers)
        damaged = frozenset(broker for broker in counted_lost.keys() | in_part.keys() if broker in cluster.brokers)
        unjudged = damaged - described.keys()
        working = {broker for broker, paths in described.items() if paths == ()}
        lost = {broker: n for broker, n in counted_lost.items() if broker not in unjudged and broker not in working}
        under_repair = self._waiting_for.keys() | self._moving_from.keys()
        same = {
            broker: one
            for broker, one in in_part.items()
            if not is_another(one, described.get(broker), is_repaired=broker in under_repair and bool(lost.get(broker)))
        }
        # A broker that this controller has missed, and that has not failed by now, was back in between.
        known = failed.keys() - cluster.brokers.keys() | same.keys() & cluster.brokers.keys()
        new = damaged - in_part.keys()
        self._missed = {
            broker: memory.missed.get(broker, now_ms) if broker in known or broker in new else now_ms
            for broker in [*lost, *sorted(unjudged)]
        }
        self._seen = {
            broker.id: broker.epoch
            for broker in cluster.brokers.values()
            if broker.id in under_repair or memory.seen.get(broker.id) == broker.epoch
        }
        live, soon = frozenset(cluster.brokers), self._now_ms + settings.grace_ms
        self._tried = {
            broker: (at if found == live else min(at, soon), live)
            for broker, (at, found) in memory.tried.items()
            if broker in lost
        }
        self._live = live
        watch = FailureWatch(
            failed=failed,
            lost=lost,
            live=cluster.brokers,
            missed=self._missed,
            now_ms=self._now_ms,
            ordered=self._ordered,
            not_before={broker: at for broker, (at, _) in self._tried.items()},
            waiting=self._waiting.total(),
            braked_ms=memory.braked_ms,
            unapproved=losses.unapproved,
            in_part={broker: one.since for broker, one in same.items()},
            silent=unjudged | (cluster.soft.unheard - working - self._seen.keys()),
        )
        diagnosis = diagnose(watch, settings)
        for broker, since in diagnosis.record.items():
            if broker in live:
                work.view.log_dirs[broker] = recorded(since, described.get(broker), None)
            else:
                work.view.failed[broker] = since
        for broker in diagnosis.forget:
            work.view.forget_failure(broker)
        mended = diagnosis.mended | in_part.keys() - same.keys() - diagnosis.record.keys()
        for broker in mended:
            work.view.forget_log_dirs(broker)
        for broker, one in same.items():
            now_known = recorded(one.since, described.get(broker), one)
            if broker in damaged and broker not in mended and now_known != one:
                work.view.log_dirs[broker] = now_known
        self._paths = {broker: one.paths for broker, one in work.view.log_dir_failures().items()}
        self._diagnosis = diagnosis
        self._report(work, diagnosis, lost, settings)
        self._gone = self._gone_besides(work, losses, failed)
        self._began_ms = now_ms if memory.began_ms is None else memory.began_ms
        repairs = [
            BrokerRepair(
                broker,
                self._waiting_for[broker],
                self._moving_from[broker],
                is_back=broker not in self._still_lost,
                unapproved=self._unapproved_for[broker],
                held=self._held_for[broker],
            )
            for broker in sorted(under_repair)
        ]
        self.answer(
            FailedBrokersReport(
                settings,
                diagnosis,
                lost,
                self._waiting.total(),
                self._moving.total(),
                repairs,
                self._unapproved,
                damaged,
                unjudged,
                [
                    GoneBroker(one, since, losses.repaired[one], losses.awaited[one])
                    for one, since in self._gone.items()
                ],
                sum(
                    # Its alert came before its repair; the clock of one that only moves name begins with the term.
                    failed_brokers.is_alerted(
                        self._began_ms if since is None and not losses.repaired[one] else since, now_ms, settings
                    )
                    for one, since in self._gone.items()
                ),
                losses.costs,
            )
        )

    def durable(self) -> None:
        memory = self._memory
        memory.missed, memory.problems = self._missed, self._problems
        memory.alerted, memory.held_back = frozenset(self._diagnosis.alerts), self._diagnosis.held_back
        memory.tried = self._tried
        memory.braked_ms = self._diagnosis.braked_ms
        memory.repairs = memory.repairs - self._ended | self._waiting.keys() | self._moving.keys()
        memory.left = {name: left for name, left in memory.left.items() if not left.brokers.isdisjoint(memory.tried)}
        memory.throttle = self._throttle
        memory.gone, memory.seen, memory.began_ms = self._gone, self._seen, self._began_ms
        super().durable()

    def _gone_besides(self, work: Round, losses: LostReplicas, failed: Mapping[int, int]) -> dict[int, int | None]:
        """Since when brokers are gone that have no failure: their repair is queued, or moves alone name them."""
        memory, brokers = self._memory, sorted(losses.repaired.keys() | losses.awaited.keys())
        missed = None if memory.began_ms is None else self._now_ms
        return {
            broker: memory.gone.get(broker, failed.get(broker, missed))
            for broker in brokers
            if broker not in work.view.failures() and broker not in work.view.cluster.brokers
        }

    def _rate(self, present: int | None) -> int:
        return renewed(self._throttle, present or 0, self._fastest, self._memory.throttle)

    def _review_waiting_repairs(self, work: Round) -> Iterator[None]:
        for found in _heals(work):
            yield
            if found is None:
                continue
            name, move = found
            partition = work.view.get(*name)
            in_part = repair_targets.lost_in_part(move.terms.reason)
            left = repair_targets.still_needed(work.view.cluster, partition, move.terms.target, in_part)
            if left is None:
                queue_admission.withdraw(work.view, name)
                self._dropped[move.terms.reason] += 1
            elif left == move.terms.target or queue_admission.append(work.view, name, _only(move, left)) is None:
                self._waiting[move.terms.reason] += 1
                repaired = repair_targets.repaired_brokers(move.terms.reason, left)
                self._waiting_for.update(repaired)
                self._add_still_lost(work, partition, repaired, in_part)
                if move.unapproved is not None:
                    self._unapproved += 1
                    self._unapproved_for.update(repaired)
                if move.held is not None:
                    self._held_for.update(repaired)
                rate = self._rate(move.terms.throttle)
                if lease_rates.change_waiting(work.view, name, rate):
                    self._rated_waiting[rate] += 1
            yield
        for reason, count in self._dropped.items():
            what = f"{reason}: {counted(count, 'move')} that had not started; what it repairs is no longer lost"
            work.view.report(Event(catalogue.HEAL_DROPPED, reason=what))

    def _review_moving_repairs(self, work: Round, *, cancel: bool) -> Iterator[None]:
        for topic, indexes in list(work.view.cluster.moving.items()):
            for index in list(indexes):
                yield
                partition = work.view.get(topic, index)
                if partition is None or partition.move is None or partition.move.terms.route != HEAL:
                    continue
                changes: list[PartitionChange] = []
                if cancel and repair_targets.is_repair_of_returned_brokers(work.view.cluster, partition):
                    _, changes = alter.cancel(work.view, TopicPartition(topic, index))
                for change in changes:
                    work.view.add(change)
                if not changes:
                    self._moving[partition.move.terms.reason] += 1
                    reason = partition.move.terms.reason
                    repaired = repair_targets.repaired_brokers(reason, partition.move.terms.target)
                    self._moving_from.update(repaired)
                    self._add_still_lost(work, partition, repaired, repair_targets.lost_in_part(reason))
                    rate = self._rate(partition.move.terms.throttle)
                    if lease_rates.change_moving(work.view, TopicPartition(topic, index), rate):
                        self._rated_moving[rate] += 1

    def _add_still_lost(
        self, work: Round, partition: Partition | None, repaired: Collection[int], in_part: Collection[int]
    ) -> None:
        if partition is not None:
            cluster = work.view.cluster
            self._still_lost |= {
                one for one in repaired if not repair_targets.is_back(cluster, partition, one, in_part)
            }

    def _report(self, work: Round, found: Diagnosis, lost: Mapping[int, int], settings: HealingSettings) -> None:
        memory, report = self._memory, work.view.report
        for broker in found.record:
            reason = f"{self._what(broker) or 'it is gone'}{_replicas(lost[broker], is_in_part=broker in self._live)}"
            report(Event(catalogue.HEAL_NOTICED, broker=broker, reason=reason))
        for broker in sorted(found.forget):
            report(Event(catalogue.HEAL_OVER, broker=broker, reason=self._why_over(work, broker)))
        for broker in sorted(found.mended):
            over = "failed log dirs: they are good again, or no longer hold anything"
            report(Event(catalogue.HEAL_OVER, broker=broker, reason=over))
        heal_at = failed_brokers.promised_times(found, settings, restrictions.why_disabled(work.view.cluster))
        for broker in found.alerts:
            if broker not in memory.alerted:
                what = self._what(broker) or "it is still gone"
                if broker in lost:
                    what += _replicas(lost[broker], is_in_part=broker in self._live)
                approval = settings.approval != healing_settings.NO_APPROVAL
                reason = _alert(what, heal_at.get(broker), self._now_ms, approval=approval)
                report(Event(catalogue.HEAL_ALERT, broker=broker, reason=reason))
        if found.held_back is not None and found.held_back != memory.held_back:
            report(Event(catalogue.HEAL_HELD_BACK, reason=found.held_back))
        for rate in self._rated_waiting | self._rated_moving:
            why = f"repairs follow {healing_settings.THROTTLE}={self._throttle}"
            report(rate_event(rate, self._rated_moving[rate], self._rated_waiting[rate], why))
        for problem in self._problems:
            if problem not in memory.problems:
                report(Event(catalogue.HEAL_MISCONFIGURED, reason=problem))
        self._ended = memory.repairs - self._waiting.keys() - self._moving.keys()
        for reason in sorted(self._ended - self._dropped.keys()):
            report(Event(catalogue.HEAL_DONE, reason=f"{reason}: its last move has ended"))

    def _why_over(self, work: Round, broker: int) -> str:
        if broker in work.view.cluster.brokers:
            return "it is back"
        is_repaired = self._waiting_for[broker] or self._moving_from[broker]
        return "its repair takes its last replicas away" if is_repaired else "it no longer holds a replica"

    def _what(self, broker: int) -> str:
        """Empty for a broker that is gone."""
        if broker not in self._paths or broker not in self._live:
            return ""
        paths = self._paths[broker]
        return f"log dir{plural(len(paths))} {first_of(paths, PATHS_NAMED)} failed" if paths else "a log dir has failed"


def _only(move: WaitingMove, target: tuple[int, ...]) -> WaitingMove:
    return replace(move, terms=replace(move.terms, target=target))


def _heals(work: Round) -> Iterator[tuple[TopicPartition, WaitingMove] | None]:
    """Those that wait; None for each other move."""
    queue = work.view.cluster.queue
    if not queue.routes[HEAL]:
        return
    for topic, places in list(queue.topics.items()):
        for index, place in list(places.items()):
            name = TopicPartition(topic, index)
            is_one = place.move.terms.route == HEAL and queue_admission.find(work.view, name) == place.move
            yield (name, place.move) if is_one else None


def _alert(what: str, heal_at: int | None, now_ms: int, *, approval: bool) -> str:
    begins = "is ready for approval" if approval else "begins"
    seconds = 0 if heal_at is None else max(0, heal_at - now_ms) // 1000
    when = "" if heal_at is None else f"; its repair {begins} in {seconds} s unless they come back"
    return f"{what}{when}"


def _replicas(count: int, *, is_in_part: bool) -> str:
    return f", with {counted(count, 'replica')}" if count else f"; {LEFT_TO_MOVES[is_in_part]}"
