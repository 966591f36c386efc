"""A cluster in memory that takes the place of the client in tests of `submit`: it fails where and when a test wants."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NoReturn

from kafka_reassign_rpc.client import (
    ClusterNode,
    KafkaError,
    LogDirs,
    PartitionInfo,
    PartitionReassignment,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PollIntervals, ProgressOutput
from tests.pipeline.plans import Moves, write_plan

Replicas = tuple[int, ...]
Results = dict[TopicPartition, KafkaError | None]

AT_ONCE = PollIntervals(poll=0, health=0, settle=0, arrival=0, patience=20, sizes=0.25)


class SimulatedCluster:
    """Partitions of topic t by number.

    replicas   of the partitions at rest, and before their moves
    moves      in flight or waiting; those in flight end when they have been listed `lists_to_end` times
    live       live brokers
    errors     by call: what it raises, one after the other, before it works
    refusals   by partition: how its alterations are refused, one after the other, before they are accepted
    late       so many descriptions of topics show the state before any move
    altered    the alterations: targets, and options
    checks     descriptions of the whole cluster
    silent     brokers that do not tell sizes
    """

    def __init__(self, replicas: Mapping[int, Replicas], live: Set[int], lists_to_end: int = 2) -> None:
        self.replicas = {TopicPartition("t", index): found for index, found in replicas.items()}
        self.first = dict(self.replicas)
        self.moves: dict[TopicPartition, PartitionReassignment] = {}
        self.live = set(live)
        self.lists_to_end = lists_to_end
        self.errors: dict[str, list[Exception]] = {}
        self.refusals: dict[TopicPartition, list[KafkaError]] = {}
        self.late = 0
        self.altered: list[tuple[dict[TopicPartition, Replicas | None], dict[str, Any]]] = []
        self.asked_for_sizes: list[tuple[list[int], int]] = []
        self.checks = 0
        self.silent: set[int] = set()
        self.keeps_reasons = True
        self.on_list: Callable[[], None] = lambda: None
        self._lists = Counter[TopicPartition]()

    def _called(self, name: str) -> None:
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        self._called("list")
        self.on_list()
        for name, move in list(self.moves.items()):
            self._lists[name] += not move.is_waiting
            if self._lists[name] > self.lists_to_end and self.live.issuperset(move.target):
                self.replicas[name] = self.moves.pop(name).target
        wanted = None if partitions is None else set(partitions)
        return {name: move for name, move in self.moves.items() if wanted is None or name in wanted}

    def describe_topics(
        self, topics: Iterable[str], *, of_controller: bool = False
    ) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
        self._called("topics")
        assert of_controller
        assert set(topics) <= {"t"}
        self.late -= bool(self.late)
        return {"t": self._partitions(self.first if self.late else self.replicas)}

    def _partitions(self, replicas: Mapping[TopicPartition, Replicas]) -> dict[int, PartitionInfo]:
        found = {}
        for name, standing in replicas.items():
            move = self.moves.get(name)
            shown = standing if move is None else move.replicas
            found[name.partition] = PartitionInfo(shown[0], shown, shown)
        return found

    def describe_everything(self) -> Everything:
        self._called("everything")
        self.checks += 1
        nodes = [ClusterNode(broker, "h", 1, None) for broker in sorted(self.live)]
        return Everything("c1", 1, nodes, iter([TopicInfo("t", self._partitions(self.replicas), None)]))

    def describe_reassignments(self, _: object = None) -> NoReturn:
        raise UnsupportedHere

    def describe_log_dirs(
        self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]], *, timeout_ms: int
    ) -> list[LogDirs]:
        self.asked_for_sizes.append((sorted(partitions_by_broker), timeout_ms))
        return [LogDirs(broker, error="?" if broker in self.silent else None) for broker in partitions_by_broker]

    def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Replicas | None], **options: Any
    ) -> Results:
        self.altered.append((dict(targets), options))
        self._called("alter")
        return {name: self._alter(name, target, options) for name, target in targets.items()}

    def _alter(self, name: TopicPartition, target: Replicas | None, options: Mapping[str, Any]) -> KafkaError | None:
        if self.refusals.get(name):
            return self.refusals[name].pop(0)
        if target is None:
            return NoReassignmentInProgress() if self.moves.pop(name, None) is None else None
        standing = self.replicas[name]
        adding = tuple(broker for broker in target if broker not in standing)
        removing = tuple(broker for broker in standing if broker not in target)
        self.moves[name] = PartitionReassignment((*target, *removing), adding, removing, reason=options["reason"] or "")
        return None

    def cancel_partition_reassignments(self, partitions: Iterable[TopicPartition]) -> Results:
        return self.alter_partition_reassignments(dict.fromkeys(partitions))

    def can_compare_replicas(self) -> bool:
        self._called("can")
        return True

    can_forbid_replication_factor_change = can_lease_throttles = can_compare_replicas

    def can_keep_reasons(self) -> bool:
        return self.keeps_reasons


def submission(
    cluster: SimulatedCluster,
    path: Path,
    *batches: Moves,
    said: list[str] | None = None,
    intervals: PollIntervals = AT_ONCE,
    **options: Any,
) -> Submission:
    """A submission of a new plan, or of the plan at `path` if there are no batches."""
    if batches:
        write_plan(path, "c1", *batches)
    lines: list[str] = [] if said is None else said
    client: Any = cluster
    return Submission(client, path, read_plan(path), ProgressOutput(lines.append, lines.append), intervals, **options)


def moves(**targets: tuple[Sequence[int], Sequence[int]]) -> Moves:
    """Moves of topic t: p0=((2,), (1,)) moves t-0 from broker 1 to broker 2."""
    return {TopicPartition("t", int(name[1:])): found for name, found in targets.items()}
