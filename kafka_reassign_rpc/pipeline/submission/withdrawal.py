"""After an early end of submit: takes back moves that wait in the controller's queue, and restores the order of
replicas where a first leader was put in front.

`submit --undo` takes back what the plan has under way before the moves that have ended go back.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.text_format import first_lines
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import Entries, PlanEntry, SubmittablePlan, first_led, read_batch
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.patient_cluster import OTHER_CONTROLLER, Listed, PatientCluster
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, UnderWay
from kafka_reassign_rpc.support.counted import agreeing, counted

NO_ANSWER = "the cluster does not answer"


@contextmanager
def taking_back(
    changes: BatchChanges, name: str, under_way: UnderWay, reordered: Callable[[], Entries]
) -> Iterator[None]:
    """Withdraws if the block ends early. `reordered`: moves that have not begun, and may have their first leader in
    front.
    """
    try:
        yield
    except (SubmitStopped, PlanDoesNotFit, JobFailed):
        line = changes.cluster.output.line
        try:
            withdraw(changes, name, under_way, reordered(), is_answered=True)
        except KafkaError as error:
            line(f"moves that wait in the controller's queue could not be taken back: {error}")
        if under_way.taken_back:
            moves, were = counted(under_way.taken_back, "move"), agreeing(under_way.taken_back, "were")
            line(f"{moves} that waited in the controller's queue {were} taken back")
        raise
    except (KeyboardInterrupt, SystemExit, KafkaError):  # Ctrl-C, SIGTERM; the cluster is silent
        withdraw_in_time(changes, name, under_way, reordered())
        raise


def withdraw_in_time(changes: BatchChanges, name: str, under_way: UnderWay, reordered: Entries) -> None:
    """After an interrupt. It takes at most ten seconds and raises nothing: the operator waits."""
    under_way.out_of_order = first_led({**under_way.out_of_order, **reordered})
    if not under_way.moves and not under_way.out_of_order:
        return
    cluster = changes.cluster
    intervals = replace(cluster.intervals, patience=cluster.intervals.withdrawal)
    brief = replace(changes, cluster=replace(cluster, intervals=intervals))
    under_way.why_not = NO_ANSWER

    def work() -> None:
        try:
            withdraw(brief, name, under_way, reordered, is_answered=False)
        except KafkaError as error:
            under_way.why_not = error.message

    # In a thread of its own, for a call may hang for longer than that.
    thread = threading.Thread(target=work, name="withdrawal", daemon=True)
    thread.start()
    try:
        thread.join(cluster.intervals.withdrawal)
    except (KeyboardInterrupt, SystemExit):
        under_way.why_not = "interrupted again"


def withdraw(changes: BatchChanges, name: str, under_way: UnderWay, reordered: Entries, *, is_answered: bool) -> None:
    """Tells `under_way` what goes on. Raises KafkaError if moves could not be taken back. `is_answered`: requests are
    answered, so what the controller does not list is not under way.
    """
    moves, asked = under_way.moves, under_way.asked
    restless = {**under_way.out_of_order, **reordered, **{one: moves[one] for one in asked}}
    try:
        if moves and not changes.cluster.ask(changes.cluster.lists_waiting):
            under_way.is_known, under_way.why_not = False, OTHER_CONTROLLER
            restless = {one: entry for one, entry in restless.items() if one not in moves}
            return
        listed = changes.cluster.moves(moves.keys()) if moves else {}
        doubtful = () if is_answered else asked
        under_way.moves = {one: entry for one, entry in moves.items() if one in listed or one in doubtful}
        under_way.waiting = sum(move.is_waiting for move in listed.values())
        under_way.is_known = listed.keys() >= under_way.moves.keys()
        found = _cancel_waiting(changes.cluster, listed)
        restless |= {one: moves[one] for one in found.gone}
        restless = {one: entry for one, entry in restless.items() if one not in listed or one in found.gone}
        under_way.out_of_order = first_led(restless)  # until they are not
        under_way.moves = {one: entry for one, entry in under_way.moves.items() if one not in found.gone}
        under_way.taken_back, under_way.waiting = len(found.gone), len(found.waiting)
        under_way.why_not = next((error.message for error in found.waiting.values()), "")
    finally:
        under_way.out_of_order = changes.restore_order(name, restless)


class _Cancelled(NamedTuple):
    """`gone`: moves that will not start; `waiting`: those that still wait, and why."""

    gone: frozenset[TopicPartition]
    waiting: dict[TopicPartition, KafkaError]


def _cancel_waiting(cluster: PatientCluster, listed: Listed) -> _Cancelled:
    """Raises KafkaError."""
    waiting = [name for name, move in listed.items() if move.is_waiting]
    if not waiting:
        return _Cancelled(frozenset(), {})
    results = cluster.ask(lambda: cluster.client.cancel_partition_reassignments(waiting))
    kept = {
        name: error
        for name, error in results.items()
        if error is not None and not isinstance(error, NoReassignmentInProgress)
    }
    return _Cancelled(frozenset(waiting) - kept.keys(), kept)


class UndoCancels:
    """Does nothing unless `plan` is the way back of a plan."""

    def __init__(self, cluster: PatientCluster, plan: SubmittablePlan) -> None:
        self._cluster = cluster
        self._plan = plan
        self._moves = cluster.moves() if plan.undoes else {}

    def to_cancel(self, batch: Entries) -> list[TopicPartition]:
        """Moves of a topic that was created again belong to somebody else."""
        found = {
            name: entry
            for name, entry in batch.items()
            if name in self._moves and _is_of_plan(entry, self._moves[name])
        }
        if not found:
            return []
        topics = {name.topic for name in found}
        known = self._cluster.ask(lambda: self._cluster.client.find_topics(topics, of_controller=True))
        ids = {topic: info.topic_id for topic, info in known.items()}
        return [name for name, entry in found.items() if entry.topic_id in ("", ids.get(name.topic) or entry.topic_id)]

    def out_of_order(self, file: StorePath) -> Entries:
        """Partitions at rest of a batch of the way back with the plan's first leader in front."""
        if not self._plan.undoes:
            return {}
        led = first_led(read_batch(self._plan.way_there[file], self._plan.summary.kind))
        return {name: led[name] for name in sorted(self._cluster.state(led).reordered)} if led else {}

    def cancel(self) -> None:
        """A move that has ended meanwhile goes back as others do. Raises JobFailed."""
        if not self._moves:
            return
        names = [
            name for file in self._plan.batches for name in self.to_cancel(read_batch(file, self._plan.summary.kind))
        ]
        if not names:
            return
        results = self._cluster.ask(lambda: self._cluster.client.cancel_partition_reassignments(names))
        refused = {
            name: error.message
            for name, error in results.items()
            if error is not None and not isinstance(error, NoReassignmentInProgress)
        }
        if refused:
            lines = first_lines([f"{name}: {why}" for name, why in sorted(refused.items())])
            raise JobFailed("\n".join([f"{counted(len(refused), 'move', 'were')} not cancelled:", *lines]))
        cancelled = sum(error is None for error in results.values())
        self._cluster.output.line(f"{counted(cancelled, 'move', 'were')} cancelled")

    def restore_order(self, changes: BatchChanges) -> None:
        """After `cancel`. What cannot be restored does not fit the way back, and submit names it."""
        for file in self._plan.batches:
            changes.restore_order(file.stem, self.out_of_order(file))


def _is_of_plan(entry: PlanEntry, move: PartitionReassignment) -> bool:
    """The move leads where the plan leads, from where it begins. The order of a waiting move's target is not always
    known, and a first leader changes the order of the replicas before.
    """
    target = entry.expected_replicas
    leads_there = move.target == target or (move.is_waiting and set(move.target) == set(target))
    return leads_there and move.sources == set(entry.replicas)
