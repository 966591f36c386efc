"""Carries out a plan: moves begin as others end (`window_run`), or batch after batch (`batch_run`).

The cluster itself shows how far the plan is (see `batch_state`), so a submission that was killed is started again with
the same arguments. The journal in the plan's directory only keeps the cluster's health before the first batch.
"""

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from kafka_reassign_rpc.client import ReassignmentClient, UnsupportedHere
from kafka_reassign_rpc.client.reassignment_calls import NO_LEASES, NO_REASONS
from kafka_reassign_rpc.client.text_format import first_lines
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import SET_RF, PlanBatch, SubmittablePlan, read_batch
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.batch_run import BatchRun
from kafka_reassign_rpc.pipeline.submission.batch_state import mismatch_lines, missing_broker
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch
from kafka_reassign_rpc.pipeline.submission.move_window import MoveWindow, WindowCaps
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress
from kafka_reassign_rpc.pipeline.submission.plan_warnings import PlanWarnings
from kafka_reassign_rpc.pipeline.submission.replica_order import order_before
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, StopConditions
from kafka_reassign_rpc.pipeline.submission.submit_settings import (
    PlanDoesNotFit,
    PollIntervals,
    ProgressOutput,
    UnderWay,
)
from kafka_reassign_rpc.pipeline.submission.window_run import WindowRun

JOURNAL = "submit.json"
UNDER_WAY = "under-way.json"
"""The moves that went on when submit was interrupted."""

BEFORE = "before.json"
"""The order of replicas that partitions of moves with a first leader had before."""


class Journal(msgspec.Struct, frozen=True):
    """submit.json in the plan's directory: the cluster's health before the first batch."""

    cluster_id: str
    health: ClusterHealth


