"""How far moves are, in bytes, and how long they will take.

Our server samples all that itself, and tells it in DescribeReassignments. Where it does not (stock Kafka, a move that
has only just begun) it is made here, of DescribeLogDirs: what each new replica holds, against the largest replica that
is not new. A move that has left the list of moves is done. A rate made here is that of the last seconds. The rate of
all moves together is the sum of theirs where the server says them all, or it would jump whenever the server samples.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafka_reassign_rpc.client.client_errors import UnsupportedHere
from kafka_reassign_rpc.client.result_values import (
    LogDirs,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
)
from kafka_reassign_rpc.core.state.cluster import TopicPartition

WINDOW_S = 15.0


@dataclass(frozen=True)
class Bytes:
    """done and total bytes to copy; total is None where no old replica's size is known."""

    done: int
    total: int | None

    @property
    def left(self) -> int:
        return max(0, (self.total or 0) - self.done)


@dataclass(frozen=True)
class Progress:
    """One move, or all of them. `rate` in bytes/s, `remaining_s` in seconds; None where nothing can be said.

    stalled   why it does not get on, where the server says that it does not
    """

    done: int
    total: int | None
    rate: float | None = None
    remaining_s: float | None = None
    copied: Mapping[int, int] = field(default_factory=dict)
    stalled: str | None = None

    @property
    def share(self) -> float | None:
        """From 0 to 1."""
        if self.total is None:
            return None
        return 1.0 if self.total == 0 else min(1.0, self.done / self.total)


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state at one time. `finished` are the moves that have ended since the first look; `waiting` those that
    have not begun, of which nothing else is known."""

    moves: Mapping[TopicPartition, Progress]
    total: Progress
    finished: int
    unknown_brokers: Mapping[int, str]
    waiting: int = 0

    @property
    def stalled(self) -> int:
        """How many moves do not get on."""
        return sum(progress.stalled is not None for progress in self.moves.values())


def concerned(in_flight: Mapping[TopicPartition, PartitionReassignment]) -> dict[int, list[TopicPartition]]:
    """Which partitions each broker has to be asked about."""
    asked: dict[int, list[TopicPartition]] = {}
    for partition, move in in_flight.items():
        for broker in move.replicas:
            asked.setdefault(broker, []).append(partition)
    return asked


class LogDirProgressTracker:
    """Follows moves over time. Give `update` each look; times are seconds of any one clock."""

    def __init__(self) -> None:
        self._samples: dict[TopicPartition, deque[tuple[float, int]]] = {}
        self._totals: deque[tuple[float, int]] = deque()
        self._known: dict[TopicPartition, Bytes] = {}
        self._finished: dict[TopicPartition, Bytes] = {}

    def update(
        self,
        now: float,
        in_flight: Mapping[TopicPartition, PartitionReassignment],
        log_dirs: Iterable[LogDirs],
        described: Mapping[TopicPartition, ReassignmentDescription] | None = None,
    ) -> ProgressSnapshot:
        """`described`: what the server says of moves itself; `log_dirs` need not tell of those that it has sampled."""
        described = described or {}
        answers = {found.broker: found for found in log_dirs}
        for partition in self._known.keys() - in_flight.keys():
            known = self._known.pop(partition)
            self._finished[partition] = Bytes(known.total or known.done, known.total or known.done)
            self._samples.pop(partition, None)
        moves = {}
        for partition, move in in_flight.items():
            self._finished.pop(partition, None)  # it moves again
            said = described.get(partition)
            if said is not None and said.total_bytes is not None:
                moves[partition] = _as_said(move, said, said.total_bytes)
                self._known[partition] = Bytes(moves[partition].done, moves[partition].total)
                continue
            copied, size = _sizes(partition, move, answers)
            self._known[partition] = Bytes(sum(copied.values()), size)
            samples = self._samples.setdefault(partition, deque())
            found = _progress(self._known[partition], _rate(samples, now, sum(copied.values())), copied)
            moves[partition] = found if said is None else replace(found, stalled=said.stall_reason)
        everything = [*self._known.values(), *self._finished.values()]
        done = sum(one.done for one in everything)
        total = sum(max(one.total or 0, one.done) for one in everything)
        rate = _rate(self._totals, now, done)
        if described.keys() >= in_flight.keys():
            rate = _sum([described[partition].bytes_per_second for partition in in_flight], rate)
        overall = _progress(Bytes(done, total), rate, {})
        unknown = {broker: found.error for broker, found in answers.items() if found.error is not None}
        return ProgressSnapshot(moves, overall, len(self._finished), unknown)


class Asked(Protocol):
    """What a look needs of a client."""

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> Mapping[TopicPartition, PartitionReassignment]: ...

    def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> Mapping[Reassignment, ReassignmentDescription | None]: ...

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> Iterable[LogDirs]: ...


def look(
    client: Asked, tracker: LogDirProgressTracker, now: float, partitions: Collection[TopicPartition] | None = None
) -> tuple[Mapping[TopicPartition, PartitionReassignment], ProgressSnapshot]:
    """What moves or waits now (of these partitions, or of all), and how it gets on.

    Brokers are asked only about moves of which the server says nothing.
    """
    listed = client.list_partition_reassignments(partitions)
    in_flight = {partition: move for partition, move in listed.items() if not move.is_waiting}
    described = {}
    if in_flight:
        named = [Reassignment(name, move.id) for name, move in in_flight.items() if move.id >= 0]
        with suppress(UnsupportedHere):
            found = client.describe_reassignments(None if partitions is None else named)
            described = {one.topic_partition: said for one, said in found.items() if said is not None}
    unsaid = {
        partition: move
        for partition, move in in_flight.items()
        if partition not in described or described[partition].total_bytes is None
    }
    snapshot = tracker.update(now, in_flight, client.describe_log_dirs(concerned(unsaid)), described)
    return listed, replace(snapshot, waiting=len(listed) - len(in_flight))


def _as_said(move: PartitionReassignment, said: ReassignmentDescription, total: int) -> Progress:
    copied = {broker: min(said.copied_bytes.get(broker, 0), total) for broker in move.adding_replicas}
    remaining_s = None if said.remaining_ms is None else said.remaining_ms / 1000
    done, everything = sum(copied.values()), total * len(move.adding_replicas)
    return Progress(done, everything, said.bytes_per_second, remaining_s, copied, said.stall_reason)


def _sizes(
    partition: TopicPartition, move: PartitionReassignment, answers: Mapping[int, LogDirs]
) -> tuple[dict[int, int], int | None]:
    """What each new replica holds, and what all of them are to hold together."""
    held = {
        broker: answers[broker].replicas[partition].size
        for broker in move.replicas
        if broker in answers and partition in answers[broker].replicas
    }
    old = [size for broker, size in held.items() if broker in move.sources]
    if not old:
        return {broker: held.get(broker, 0) for broker in move.adding_replicas}, None
    size = max(old)
    # A new replica may be ahead for a moment: the brokers are not asked at the same time.
    copied = {broker: min(held.get(broker, 0), size) for broker in move.adding_replicas}
    return copied, size * len(move.adding_replicas)


def _rate(samples: deque[tuple[float, int]], now: float, done: int) -> float | None:
    """Bytes per second over the window; None before there are two looks."""
    samples.append((now, done))
    while len(samples) > 2 and now - samples[0][0] > WINDOW_S:
        samples.popleft()
    since, before = samples[0]
    return None if now <= since else max(0.0, (done - before) / (now - since))


def _sum(rates: Sequence[float | None], otherwise: float | None) -> float | None:
    """`otherwise` where there are none, or where one is not known."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if rates and len(known) == len(rates) else otherwise


def _progress(bytes_: Bytes, rate: float | None, copied: Mapping[int, int]) -> Progress:
    eta = None
    if bytes_.total is not None and bytes_.left == 0:
        eta = 0.0
    elif bytes_.total is not None and rate:
        eta = bytes_.left / rate
    return Progress(bytes_.done, bytes_.total, rate, eta, copied)
