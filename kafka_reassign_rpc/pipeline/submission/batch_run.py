"""`submit --by-batch`. A batch begins only if the cluster is as the plan expects it."""

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from kafka_reassign_rpc.client import LogDirProgressTracker, ProgressSnapshot, TopicPartition
from kafka_reassign_rpc.client.move_progress import Listed
from kafka_reassign_rpc.client.text_format import first_lines
from kafka_reassign_rpc.pipeline.plans.batch_reader import (
    PlanEntry,
    PlanInfo,
    PlannedBatch,
    SubmittablePlan,
    batch_number,
    read_batch,
)
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState, misfit_lines, mismatch_lines
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch
from kafka_reassign_rpc.pipeline.submission.moves_to_lost import lines_of, status_of, stop_for, waiting_for_lost
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress, Seen
from kafka_reassign_rpc.pipeline.submission.plan_warnings import PlanWarnings
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, UnderWay
from kafka_reassign_rpc.pipeline.submission.withdrawal import taking_back

Batch = Mapping[TopicPartition, PlanEntry]


@dataclass
class Bar:
    """The progress of one batch. `sizes`: bytes of its moves, as far as brokers have told them."""

    progress: PlanProgress
    title: str
    sizes: dict[TopicPartition, int] = field(default_factory=dict)

    def text(self, followed: Set[TopicPartition], listed: Listed, snapshot: ProgressSnapshot) -> str:
        self.sizes.update({name: one.total for name, one in snapshot.moves.items() if one.total is not None})
        waiting = {name for name, one in listed.items() if one.is_waiting}
        seen = [
            Seen(0, (known.done or 0) if known else 0, self.sizes.get(name), name not in listed)
            for name in followed - waiting
            for known in [snapshot.moves.get(name)]
        ]
        now = time.monotonic()
        return self.progress.text(now, seen, waiting=len(waiting), stalled=snapshot.stalled, title=self.title)


@dataclass
class BatchRun:
    """`live`: when it began; `changes` takes the batch's name for the reason."""

    cluster: PatientCluster
    plan: SubmittablePlan
    watch: HealthWatch
    live: frozenset[int]
    changes: Callable[[str], BatchChanges]
    under_way: UnderWay
    warnings: PlanWarnings
    _reordered: Batch = field(default_factory=dict)
    """Moves that have not begun, or were cancelled, with their first leader in front."""

    def run(self) -> int:
        """Returns how many moves it began. Raises PlanDoesNotFit, SubmitStopped, JobFailed, BadInput."""
        begun, sizes = 0, {one.batch: one.bytes for one in self.plan.info.batches}
        for number, file in enumerate(self.plan.batches, 1):
            batch = read_batch(file, self.plan.info.kind)
            title = f"batch {number}/{len(self.plan.batches)}"
            begun += self.run_batch(file.stem, batch, title, sizes.get(batch_number(file), 0))
        return begun

    def run_batch(self, name: str, batch: Batch, title: str, planned: int = 0) -> int:
        """As `run`. `title`, `planned` bytes (0: unknown): for the progress."""
        found = self.cluster.stable_state(batch)
        changes = self.changes(name)
        changes.lead_afterwards(name, found)
        if found.is_done:
            return 0
        self._see(batch, found.moving)
        self._reordered = {one: batch[one] for one in found.reordered}
        with taking_back(changes, name, self.under_way, lambda: self._reordered):
            progress = PlanProgress(PlanInfo(self.plan.info.kind, "", batches=[PlannedBatch(0, len(batch), planned)]))
            begun = self._carry_out(changes, name, batch, found, Bar(progress, title))
        self.cluster.output.line(f"{name}: {len(batch)} done")
        return begun

    def _carry_out(self, changes: BatchChanges, name: str, batch: Batch, found: BatchState, bar: Bar) -> int:
        bar.progress.done(0, len(found.done), earlier=True)
        self.watch.wait_until_healthy(targets(batch))
        refused = misfit_lines(batch, found, self.live)
        if refused:
            text = f"{name} does not fit the cluster, submit began nothing more of it:"
            raise PlanDoesNotFit("\n".join([text, *first_lines(refused)]))
        if found.moving and changes.terms.throttle is not None:
            changes.change_throttle(name, {one: batch[one] for one in sorted(found.moving)})
        self.warnings.of_moves(self.cluster, batch, found.not_begun)
        if found.not_begun:
            left = {one: batch[one] for one in sorted(found.not_begun)}
            self.under_way.see({one: batch[one] for one in found.moving}, asked=left)
            changes.begin(name, left, found.reordered)
            self._reordered = {}
        self._follow(changes, name, batch.keys() - found.done, batch, bar)
        return len(found.not_begun)

    def _see(self, batch: Batch, moving: Set[TopicPartition]) -> None:
        self.under_way.see({name: batch[name] for name in moving})

    def _follow(self, changes: BatchChanges, name: str, followed: Set[TopicPartition], batch: Batch, bar: Bar) -> None:
        tracker, waited = LogDirProgressTracker(), dict[TopicPartition, int]()
        while True:
            listed, snapshot = self.cluster.progress(tracker, batch.keys())
            self.warnings.of_throttle(time.monotonic(), snapshot.moves)
            self._see(batch, listed.keys())
            waiting = waiting_for_lost(self.under_way.moves, self.watch.live)
            text = bar.text(followed, listed, snapshot)
            self.cluster.output.status(f"{text}; {status_of(waiting)}" if waiting else text)
            if not listed:
                self._require_done(changes, name, batch)
                return
            if self.watch.is_healthy(targets(batch)):
                for line in lines_of({one: broker for one, broker in waiting.items() if one not in waited}):
                    self.cluster.output.line(f"{name}: {line}")
                waited = waiting
                if len(waiting) == len(listed):
                    self._require_life(name, batch)
            time.sleep(self.cluster.intervals.poll)

    def _require_life(self, name: str, batch: Batch) -> None:
        """Raises SubmitStopped if all that is left waits for lost brokers."""
        self.watch.wait_until_healthy(targets(batch))
        waiting = waiting_for_lost(self.under_way.moves, self.watch.live)
        if len(waiting) == len(self.under_way.moves):
            raise stop_for(name, waiting, "all other moves of the batch are done, those of later ones have not begun")

    def _require_done(self, changes: BatchChanges, name: str, batch: Batch) -> None:
        """Raises PlanDoesNotFit."""
        found = self.cluster.state_when(batch, lambda found: found.is_done, self.cluster.intervals.arrival)
        changes.lead_afterwards(name, found)
        if not found.is_done:
            self._reordered = {one: batch[one] for one in found.reordered}
            left = [f"{one}: it was cancelled" for one in sorted(found.not_begun)] + mismatch_lines(found)
            left += [f"{one}: it moves again" for one in sorted(found.moving)]
            raise PlanDoesNotFit("\n".join([f"{name}: partitions did not reach their targets:", *first_lines(left)]))


def targets(batch: Batch) -> set[int]:
    return {broker for entry in batch.values() for broker in entry.replicas}
