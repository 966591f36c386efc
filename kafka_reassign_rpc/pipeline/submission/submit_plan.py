"""Carries out a plan: one batch after the other. A batch begins only if the cluster is as the plan expects it.

The cluster itself shows how far the plan is (see `batch_state`), so a submission that was killed is started again with
the same arguments. The journal in the plan's directory only keeps the cluster's health before the first batch.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client import (
    LogDirProgressTracker,
    ProgressSnapshot,
    ReassignmentClient,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.reassignment_calls import NO_LEASES, NO_REASONS
from kafka_reassign_rpc.client.text_format import amounts, bar
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import SET_RF, PlanEntry, SubmittablePlan, read_batch
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, StopConditions, SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import (
    PlanDoesNotFit,
    PollIntervals,
    ProgressOutput,
    first_lines,
)

JOURNAL = "submit.json"
_BAR_WIDTH = 24


class Journal(msgspec.Struct, frozen=True):
    """submit.json in the plan's directory: the cluster's health before the first batch."""

    cluster_id: str
    health: ClusterHealth


class UnderWay(NamedTuple):
    """The batch that submit works on: its file, and how many of its moves were under way when submit looked last."""

    file: StorePath
    moves: int


@dataclass
class Submission:
    """One run of `submit`. Its methods raise BadInput, JobFailed, SubmitStopped, PlanDoesNotFit, KafkaError.

    throttle    bytes/s for moving replicas on each broker. The controller keeps it exactly as long as moves need it,
                also if this run is killed. 0: no throttle. None: moves keep the throttle that they have.
    reason      what the plan is for; the controller keeps it with each move
    under_way   the batch that `execute` works on at the moment
    """

    client: ReassignmentClient
    path: StorePath
    plan: SubmittablePlan
    output: ProgressOutput
    intervals: PollIntervals = field(default_factory=PollIntervals)
    throttle: int | None = None
    reason: str = ""
    under_way: UnderWay | None = None

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
            found = self._settled_state(batch)
            left += len(found.not_begun)
            text = f"{len(found.done)} done, {len(found.moving)} moving, {len(found.not_begun)} to begin"
            self.output.line(
                f"{file.stem}: {text}" + (f", {len(found.mismatched)} do not fit" if found.mismatched else "")
            )
            refused += _mismatch_lines(found) + _missing_broker_lines(batch, found, live)
        if refused:
            raise PlanDoesNotFit("\n".join(["the cluster has changed since the plan was made:", *first_lines(refused)]))
        return left

    def execute(self, *, accept_health: bool = False) -> int:
        """Carry out the rest of the plan; returns the number of moves that this run began.

        accept_health    take the cluster's health now as the one to compare with, not that before the first batch
        """
        health = self._check_cluster()
        stop_conditions = StopConditions(self._first_health(health, accept_health=accept_health), health.live)
        compares = self._cluster.ask(self.client.can_compare_replicas)
        forbids_factor_change = self._cluster.ask(self.client.can_forbid_replication_factor_change)
        keeps_reasons = self._cluster.ask(self.client.can_keep_reasons)
        if not compares:
            self.output.line("this cluster has no compare-and-set: submit compares the assignments before each batch")
        if not forbids_factor_change and self.plan.info.kind != SET_RF:
            self.output.line(
                "this cluster cannot refuse a change of the replication factor: submit has checked the plan's files"
            )
        begun = 0
        for number, file in enumerate(self.plan.batches, 1):
            batch = read_batch(file, self.plan.info.kind)
            found = self._settled_state(batch)
            if found.is_done:
                continue
            self.under_way = UnderWay(file, len(found.moving))
            self._wait_until_healthy(stop_conditions, batch)
            refused = _mismatch_lines(found) + _missing_broker_lines(batch, found, health.live)
            if refused:
                text = f"{file.stem} does not fit the cluster, submit began nothing more of it:"
                raise PlanDoesNotFit("\n".join([text, *first_lines(refused)]))
            changes = BatchChanges(
                self._cluster,
                compares,
                self.plan.info.kind == SET_RF or not forbids_factor_change,
                self.throttle,
                self._reason(file.stem) if keeps_reasons else None,
            )
            if found.moving and self.throttle is not None:
                changes.change_throttle(file.stem, {name: batch[name] for name in sorted(found.moving)})
            if found.not_begun:
                self.under_way = UnderWay(file, len(found.moving) + len(found.not_begun))
                changes.begin(file.stem, {name: batch[name] for name in sorted(found.not_begun)})
                begun += len(found.not_begun)
            self._follow_batch(file, batch, stop_conditions, f"batch {number}/{len(self.plan.batches)}")
            self.output.line(f"{file.stem}: {len(batch)} done")
        return begun

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

    def _settled_state(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        """The batch's state, after nodes had time to learn of moves that have ended."""
        return self._cluster.state_when(batch, lambda found: not found.mismatched, self.intervals.settle)

    def _reason(self, name: str) -> str:
        """The reason that the controller keeps with each move and shows in events and in listings."""
        plan = f"plan {self.path.resolve().name} ({self.plan.info.kind}), {name}"
        return f"{self.reason}; {plan}" if self.reason else plan

    def _follow_batch(
        self, file: StorePath, batch: Mapping[TopicPartition, PlanEntry], stop_conditions: StopConditions, title: str
    ) -> None:
        """Show progress until no partition of the batch moves any more."""
        tracker = LogDirProgressTracker()
        checked = time.monotonic()
        while True:
            listed, snapshot = self._cluster.progress(tracker, batch.keys())
            self.under_way = UnderWay(file, len(listed))
            self.output.status(_progress(title, len(batch), len(listed), snapshot))
            if not listed:
                self._require_done(batch, file.stem)
                return
            if time.monotonic() - checked >= self.intervals.health:
                self._is_healthy(stop_conditions, batch)
                checked = time.monotonic()
            time.sleep(self.intervals.poll)

    def _require_done(self, batch: Mapping[TopicPartition, PlanEntry], name: str) -> None:
        """Raises PlanDoesNotFit for partitions of the batch that did not reach their targets."""
        found = self._cluster.state_when(batch, lambda found: found.is_done, self.intervals.arrival)
        if not found.is_done:
            left = [f"{one}: it was cancelled" for one in sorted(found.not_begun)] + _mismatch_lines(found)
            left += [f"{one}: it moves again" for one in sorted(found.moving)]
            raise PlanDoesNotFit("\n".join([f"{name}: partitions did not reach their targets:", *first_lines(left)]))

    def _wait_until_healthy(self, stop_conditions: StopConditions, batch: Mapping[TopicPartition, PlanEntry]) -> None:
        """Check again and again while a condition to stop is suspected. Raises SubmitStopped."""
        while not self._is_healthy(stop_conditions, batch):
            self.output.status("the cluster seems to be unhealthy, checking again")
            time.sleep(self.intervals.health)

    def _is_healthy(self, stop_conditions: StopConditions, batch: Mapping[TopicPartition, PlanEntry]) -> bool:
        """Whether a check finds no condition to stop. Raises SubmitStopped for one that is certain."""
        moving = self._cluster.moves()
        _, health = self._cluster.health()
        stop_conditions.check(health, moving, {broker for entry in batch.values() for broker in entry.replicas})
        if stop_conditions.reason_to_stop is not None:
            raise SubmitStopped(
                f"{stop_conditions.reason_to_stop}. Moves in flight continue, submit begins no more. Run the same "
                "command again when the cluster is healthy, or with --accept-health to go on as it is"
            )
        return not stop_conditions.suspected


def _mismatch_lines(found: BatchState) -> list[str]:
    return [f"{name}: {why}" for name, why in sorted(found.mismatched.items())]


def _missing_broker_lines(
    batch: Mapping[TopicPartition, PlanEntry], found: BatchState, live: frozenset[int]
) -> list[str]:
    """A line for each move that would begin on a broker that is not live."""
    lines = []
    for name in sorted(found.not_begun):
        gone = [broker for broker in batch[name].replicas if broker not in live]
        if gone:
            lines.append(f"{name}: broker {gone[0]} is not live")
    return lines


def _progress(title: str, moves: int, left: int, snapshot: ProgressSnapshot) -> str:
    counts = f"{moves - left} of {moves} moves"
    for count, state in ((snapshot.waiting, "waiting"), (snapshot.stalled, "stalled")):
        counts += f", {count} {state}" if count else ""
    return f"{title} |{bar(snapshot.total.share, _BAR_WIDTH)}| {counts}, {amounts(snapshot.total)}"
