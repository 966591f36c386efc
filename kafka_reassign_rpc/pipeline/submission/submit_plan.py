"""Carries out a plan. The cluster itself shows how far it is, so a killed submission is started again with the same
arguments. The journal in the plan's directory keeps only the health before the first batch.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from kafka_reassign_rpc.client import QUEUE, KafkaError, MoveTerms, ReassignmentClient, UnsupportedHere
from kafka_reassign_rpc.client.reassignment_calls import NO_LEASES, NO_REASONS
from kafka_reassign_rpc.client.standing_rates import rated_window, standing_rates
from kafka_reassign_rpc.client.text_format import duration, first_lines
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.throttling.standing_rates import lease_lines
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import (
    SET_RF,
    Entries,
    PlanBatch,
    SubmittablePlan,
    order_before,
    read_batch,
)
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.batch_state import misfit_lines
from kafka_reassign_rpc.pipeline.submission.drained_brokers import CarryOut, DrainedBrokers
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch, first_health
from kafka_reassign_rpc.pipeline.submission.move_window import MoveWindow
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress, least_seconds, without_figures
from kafka_reassign_rpc.pipeline.submission.plan_warnings import PlanWarnings
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, StopConditions, SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import (
    PlanDoesNotFit,
    PollIntervals,
    ProgressOutput,
    UnderWay,
)
from kafka_reassign_rpc.pipeline.submission.window_run import Source, WindowRun, sources_of
from kafka_reassign_rpc.pipeline.submission.withdrawal import UndoCancels
from kafka_reassign_rpc.support.counted import agreeing

JOURNAL, JOURNAL_OF_UNDO = "submit.json", "undo.json"
UNDER_WAY = "under-way.json"
"""Moves that went on when submit was interrupted."""

BEFORE = "before.json"
"""The former order of replicas of moves with a first leader."""


@dataclass
class Submission:
    """One run of `submit`. Raises BadInput, JobFailed, SubmitStopped, PlanDoesNotFit, NotEmpty, KafkaError.

    throttle    bytes/s for moving replicas on each broker, which the controller keeps as long as moves need it, even if
                this run is killed. 0: no throttle. None: moves keep theirs
    lifts       the throttle replaces a stricter rate that stands, which comes back afterwards
    reason      the controller keeps it with each move
    caps        moves in flight at a time; None: those of the plan
    under_way   what `execute` has in flight
    cordons     brokers that the plan drains are cordoned first
    """

    client: ReassignmentClient
    path: StorePath
    plan: SubmittablePlan
    output: ProgressOutput
    intervals: PollIntervals = field(default_factory=PollIntervals)
    throttle: int | None = None
    lifts: bool = False
    reason: str = ""
    by_batch: bool = False
    caps: PlanCaps | None = None
    under_way: UnderWay = field(default_factory=UnderWay)
    cordons: bool = True

    @cached_property
    def _cluster(self) -> PatientCluster:
        return PatientCluster(self.client, self.output, self.intervals)

    @cached_property
    def _drained(self) -> DrainedBrokers:
        return DrainedBrokers(self._cluster, self.path, self.plan, self.cordons)

    def dry_run(self) -> int:
        """Shows the state of each batch; returns how many moves have not begun, or are not taken back."""
        self._drained.require_left_out()
        live = self._check_cluster().live
        self._drained.announce()
        if self.throttle:
            self._least_seconds(self.throttle, live)
        left = 0
        takes_back = UndoCancels(self._cluster, self.plan)
        refused: list[str] = []
        for file in self.plan.batches:
            batch = read_batch(file, self.plan.summary.kind)
            cancels, turned = set(takes_back.to_cancel(batch)), takes_back.out_of_order(file)
            apart = cancels | turned.keys()
            found = self._cluster.stable_state({name: one for name, one in batch.items() if name not in apart})
            left += len(found.not_begun) + len(apart)
            text = f"{len(cancels)} to cancel, " if cancels else ""
            text += f"{len(turned)} to put in order, " if turned else ""
            text += f"{len(found.done)} done, {len(found.moving)} moving, {len(found.not_begun)} to begin"
            text += f", {len(found.to_elect)} to elect" if found.to_elect else ""
            changed = len(found.mismatched)
            self.output.line(
                f"{file.stem}: {text}" + (f", {changed} {agreeing(changed, 'do')} not fit" if changed else "")
            )
            refused += misfit_lines(batch, found, live)
        if refused:
            raise PlanDoesNotFit("\n".join(["the cluster has changed since the plan was made:", *first_lines(refused)]))
        return left

    def execute(self, *, accept_health: bool = False) -> int:
        """Returns how many moves it began. With `accept_health`, the health now replaces that before the first
        batch.
        """
        self._drained.require_left_out()
        health = self._check_cluster()
        journal = self.path / (JOURNAL_OF_UNDO if self.plan.undoes else JOURNAL)
        first = first_health(journal, self.plan.summary.cluster_id, health, accept_health=accept_health)
        self._drained.cordon()
        takes_back = UndoCancels(self._cluster, self.plan)
        takes_back.cancel()
        stop_conditions = StopConditions(first, health.live)
        compares = self.under_way.compares = self._cluster.ask(self.client.can_compare_replicas)
        self._cluster.ours = compares
        forbids_factor_change = self._cluster.ask(self.client.can_forbid_replication_factor_change)
        keeps_reasons = self._cluster.ask(self.client.can_keep_reasons)
        if not compares:
            self.output.line("this cluster has no compare-and-set: submit compares the assignments before each batch")
        if not forbids_factor_change and self.plan.summary.kind != SET_RF:
            self.output.line(
                "this cluster cannot refuse a change of the replication factor: submit has checked the plan's files"
            )
        watch = HealthWatch(self._cluster, stop_conditions, health.live)

        caps = self.caps or planned_caps(self.plan)
        queues = self._cluster.ask(self.client.can_queue)
        least = self._least_seconds(self.throttle, health.live) if self.throttle else None
        disabled = self._cluster.ask(self.client.why_disabled) if queues else None
        if disabled is not None:
            self.output.line(f"{disabled} Until then moves wait in the controller's queue.")

        terms = MoveTerms(
            (),
            QUEUE if queues else RPC,
            self._reason() if keeps_reasons else "",
            self.throttle,
            self.lifts and bool(self.throttle),
            caps.per_broker if queues else None,
        )
        may_change_factor = self.plan.summary.kind == SET_RF or not forbids_factor_change
        changes = BatchChanges(self._cluster, compares, may_change_factor, terms)
        if self.plan.undoes:
            takes_back.restore_order(changes)
        warnings = PlanWarnings(self.output, self.throttle, self.intervals.growing)

        def carry_out(name: str, sources: Iterable[Source], progress: PlanProgress) -> int:
            window = MoveWindow(caps, queues)
            return WindowRun(
                self._cluster,
                sources,
                name,
                watch,
                changes,
                window,
                self.under_way,
                progress,
                warnings,
                self.by_batch,
            ).run()

        def carry_out_rest(name: str, entries: Entries) -> int:
            return carry_out(name, [Source(name, 0, lambda: entries)], PlanProgress(without_figures(self.plan.summary)))

        try:
            begun = carry_out(self.path.resolve().name, sources_of(self.plan), PlanProgress(self.plan.summary, least))
        except PlanDoesNotFit as error:
            if error.left_out:
                self._move_rest(carry_out_rest, watch, error)
            self._drained.report(None)
            raise
        begun += self._drained.move_rest(carry_out_rest, watch)
        self._drained.report(begun)
        return begun

    def _move_rest(self, carry_out: CarryOut, watch: HealthWatch, found: PlanDoesNotFit) -> None:
        """All is done but what was left out: that stays, as it is not known why somebody has changed it."""
        try:
            self._drained.move_rest(carry_out, watch, found.left_out)
        except (SubmitStopped, JobFailed, KafkaError):
            self.output.line(str(found))
            raise

    def _least_seconds(self, throttle: int, live: Collection[int]) -> float | None:
        """Says where a rate stands that is stricter than submit's, and what that means for the plan's time. Returns
        the least time with the rates that hold; None: the plan was made with them.
        """
        brokers = sorted(set(live) - self._cluster.ask(lambda: self.client.servers_among(live)))
        found = standing_rates(self.client, brokers)
        if found.stricter(throttle) or found.unknown:
            for line in lease_lines(throttle, found, brokers, lifts=self.lifts):
                self.output.line(line)
        window = rated_window(self.client)
        if window is not None and window.rate is not None:
            self.output.line(f"The rate of the window goes before --throttle: {window.now}.")
            throttle = window.rate
        least = least_seconds(
            self.plan.summary, lambda broker, side: found.lowest(broker, side, throttle, lifts=self.lifts)
        )
        planned = self.plan.summary.expected_seconds
        if least > planned > 0:
            text = f"with these limits the plan takes {duration(least)} at least, not {duration(planned)} as planned"
            self.output.line(text)
            return least
        return None if self.plan.summary.bandwidth == throttle else least

    def _check_cluster(self) -> ClusterHealth:
        """Raises BadInput for another cluster, UnsupportedHere."""
        health = self._cluster.health_of(self.path, self.plan.summary.cluster_id)
        if self.throttle is not None and not self._cluster.ask(self.client.can_lease_throttles):
            raise UnsupportedHere(NO_LEASES)
        if self.reason and not self._cluster.ask(self.client.can_keep_reasons):
            raise UnsupportedHere(NO_REASONS)
        return health

    def _reason(self) -> str:
        """The controller shows it in events and in listings."""
        name = self.path.resolve().name
        called = name if re.match(r"plan(?![a-z])", name) else f"plan {name}"
        plan = f"{called} ({self.plan.summary.kind})"
        plan = f"undo of {plan}" if self.plan.undoes else plan
        return f"{self.reason}; {plan}" if self.reason else plan


def planned_caps(plan: SubmittablePlan) -> PlanCaps:
    return PlanCaps(plan.summary.moves_per_broker, plan.summary.requested.moves_per_batch)


def write_under_way(submission: Submission) -> StorePath:
    """In the form that kafka-reassign cancels."""
    file = submission.path / UNDER_WAY
    entries = sorted(submission.under_way.moves.values(), key=lambda entry: entry.topic_partition)
    write_file(file, msgspec.json.encode(PlanBatch(entries)))
    return file


def write_before(submission: Submission) -> StorePath | None:
    """The former order of partitions that have their first leader in front, or will have after a cancel, in the form
    that kafka-reassign restores. None: there are none.
    """
    before = order_before({**submission.under_way.moves, **submission.under_way.out_of_order})
    if not before.partitions:
        return None
    file = submission.path / BEFORE
    write_file(file, msgspec.json.encode(before))
    return file
