"""`submit --undo` takes back what the plan has under way before the moves that have ended go back."""

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.text_format import first_lines
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry, SubmittablePlan, read_batch
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.replica_order import Entries, first_led
from kafka_reassign_rpc.support.counted import counted


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
