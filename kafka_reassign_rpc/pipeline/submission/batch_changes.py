"""What submit changes in the cluster."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from kafka_reassign_rpc.client import QUEUE, KafkaError, MoveTerms, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.client.text_format import first_lines, named
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import Entries, PlanEntry, first_led
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.support.counted import counted

Assignment = Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True)
class Offer:
    """What became of moves that submit asked for.

    begun, done    they are in flight, or have ended
    refused        they will not begin, and why
    later          they have not begun, but may if asked for again; with the error
    reordered      those of `later` with their first leader in front
    """

    begun: frozenset[TopicPartition]
    done: frozenset[TopicPartition] = frozenset()
    refused: Mapping[TopicPartition, str] = field(default_factory=dict)
    later: Mapping[TopicPartition, KafkaError] = field(default_factory=dict)
    reordered: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True)
class BatchChanges:
    """compares    the controller compares the expected replicas in the same step
    terms       of each move, but its target and its expected replicas
    """

    cluster: PatientCluster
    compares: bool
    may_change_factor: bool
    terms: MoveTerms

    def offer(self, name: str, entries: Entries, reordered: Collection[TopicPartition]) -> "Offer":
        """Asks once. `reordered` have their first leader in front."""
        errors, is_lost = self._send(name, entries, reordered)
        doubtful = {one: entries[one] for one in errors}
        if not doubtful:
            return Offer(begun=frozenset(entries))
        # A node may have shown a move that had ended: then the controller refuses it, and nothing is wrong.
        intervals = self.cluster.intervals
        found = self.cluster.state_when(doubtful, _has_begun, intervals.mismatch if is_lost else intervals.poll)
        refused = {one: why for one, why in found.mismatched.items() if is_lost}
        refused |= {
            one: error.message
            for one, error in errors.items()
            if one in found.mismatched or (one in found.not_begun and not self.cluster.may_pass(error))
            if one not in refused
        }
        begun = entries.keys() - doubtful.keys() | found.moving
        later = {one: errors[one] for one in found.not_begun if one not in refused}
        return Offer(frozenset(begun), found.done, refused, later, found.reordered)

    def _send(
        self, name: str, entries: Entries, reordered: Collection[TopicPartition]
    ) -> tuple[dict[TopicPartition, KafkaError], bool]:
        try:
            with self.cluster.word_if_slow():
                errors = self._lead_first(name, entries, reordered)
                as_they_are = self._waiting_for_permission(name, errors)
                rest = {one: entry for one, entry in entries.items() if one not in errors}
                results = self._alter(
                    {one: entry.replicas for one, entry in rest.items()},
                    {
                        one: entry.expected_replicas if one in as_they_are else entry.reordered
                        for one, entry in rest.items()
                    },
                    self.terms,
                )
        except KafkaError as error:
            if not self.cluster.may_pass(error):
                raise
            self.cluster.output.line(f"{name}: {error.message} Checking whether the moves have begun.")
            return dict.fromkeys(entries, error), True
        return errors | _failures(results), False

    def _lead_first(
        self, name: str, entries: Entries, reordered: Collection[TopicPartition]
    ) -> dict[TopicPartition, KafkaError]:
        """Lets first leaders lead, so that they send; one whose election fails does not. Returns why partitions could
        not be reordered.
        """
        first = {one: entry for one, entry in entries.items() if entry.first_leader >= 0}
        if not first:
            return {}
        as_planned = {one: entry for one, entry in first.items() if one not in reordered}
        results = self._alter(
            {one: entry.reordered for one, entry in as_planned.items()},
            {one: entry.expected_replicas for one, entry in as_planned.items()},
            self._order_alone,
        )
        errors = _failures(results)
        self._elect(name, [one for one in first if one not in errors], "copied from the present leader")
        return errors

    def _waiting_for_permission(self, name: str, errors: dict[TopicPartition, KafkaError]) -> set[TopicPartition]:
        """While reassignments are disabled: moves may wait in the queue without being reordered."""
        if self.terms.route != QUEUE:
            return set()
        disabled = {one: error for one, error in errors.items() if isinstance(error, PolicyViolation)}
        for one in disabled:
            del errors[one]
        self._report_failed(name, "copied from the present leader, which cannot be changed now", disabled)
        return set(disabled)

    def lead_afterwards(self, name: str, found: BatchState) -> None:
        """Lets the first replicas lead once moves have ended. If that fails, the next run tries again."""
        if found.to_elect:
            with self.cluster.word_if_slow():
                self._elect(name, sorted(found.to_elect), "led by the first leader of the plan still")

    def restore_order(self, name: str, entries: Entries) -> dict[TopicPartition, PlanEntry]:
        """Restores order and leader from before the first leader was put in front; copies nothing. A partition that
        moves, or has changed otherwise, stays. Returns those that could not be restored. Raises nothing.
        """
        maybe = first_led(entries)
        if not maybe:
            return {}
        try:
            restored, failed = self._restore(maybe)
        except KafkaError as error:
            restored, failed = set(), dict.fromkeys(maybe, error)
        self._report_failed(name, "keep their first leader in front until the same command runs again", failed)
        self._elect(name, sorted(restored), "led by the first leader until the next preferred election")
        return {one: maybe[one] for one in failed}

    def _restore(self, maybe: Entries) -> tuple[set[TopicPartition], dict[TopicPartition, KafkaError]]:
        found = self.cluster.state_when(
            maybe, lambda found: found.reordered >= maybe.keys(), self.cluster.intervals.poll
        )
        left = {one: maybe[one] for one in sorted(found.reordered)}
        before = {one: entry.expected_replicas for one, entry in left.items()}
        as_they_are = {one: entry.reordered for one, entry in left.items()}
        errors = _failures(self.cluster.ask(lambda: self._alter(before, as_they_are, self._order_alone)))
        if not errors:
            return set(left), {}
        # A lost answer, or somebody was faster: what the cluster shows counts.
        found = self.cluster.state({one: left[one] for one in errors})
        restored = left.keys() - errors.keys() | (found.not_begun - found.reordered)
        return restored, {one: error for one, error in errors.items() if one in found.reordered}

    def _elect(self, name: str, partitions: list[TopicPartition], otherwise: str) -> None:
        if not partitions:
            return
        try:
            results = self.cluster.client.elect_preferred_leaders(partitions)
        except KafkaError as error:
            results = dict.fromkeys(partitions, error)
        self._report_failed(name, f"{otherwise}, as the election failed", _failures(results))

    def _report_failed(self, name: str, what: str, failed: Mapping[TopicPartition, KafkaError]) -> None:
        if failed:
            self.cluster.output.line(f"{name}: {what} ({next(iter(failed.values())).message}): {named(failed)}")

    @property
    def _order_alone(self) -> MoveTerms:
        """Of changes that copy nothing: they need no throttle, and do not wait."""
        return MoveTerms((), reason=self.terms.reason)

    def _alter(self, targets: Assignment, expected: Assignment, terms: MoveTerms) -> Results:
        if not targets:
            return {}
        return self.cluster.client.alter_partition_reassignments(
            {
                one: replace(terms, target=target, expected=expected[one] if self.compares else None)
                for one, target in targets.items()
            },
            allow_replication_factor_change=self.may_change_factor,
        )

    def change_throttle(self, name: str, moving: Entries) -> None:
        """Moves of an earlier run get this throttle; those in the queue keep their place. One that ends meanwhile
        needs none. Raises JobFailed if the controller refuses.
        """
        deadline = time.monotonic() + self.cluster.intervals.mismatch
        left = dict(moving)
        while True:
            listed = self.cluster.moves(left.keys())
            left = {one: entry for one, entry in left.items() if one in listed}
            if not left:
                return
            targets = {one: entry.replicas for one, entry in left.items()}
            standing = {one: listed[one].replicas for one in left}
            results = self.cluster.ask(partial(self._alter, targets, standing, self.terms))
            errors = _failures(results)
            left = {one: entry for one, entry in left.items() if one in errors}
            if left and time.monotonic() >= deadline:
                lines = [f"{one}: {errors[one].message}" for one in sorted(left)]
                moves = (
                    "1 move keeps its throttle, and goes"
                    if len(left) == 1
                    else f"{len(left)} moves keep their throttles, and go"
                )
                text = f"{name}: {moves} on. The controller refuses:"
                raise JobFailed("\n".join([text, *first_lines(lines)]))
            if left:
                time.sleep(self.cluster.intervals.poll)


def not_begun(name: str, later: Mapping[TopicPartition, KafkaError]) -> JobFailed:
    why = next(iter(later.values())).message
    return JobFailed(f"{name}: {counted(len(later), 'move', 'were')} not begun: {why} Run the same command again.")


def _failures(results: Results) -> dict[TopicPartition, KafkaError]:
    return {one: error for one, error in results.items() if error is not None}


def _has_begun(found: BatchState) -> bool:
    return not found.not_begun and not found.mismatched
