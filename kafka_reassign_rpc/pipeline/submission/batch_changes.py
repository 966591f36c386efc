"""What submit changes in the cluster: it begins the moves of a batch, takes them back, gives them another throttle."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from kafka_reassign_rpc.client import KafkaError, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, first_lines

Entries = Mapping[TopicPartition, PlanEntry]


@dataclass(frozen=True)
class BatchChanges:
    """Changes with the options of one submission.

    compares                 the controller compares the expected replicas in the same step
    may_change_factor        whether to allow changes of the replication factor
    throttle                 bytes/s for moving replicas on each broker; 0: none; None: as it is
    reason                   what the controller keeps with each move; None: it keeps no reasons
    """

    cluster: PatientCluster
    compares: bool
    may_change_factor: bool
    throttle: int | None
    reason: str | None

    def begin(self, name: str, entries: Entries) -> None:
        """Begin these moves; if the controller refuses one for good, take back the others.

        A refusal that may pass, and an answer that is lost, are no end: what the cluster shows decides what is sent
        again. Raises PlanDoesNotFit, JobFailed.
        """
        intervals = self.cluster.intervals
        deadline = time.monotonic() + intervals.patience
        left = dict(entries)
        while left:
            errors, is_lost = self._send(name, left)
            doubtful = {one: left[one] for one in errors}
            if not doubtful:
                return
            # A node may have shown a move that had ended: then the controller refuses it, and nothing is wrong.
            found = self.cluster.state_when(doubtful, _has_begun, intervals.settle if is_lost else intervals.poll)
            refused = {one: why for one, why in found.mismatched.items() if is_lost}
            refused |= {
                one: error.message
                for one, error in errors.items()
                if one in found.mismatched or (one in found.not_begun and not error.retriable)
                if one not in refused
            }
            if refused:
                self._take_back(name, refused, entries.keys() - doubtful.keys() | found.moving)
            left = {one: entries[one] for one in sorted(found.not_begun)}
            if left and time.monotonic() >= deadline:
                why = next(iter(errors.values())).message
                raise JobFailed(f"{name}: {len(left)} moves were not begun: {why} Run the same command again.")
            if left:
                time.sleep(intervals.poll)

    def _send(self, name: str, entries: Entries) -> tuple[dict[TopicPartition, KafkaError], bool]:
        """Ask for the moves. Returns the errors, and whether it is unknown what became of the request."""
        try:
            with self.cluster.word_if_slow():
                results = self._alter(entries, {one: entry.expected_replicas for one, entry in entries.items()})
        except KafkaError as error:
            if not error.retriable:
                raise
            self.cluster.output.line(f"{name}: {error.message} Checking whether the moves have begun.")
            return dict.fromkeys(entries, error), True
        return {one: error for one, error in results.items() if error is not None}, False

    def _alter(self, entries: Entries, expected: Mapping[TopicPartition, tuple[int, ...]]) -> Results:
        return self.cluster.client.alter_partition_reassignments(
            {one: entry.replicas for one, entry in entries.items()},
            allow_replication_factor_change=self.may_change_factor,
            expected_replicas=expected if self.compares else None,
            throttle=self.throttle,
            reason=self.reason,
        )

    def change_throttle(self, name: str, moving: Entries) -> None:
        """Moves that an earlier run began get the throttle of this one, in flight or in the queue (where they go to its
        end). A move that ends meanwhile needs none. Raises JobFailed where the controller refuses it for others."""
        deadline = time.monotonic() + self.cluster.intervals.settle
        left = dict(moving)
        while True:
            listed = self.cluster.moves(left.keys())
            left = {one: entry for one, entry in left.items() if one in listed}
            if not left:
                return
            results = self.cluster.ask(partial(self._alter, left, {one: listed[one].replicas for one in left}))
            errors = {one: error for one, error in results.items() if error is not None}
            left = {one: entry for one, entry in left.items() if one in errors}
            if left and time.monotonic() >= deadline:
                lines = [f"{one}: {errors[one].message}" for one in sorted(left)]
                text = f"{name}: {len(left)} moves keep the throttle that they have, and go on. The controller refuses:"
                raise JobFailed("\n".join([text, *first_lines(lines)]))
            if left:
                time.sleep(self.cluster.intervals.poll)

    def _take_back(self, name: str, refused: Mapping[TopicPartition, str], begun: Collection[TopicPartition]) -> None:
        """Cancel the begun moves of a batch of which the controller refused others. Raises PlanDoesNotFit."""
        results = self.cluster.ask(lambda: self.cluster.client.cancel_partition_reassignments(begun))
        completed = sum(isinstance(error, NoReassignmentInProgress) for error in results.values())
        exceptions = f", except {completed} that had completed" if completed else ""
        lines = [f"{one}: {why}" for one, why in sorted(refused.items())]
        lines += [
            f"{one}: goes on, its cancel was refused: {error.message}"
            for one, error in sorted(results.items())
            if error is not None and not isinstance(error, NoReassignmentInProgress)
        ]
        text = f"{name}: {len(refused)} moves were refused; submit cancelled the others of the batch{exceptions}:"
        raise PlanDoesNotFit("\n".join([text, *first_lines(lines)]))


def _has_begun(found: BatchState) -> bool:
    return not found.not_begun and not found.mismatched
