"""Carries out a plan: one batch after the other. A batch begins only if the cluster is as the plan expects it.

The cluster itself shows how far the plan is (see `batch_state`), so a submission that was killed is started again with
the same arguments. The journal in the plan's directory only keeps the cluster's health before the first batch.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kafka_reassign_rpc.client import (
    KafkaError,
    LogDirProgressTracker,
    ProgressSnapshot,
    ReassignmentClient,
    TopicPartition,
    Unreachable,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.move_progress import brokers_to_ask
from kafka_reassign_rpc.client.reassignment_calls import NO_LEASES
from kafka_reassign_rpc.client.text_format import amounts, bar
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import SET_RF, PlanEntry, SubmittablePlan, read_batch
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState, batch_state
from kafka_reassign_rpc.pipeline.submission.stop_conditions import (
    ClusterHealth,
    StopConditions,
    SubmitStopped,
    cluster_health,
)
from kafka_reassign_rpc.support.atomic_files import write_file

JOURNAL = "submit.json"
NAMED_PARTITIONS = 20
"""Partitions that a message names one by one."""
_BAR_WIDTH = 24


class PlanDoesNotFit(Exception):
    """The cluster has changed since the plan was made; submit began nothing of the batch. Exit code 4."""


@dataclass(frozen=True)
class PollIntervals:
    """In seconds.

    poll        between two checks of the moves in flight
    health      between two checks of the cluster's health
    settle      for this long a partition may seem mismatched
    patience    for this long the cluster may not answer
    """

    poll: float = 1.0
    health: float = 5.0
    settle: float = 5.0
    patience: float = 120.0


class Journal(msgspec.Struct, frozen=True):
    """submit.json in the plan's directory: the cluster's health before the first batch."""

    cluster_id: str
    health: ClusterHealth


@dataclass
class ProgressOutput:
    """Where progress is shown. status: replaces the last status; line: stays."""

    status: Callable[[str], None]
    line: Callable[[str], None]


@dataclass
class Submission:
    """One run of `submit`. Its methods raise BadInput, JobFailed, SubmitStopped, PlanDoesNotFit, KafkaError.

    throttle    bytes/s for moving replicas on each broker. The controller keeps it exactly as long as moves need it,
                also if this run is killed. 0: no throttle. None: moves keep the throttle that they have.
    """

    client: ReassignmentClient
    path: Path
    plan: SubmittablePlan
    output: ProgressOutput
    intervals: PollIntervals = field(default_factory=PollIntervals)
    throttle: int | None = None
    _begun: int = 0

    def dry_run(self) -> int:
        """Show the state of each batch; returns the number of moves that are not begun."""
        brokers, _ = self._cluster()
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
            refused += _mismatch_lines(found) + _missing_broker_lines(batch, found, brokers)
        if refused:
            raise PlanDoesNotFit(
                "\n".join(["the cluster has changed since the plan was made:", *_first_lines(refused)])
            )
        return left

    def execute(self, *, accept_health: bool = False) -> int:
        """Carry out the rest of the plan; returns the number of moves that this run began.

        accept_health    take the cluster's health now as the one to compare with, not that before the first batch
        """
        brokers, health = self._cluster()
        stop_conditions = StopConditions(self._first_health(health, accept_health=accept_health))
        compares = self.client.can_compare_replicas()
        forbids_factor_change = self.client.can_forbid_replication_factor_change()
        if not compares:
            self.output.line("this cluster has no compare-and-set: submit compares the assignments before each batch")
        if not forbids_factor_change and self.plan.info.kind != SET_RF:
            self.output.line(
                "this cluster cannot refuse a change of the replication factor: submit has checked the plan's files"
            )
        for number, file in enumerate(self.plan.batches, 1):
            batch = read_batch(file, self.plan.info.kind)
            found = self._settled_state(batch)
            if found.is_done:
                continue
            self._wait_until_healthy(stop_conditions)
            refused = _mismatch_lines(found) + _missing_broker_lines(batch, found, brokers)
            if refused:
                text = f"{file.stem} does not fit the cluster, submit began nothing more of it:"
                raise PlanDoesNotFit("\n".join([text, *_first_lines(refused)]))
            if found.moving and self.throttle is not None:
                self._change_throttle(file.stem, found.moving, self.throttle)
            if found.not_begun:
                entries = {name: batch[name] for name in sorted(found.not_begun)}
                self._begin_batch(file.stem, entries, compares=compares, forbids_factor_change=forbids_factor_change)
            self._follow_batch(batch, stop_conditions, f"batch {number}/{len(self.plan.batches)}", file.stem)
            self.output.line(f"{file.stem}: {len(batch)} done")
        return self._begun

    def _cluster(self) -> tuple[frozenset[int], ClusterHealth]:
        """The live nodes and the cluster's health. Raises BadInput for another cluster, UnsupportedHere."""
        everything = self.client.describe_everything()
        if everything.cluster_id != self.plan.info.cluster_id:
            raise BadInput(
                f"{self.path}: is for cluster {self.plan.info.cluster_id}, this is cluster {everything.cluster_id}"
            )
        if self.throttle is not None and not self.client.can_lease_throttles():
            raise UnsupportedHere(NO_LEASES)
        brokers = frozenset(node.id for node in everything.nodes)
        return brokers, cluster_health(brokers, everything.topics)

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
        write_file(file, (msgspec.json.encode(Journal(self.plan.info.cluster_id, health)),))
        return health

    def _state(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        in_flight = self.client.list_partition_reassignments()
        topics = self.client.describe_topics({name.topic for name in batch})
        return batch_state(batch, topics, in_flight)

    def _settled_state(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        """The batch's state, after nodes had time to learn of moves that have ended."""
        return self._state_when(batch, lambda found: not found.mismatched)

    def _state_when(
        self, batch: Mapping[TopicPartition, PlanEntry], settled: Callable[[BatchState], bool]
    ) -> BatchState:
        """The batch's state as soon as it is `settled`, or at the latest after the interval for that."""
        deadline = time.monotonic() + self.intervals.settle
        found = self._state(batch)
        while not settled(found) and time.monotonic() < deadline:
            time.sleep(self.intervals.poll)
            found = self._state(batch)
        return found

    def _begin_batch(
        self, name: str, entries: Mapping[TopicPartition, PlanEntry], *, compares: bool, forbids_factor_change: bool
    ) -> None:
        """Begin these moves; if the controller refuses one, take back the others. Raises PlanDoesNotFit, JobFailed."""
        expected = {partition: entry.expected_replicas for partition, entry in entries.items()}
        try:
            results = self.client.alter_partition_reassignments(
                {partition: entry.replicas for partition, entry in entries.items()},
                allow_replication_factor_change=self.plan.info.kind == SET_RF or not forbids_factor_change,
                expected_replicas=expected if compares else None,
                throttle=self.throttle,
                reason=self._reason(name) if self.client.can_keep_reasons() else None,
            )
        except Unreachable as error:
            # The request may have taken effect: the cluster's next state decides.
            self.output.line(f"{name}: {error.message} Checking whether the moves have begun.")
            found = self._state_when(entries, lambda found: not found.not_begun and not found.mismatched)
            if found.not_begun or found.mismatched:
                left = len(found.not_begun) + len(found.mismatched)
                raise JobFailed(f"{name}: {left} moves were not begun; run the same command again") from None
            results = {}
        refused = {partition: error for partition, error in results.items() if error is not None}
        if refused:
            # A node may have shown a move that had ended: then the controller refuses it, and nothing is wrong.
            refused_entries = {partition: entries[partition] for partition in refused}
            found = self._state(refused_entries)
            if found.not_begun or found.mismatched:
                time.sleep(self.intervals.poll)
                found = self._state(refused_entries)
            refused = {
                one: error for one, error in refused.items() if one in found.not_begun or one in found.mismatched
            }
        if refused:
            begun = entries.keys() - results.keys() | {one for one, error in results.items() if error is None}
            self._take_back(name, refused, begun)
        self._begun += len(entries)

    def _change_throttle(self, name: str, moving: Iterable[TopicPartition], throttle: int) -> None:
        """Moves that an earlier run began get the throttle of this one; a move that ends meanwhile needs none."""
        in_flight = self.client.list_partition_reassignments()
        started = {one: in_flight[one] for one in moving if one in in_flight and not in_flight[one].is_waiting}
        self.client.alter_partition_reassignments(
            {one: move.target for one, move in started.items()},
            expected_replicas={one: move.replicas for one, move in started.items()},
            throttle=throttle,
            reason=self._reason(name),
        )

    def _reason(self, name: str) -> str:
        """The reason that the controller keeps with each move and shows in events and in listings."""
        return f"plan {self.path.resolve().name} ({self.plan.info.kind}), {name}"

    def _take_back(
        self, name: str, refused: Mapping[TopicPartition, KafkaError], begun: Iterable[TopicPartition]
    ) -> None:
        """Cancel the begun moves of a batch of which the controller refused others. Raises PlanDoesNotFit."""
        completed = [
            one for one, error in self.client.cancel_partition_reassignments(begun).items() if error is not None
        ]
        lines = [f"{one}: {error.message}" for one, error in sorted(refused.items())]
        exceptions = f", except {len(completed)} that had completed" if completed else ""
        text = f"{name}: {len(refused)} moves were refused; submit cancelled the others of the batch{exceptions}:"
        raise PlanDoesNotFit("\n".join([text, *_first_lines(lines)]))

    def _follow_batch(
        self, batch: Mapping[TopicPartition, PlanEntry], stop_conditions: StopConditions, title: str, name: str
    ) -> None:
        """Show progress until no partition of the batch moves any more."""
        tracker = LogDirProgressTracker()
        answered = time.monotonic()
        checked = answered
        while True:
            try:
                in_flight = self.client.list_partition_reassignments()
                moving = {one: move for one, move in in_flight.items() if one in batch}
                snapshot = tracker.update(
                    time.monotonic(), moving, self.client.describe_log_dirs(brokers_to_ask(moving))
                )
                self.output.status(_progress(title, len(batch), snapshot))
                if not moving:
                    self._require_done(batch, name)
                    return
                if time.monotonic() - checked >= self.intervals.health:
                    checked = time.monotonic()
                    self._is_healthy(stop_conditions)
                answered = time.monotonic()
            except Unreachable as error:
                if time.monotonic() - answered > self.intervals.patience:
                    raise
                self.output.status(f"{title}: no answer, trying again: {error.message}")
            time.sleep(self.intervals.poll)

    def _require_done(self, batch: Mapping[TopicPartition, PlanEntry], name: str) -> None:
        """Raises PlanDoesNotFit for partitions of the batch that did not reach their targets."""
        found = self._state_when(batch, lambda found: found.is_done)
        if not found.is_done:
            left = [f"{one}: it was cancelled" for one in sorted(found.not_begun)] + _mismatch_lines(found)
            left += [f"{one}: it moves again" for one in sorted(found.moving)]
            raise PlanDoesNotFit("\n".join([f"{name}: partitions did not reach their targets:", *_first_lines(left)]))

    def _wait_until_healthy(self, stop_conditions: StopConditions) -> None:
        """Check again and again while a condition to stop is suspected. Raises SubmitStopped."""
        while not self._is_healthy(stop_conditions):
            self.output.status("the cluster seems to be unhealthy, checking again")
            time.sleep(self.intervals.health)

    def _is_healthy(self, stop_conditions: StopConditions) -> bool:
        """Whether a check finds no condition to stop. Raises SubmitStopped for one that is certain."""
        moving = self.client.list_partition_reassignments()
        everything = self.client.describe_everything()
        health = cluster_health((node.id for node in everything.nodes), everything.topics)
        stop_conditions.check(health, moving)
        if stop_conditions.reason_to_stop is not None:
            raise SubmitStopped(
                f"{stop_conditions.reason_to_stop}. Moves in flight continue, submit begins no more. Run the same "
                "command again when the cluster is healthy, or with --accept-health to go on as it is"
            )
        return not stop_conditions.suspected


def _mismatch_lines(found: BatchState) -> list[str]:
    return [f"{name}: {why}" for name, why in sorted(found.mismatched.items())]


def _missing_broker_lines(
    batch: Mapping[TopicPartition, PlanEntry], found: BatchState, brokers: frozenset[int]
) -> list[str]:
    """A line for each move that would begin on a broker that is not live."""
    lines = []
    for name in sorted(found.not_begun):
        gone = [broker for broker in batch[name].replicas if broker not in brokers]
        if gone:
            lines.append(f"{name}: broker {gone[0]} is not live")
    return lines


def _first_lines(lines: list[str]) -> list[str]:
    return (
        lines
        if len(lines) <= NAMED_PARTITIONS
        else [*lines[:NAMED_PARTITIONS], f"… and {len(lines) - NAMED_PARTITIONS} more"]
    )


def _progress(title: str, moves: int, snapshot: ProgressSnapshot) -> str:
    done = moves - len(snapshot.moves)
    return f"{title} |{bar(snapshot.total.share, _BAR_WIDTH)}| {done} of {moves} moves, {amounts(snapshot.total)}"
