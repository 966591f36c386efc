"""What submit asks the cluster, again where errors may pass."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_reassign_rpc.client import (
    KafkaError,
    LogDirProgressTracker,
    LogDirs,
    PartitionReassignment,
    ProgressSnapshot,
    ReassignmentClient,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.move_progress import read_progress
from kafka_reassign_rpc.core.status.documents import Move, Status
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState, batch_state
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, cluster_health
from kafka_reassign_rpc.pipeline.submission.submit_settings import PollIntervals, ProgressOutput
from kafka_reassign_rpc.support.tasks import word_if_slow

T = TypeVar("T")
OTHER_CONTROLLER = "The controller is no kafka-reassign-rpc server any more."
Listed = Mapping[TopicPartition, PartitionReassignment]
"""In flight or in the queue."""


@dataclass
class PatientCluster:
    """All methods raise KafkaError if the cluster is silent for too long, or if asking again does not help.

    racks   of live nodes, as `health` last found them
    ours    this run has found a kafka-reassign-rpc server in control: where another controller takes over, it waits
            for one to come back
    """

    client: ReassignmentClient
    output: ProgressOutput
    intervals: PollIntervals
    racks: Mapping[int, str | None] = field(default_factory=dict)
    ours: bool = False
    _silent_until: dict[int, float] = field(default_factory=dict)

    def ask(self, call: Callable[[], T]) -> T:
        """`call` must be repeatable: it only reads, or does nothing a second time."""
        since = time.monotonic()
        while True:
            try:
                with self.word_if_slow():
                    return call()
            except KafkaError as error:
                if not self.may_pass(error) or time.monotonic() - since > self.intervals.patience:
                    raise
                self.output.status(f"trying again: {error.message}")
            time.sleep(self.intervals.poll)

    def may_pass(self, error: KafkaError) -> bool:
        return error.retriable or (self.ours and isinstance(error, UnsupportedHere))

    def lists_waiting(self) -> bool:
        """Whether what the controller lists is all that goes on."""
        return not self.ours or self.client.can_compare_replicas()

    def _of_ours(self, read: Callable[[], T]) -> T:
        """What is read while a server of ours is in control, where one was: another controller does not list what waits
        in the queue, which would seem to be cancelled.
        """

        def complete() -> T:
            found = read()
            if not self.lists_waiting():
                raise UnsupportedHere(OTHER_CONTROLLER)
            return found

        return self.ask(complete)

    def word_if_slow(self) -> AbstractContextManager[None]:
        text = f"the cluster has not answered for {self.intervals.slow:g} s, waiting"
        return word_if_slow(self.output.status, text, self.intervals.slow)

    def health(self) -> tuple[str, ClusterHealth]:
        """With the cluster's id."""

        def read() -> tuple[str, ClusterHealth]:
            everything = self.client.describe_everything()
            self.racks = {node.id: node.rack for node in everything.nodes}
            return everything.cluster_id, cluster_health((node.id for node in everything.nodes), everything.topics)

        return self.ask(read)

    def health_of(self, plan: StorePath, cluster_id: str) -> ClusterHealth:
        """Raises BadInput where this is not the cluster of the plan."""
        found, health = self.health()
        if found != cluster_id:
            raise BadInput(f"{plan}: is for cluster {cluster_id}, this is cluster {found}")
        return health

    def moves(self, partitions: Collection[TopicPartition] | None = None) -> Listed:
        return self._of_ours(lambda: self.client.list_partition_reassignments(partitions))

    def state(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        """As the controller itself knows it."""
        moves = self.moves(batch.keys())
        names = {name.topic for name in batch}
        topics = self.ask(lambda: self.client.find_topics(names, of_controller=True))
        return batch_state(batch, topics, moves)

    def state_when(
        self, batch: Mapping[TopicPartition, PlanEntry], is_stable: Callable[[BatchState], bool], within: float
    ) -> BatchState:
        return self.until(lambda: self.state(batch), is_stable, within)

    def until(self, look: Callable[[], T], is_right: Callable[[T], bool], within: float) -> T:
        """What `look` finds once that `is_right`, or after `within` seconds."""
        deadline = time.monotonic() + within
        found = look()
        while not is_right(found) and time.monotonic() < deadline:
            time.sleep(self.intervals.poll)
            found = look()
        return found

    def stable_state(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        """Gives nodes time to learn of moves that have ended."""
        return self.state_when(batch, lambda found: not found.mismatched, self.intervals.mismatch)

    def progress(
        self, tracker: LogDirProgressTracker, partitions: Collection[TopicPartition]
    ) -> tuple[Listed, ProgressSnapshot]:
        """Frozen brokers cost `sizes` seconds now and then."""
        return self._of_ours(lambda: read_progress(self, tracker, time.monotonic(), partitions))

    # What `read_progress` asks

    def list_partition_reassignments(self, partitions: Iterable[tuple[str, int]] | None = None) -> Listed:
        return self.client.list_partition_reassignments(partitions)

    def moves_in_flight(self, partitions: Iterable[tuple[str, int]] | None = None) -> Sequence[Move]:
        return self.client.moves_in_flight(partitions)

    def status(self) -> Status:
        return self.client.status()

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> Iterable[LogDirs]:
        now = time.monotonic()
        asked = {one: names for one, names in partitions_by_broker.items() if self._silent_until.get(one, now) <= now}
        found = self.client.describe_log_dirs(asked, timeout_ms=int(1000 * self.intervals.sizes))
        for one in found:
            if one.error is not None:
                self._silent_until[one.broker] = time.monotonic() + self.intervals.unasked
        return found