@dataclass
class Submission:
    """One run of `submit`. Its methods raise BadInput, JobFailed, SubmitStopped, PlanDoesNotFit, KafkaError.

    throttle    bytes/s for moving replicas on each broker. The controller keeps it exactly as long as moves need it,
                also if this run is killed. 0: no throttle. None: moves keep the throttle that they have.
    reason      what the plan is for; the controller keeps it with each move
    by_batch    a batch begins when the one before has ended; else moves begin as others end
    caps        moves in flight at a time; None: those of the plan
    under_way   what `execute` has in flight at the moment
    """

    client: ReassignmentClient
    path: StorePath
    plan: SubmittablePlan
    output: ProgressOutput
    intervals: PollIntervals = field(default_factory=PollIntervals)
    throttle: int | None = None
    reason: str = ""
    by_batch: bool = False
    caps: WindowCaps | None = None
    under_way: UnderWay = field(default_factory=UnderWay)

    @cached_property
    def _cluster(self) -> PatientCluster:
        return PatientCluster(self.client, self.output, self.intervals)

    def dry_run(self) -> int:
        """Show the state of each batch; returns the number of moves that are not begun."""
        live = self._check_cluster().live
        left = 0
        refused: list[str] = []
        for file in self.plan.batches:
            batch = read_batch(file, self.plan.info.kind)
            found = self._cluster.settled_state(batch)
            left += len(found.not_begun)
            text = f"{len(found.done)} done, {len(found.moving)} moving, {len(found.not_begun)} to begin"
            text += f", {len(found.to_elect)} to elect" if found.to_elect else ""
            self.output.line(
                f"{file.stem}: {text}" + (f", {len(found.mismatched)} do not fit" if found.mismatched else "")
            )
            gone = {name: missing_broker(batch[name], live) for name in sorted(found.not_begun)}
            refused += mismatch_lines(found) + [f"{name}: {why}" for name, why in gone.items() if why]
        if refused:
            raise PlanDoesNotFit("\n".join(["the cluster has changed since the plan was made:", *first_lines(refused)]))
        return left

    def execute(self, *, accept_health: bool = False) -> int:
        """Carry out the rest of the plan; returns the number of moves that this run began.

        accept_health    take the cluster's health now as the one to compare with, not that before the first batch
        """
        health = self._check_cluster()
        stop_conditions = StopConditions(self._first_health(health, accept_health=accept_health), health.live)
        compares = self.under_way.compares = self._cluster.ask(self.client.can_compare_replicas)
        forbids_factor_change = self._cluster.ask(self.client.can_forbid_replication_factor_change)
        keeps_reasons = self._cluster.ask(self.client.can_keep_reasons)
        if not compares:
            self.output.line("this cluster has no compare-and-set: submit compares the assignments before each batch")
        if not forbids_factor_change and self.plan.info.kind != SET_RF:
            self.output.line(
                "this cluster cannot refuse a change of the replication factor: submit has checked the plan's files"
            )
        watch = HealthWatch(self._cluster, stop_conditions, health.live)

        caps = self.caps or planned_caps(self.plan)
        queues = not self.by_batch and self._cluster.ask(self.client.can_queue)

        disabled = self._cluster.ask(self.client.why_disabled) if queues else None
        if disabled is not None:
            self.output.line(f"{disabled} Until then moves wait in the controller's queue.")

        def changes(part: str = "") -> BatchChanges:
            return BatchChanges(
                self._cluster,
                compares,
                self.plan.info.kind == SET_RF or not forbids_factor_change,
                self.throttle,
                self._reason(part) if keeps_reasons else None,
                caps.per_broker if queues else None,
            )

        warnings = PlanWarnings(self.output, self.throttle, self.intervals.growing)
        if self.by_batch:
            return BatchRun(self._cluster, self.plan, watch, health.live, changes, self.under_way, warnings).run()
        window, progress = MoveWindow(caps, queues), PlanProgress(self.plan.info)
        name = self.path.resolve().name
        return WindowRun(
            self._cluster, self.plan, name, watch, changes(), window, self.under_way, progress, warnings
        ).run()

    def _check_cluster(self) -> ClusterHealth:
        """The cluster's health. Raises BadInput for another cluster, UnsupportedHere."""
        cluster_id, health = self._cluster.health()
        if cluster_id != self.plan.info.cluster_id:
            raise BadInput(f"{self.path}: is for cluster {self.plan.info.cluster_id}, this is cluster {cluster_id}")
        if self.throttle is not None and not self._cluster.ask(self.client.can_lease_throttles):
            raise UnsupportedHere(NO_LEASES)
        if self.reason and not self._cluster.ask(self.client.can_keep_reasons):
            raise UnsupportedHere(NO_REASONS)
        return health

    def _first_health(self, health: ClusterHealth, *, accept_health: bool) -> ClusterHealth:
        """The cluster's health before the first batch: from the journal, or as of now, which the journal then keeps."""
        file = self.path / JOURNAL
        if not accept_health:
            try:
                return msgspec.json.decode(file.read_bytes(), type=Journal).health
            except FileNotFoundError:
                pass
            except (OSError, msgspec.MsgspecError) as error:
                raise BadInput(f"{file}: {error}; remove it to take the cluster as it is now") from None
        write_file(file, msgspec.json.encode(Journal(self.plan.info.cluster_id, health)))
        return health

    def _reason(self, part: str) -> str:
        """The reason that the controller keeps with each move and shows in events and in listings."""
        plan = f"plan {self.path.resolve().name} ({self.plan.info.kind})" + (f", {part}" if part else "")
        return f"{self.reason}; {plan}" if self.reason else plan


def planned_caps(plan: SubmittablePlan) -> WindowCaps:
    """The moves in flight at a time with which the plan's estimate counts."""
    return WindowCaps(plan.info.moves_per_broker, plan.info.requested.moves_per_batch)


def write_under_way(submission: Submission) -> StorePath:
    """Write what is in flight beside the plan, as kafka-reassign takes it to cancel it. Returns the file."""
    file = submission.path / UNDER_WAY
    entries = sorted(submission.under_way.moves.values(), key=lambda entry: entry.topic_partition)
    write_file(file, msgspec.json.encode(PlanBatch(entries)))
    return file


def write_before(submission: Submission) -> StorePath | None:
    """Write the order of the partitions that have their first leader in front, or will have it after a cancel, as
    kafka-reassign takes it to restore it. Returns the file; None where there are no such partitions."""
    before = order_before({**submission.under_way.moves, **submission.under_way.out_of_order})
    if not before.partitions:
        return None
    file = submission.path / BEFORE
    write_file(file, msgspec.json.encode(before))
    return file
