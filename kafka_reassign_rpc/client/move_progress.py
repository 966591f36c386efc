"""The progress of moves: bytes copied, rate and remaining time.

A kafka-reassign-rpc server samples the progress itself and reports it in DescribeReassignments. For stock Kafka, and
for a move that has only just begun, this module computes it from DescribeLogDirs: the size of each adding replica
against the size of the largest other replica. The rate is then the one of the last WINDOW_S seconds. A move that has
left the list of moves is finished.

All moves together take at least as long as the slowest of them. Their rate is the sum of those that are known if the
server reports all moves. A rate computed from the bytes would jump with each sample of the server.
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

Listed = Mapping[TopicPartition, PartitionReassignment]
Described = Mapping[TopicPartition, ReassignmentDescription]


@dataclass(frozen=True)
class CopiedBytes:
    """Bytes copied and bytes to copy. `total` is None where no source's size is known."""

    done: int
    total: int | None

    @property
    def left(self) -> int:
        return max(0, (self.total or 0) - self.done)


@dataclass(frozen=True)
class Progress:
    """The progress of one move, or of all moves together. A value that is not known is None.

    done               bytes copied
    total              bytes to copy
    rate               bytes/s
    remaining_seconds  seconds until all is copied, at this rate
    copied             adding replica's broker -> bytes that it holds
    stalled            why the server reports the move as stalled; None: it does not
    """

    done: int
    total: int | None
    rate: float | None = None
    remaining_seconds: float | None = None
    copied: Mapping[int, int] = field(default_factory=dict)
    stalled: str | None = None

    @property
    def share(self) -> float | None:
        """The share that is copied, from 0 to 1."""
        if self.total is None:
            return None
        return 1.0 if self.total == 0 else min(1.0, self.done / self.total)


@dataclass(frozen=True)
class ProgressSnapshot:
    """The progress of all moves at one time.

    moves            the moves in flight
    total            all of them together, with those that have finished
    finished         how many moves have ended since the first snapshot
    unknown_brokers  brokers that did not answer, with the error
    waiting          how many moves wait in the queue
    waiting_beside   those of them whose partitions have a move in flight too
    described        the server's own descriptions; none by a stock controller
    """

    moves: Mapping[TopicPartition, Progress]
    total: Progress
    finished: int
    unknown_brokers: Mapping[int, str]
    waiting: int = 0
    waiting_beside: Mapping[TopicPartition, PartitionReassignment] = field(default_factory=dict)
    described: Described = field(default_factory=dict)

    @property
    def stalled(self) -> int:
        """How many moves are stalled."""
        return sum(progress.stalled is not None for progress in self.moves.values())


def brokers_to_ask(in_flight: Mapping[TopicPartition, PartitionReassignment]) -> dict[int, list[TopicPartition]]:
    """Broker -> the partitions whose replicas it holds or gets."""
    asked: dict[int, list[TopicPartition]] = {}
    for partition, move in in_flight.items():
        for broker in move.replicas:
            asked.setdefault(broker, []).append(partition)
    return asked


class LogDirProgressTracker:
    """Follows moves over time. Call `update` with the state at each time; times are seconds of one clock."""

    def __init__(self) -> None:
        self._samples: dict[TopicPartition, deque[tuple[float, int]]] = {}
        self._totals: deque[tuple[float, int]] = deque()
        self._known: dict[TopicPartition, CopiedBytes] = {}
        self._finished: dict[TopicPartition, CopiedBytes] = {}

    def update(
        self,
        now: float,
        in_flight: Mapping[TopicPartition, PartitionReassignment],
        log_dirs: Iterable[LogDirs],
        described: Mapping[TopicPartition, ReassignmentDescription] | None = None,
    ) -> ProgressSnapshot:
        """`described`: the server's own descriptions. `log_dirs` is only needed for moves without figures in them."""
        described = described or {}
        answers = {found.broker: found for found in log_dirs}
        for partition in self._known.keys() - in_flight.keys():
            known = self._known.pop(partition)
            self._finished[partition] = CopiedBytes(known.total or known.done, known.total or known.done)
            self._samples.pop(partition, None)
        moves = {}
        for partition, move in in_flight.items():
            self._finished.pop(partition, None)  # the partition moves again
            description = described.get(partition)
            if description is not None and description.total_bytes is not None:
                moves[partition] = _from_description(move, description, description.total_bytes)
                self._known[partition] = CopiedBytes(moves[partition].done, moves[partition].total)
                continue
            copied, size = _sizes(partition, move, answers)
            self._known[partition] = CopiedBytes(sum(copied.values()), size)
            samples = self._samples.setdefault(partition, deque())
            found = _progress(self._known[partition], _rate(samples, now, sum(copied.values())), copied)
            moves[partition] = found if description is None else replace(found, stalled=description.stall_reason)
        everything = [*self._known.values(), *self._finished.values()]
        done = sum(one.done for one in everything)
        total = sum(max(one.total or 0, one.done) for one in everything)
        rate = _rate(self._totals, now, done)
        if described.keys() >= in_flight.keys():
            rate = _sum([one.rate for one in moves.values()])
        overall = _at_least_the_slowest(_progress(CopiedBytes(done, total), rate, {}), moves.values())
        unknown = {broker: found.error for broker, found in answers.items() if found.error is not None}
        return ProgressSnapshot(moves, overall, len(self._finished), unknown)


class ProgressSource(Protocol):
    """The calls of a client that `read_progress` needs."""

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> Mapping[TopicPartition, PartitionReassignment]: ...

    def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> Mapping[Reassignment, ReassignmentDescription | None]: ...

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> Iterable[LogDirs]: ...


def read_progress(
    client: ProgressSource,
    tracker: LogDirProgressTracker,
    now: float,
    partitions: Collection[TopicPartition] | None = None,
) -> tuple[Listed, ProgressSnapshot]:
    """The moves in flight and in the queue, of these partitions or of all, and their progress. Of a partition that has
    both, the first result has the one in flight, and `waiting_beside` the other.

    Brokers are asked only about moves for which the server has no figures.
    """
    listed = client.list_partition_reassignments(partitions)
    in_flight = {partition: move for partition, move in listed.items() if not move.is_waiting}
    described = _described(client, in_flight, every=partitions is None) if in_flight else {}
    without_figures = {
        partition: move
        for partition, move in in_flight.items()
        if partition not in described or described[partition].total_bytes is None
    }
    snapshot = tracker.update(now, in_flight, client.describe_log_dirs(brokers_to_ask(without_figures)), described)
    beside = _waiting_beside(in_flight, described)
    waiting = len(listed) - len(in_flight) + len(beside)
    return listed, replace(snapshot, waiting=waiting, waiting_beside=beside, described=described)


def read_waiting_beside(client: ProgressSource, listed: Listed) -> dict[TopicPartition, PartitionReassignment]:
    """The moves in the queue that the list of all moves does not have, since their partitions have one in flight."""
    if not any(move.id >= 0 for move in listed.values()):
        return {}
    return _waiting_beside(listed, _described(client, listed, every=True))


def _described(client: ProgressSource, in_flight: Listed, *, every: bool) -> Described:
    """The server's descriptions: of all moves, or of these; none by a stock controller."""
    named = None if every else [Reassignment(name, move.id) for name, move in in_flight.items() if move.id >= 0]
    with suppress(UnsupportedHere):
        found = client.describe_reassignments(named)
        return {one.topic_partition: description for one, description in found.items() if description is not None}
    return {}


def _waiting_beside(listed: Listed, described: Described) -> dict[TopicPartition, PartitionReassignment]:
    return {
        partition: waiting
        for partition, one in described.items()
        if partition in listed and not listed[partition].is_waiting and (waiting := one.waiting_move) is not None
    }


def _from_description(move: PartitionReassignment, description: ReassignmentDescription, total: int) -> Progress:
    copied = {broker: min(description.copied_bytes.get(broker, 0), total) for broker in move.adding_replicas}
    remaining_seconds = None if description.remaining_ms is None else description.remaining_ms / 1000
    done, everything = sum(copied.values()), total * len(move.adding_replicas)
    return Progress(done, everything, description.bytes_per_second, remaining_seconds, copied, description.stall_reason)


def _sizes(
    partition: TopicPartition, move: PartitionReassignment, answers: Mapping[int, LogDirs]
) -> tuple[dict[int, int], int | None]:
    """The bytes that each adding replica holds, and the bytes that all of them have to copy together."""
    held = {
        broker: answers[broker].replicas[partition].size
        for broker in move.replicas
        if broker in answers and partition in answers[broker].replicas
    }
    old = [size for broker, size in held.items() if broker in move.sources]
    if not old:
        return {broker: held.get(broker, 0) for broker in move.adding_replicas}, None
    size = max(old)
    # A new replica may seem ahead for a moment: the brokers do not answer at the same time.
    copied = {broker: min(held.get(broker, 0), size) for broker in move.adding_replicas}
    return copied, size * len(move.adding_replicas)


def _rate(samples: deque[tuple[float, int]], now: float, done: int) -> float | None:
    """Bytes per second over the window; None for the first sample."""
    samples.append((now, done))
    while len(samples) > 2 and now - samples[0][0] > WINDOW_S:
        samples.popleft()
    since, before = samples[0]
    return None if now <= since else max(0.0, (done - before) / (now - since))


def _sum(rates: Sequence[float | None]) -> float | None:
    """The sum of the rates that are known: a move that has only just begun adds little. None: none is known."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _at_least_the_slowest(overall: Progress, moves: Iterable[Progress]) -> Progress:
    """All moves together take at least as long as the slowest one: the rate of the others does not help it."""
    slowest = max((one.remaining_seconds for one in moves if one.remaining_seconds is not None), default=0.0)
    if slowest <= (overall.remaining_seconds or 0.0):
        return overall
    return replace(overall, remaining_seconds=slowest)


def _progress(found: CopiedBytes, rate: float | None, copied: Mapping[int, int]) -> Progress:
    remaining_seconds = None
    if found.total is not None and found.left == 0:
        remaining_seconds = 0.0
    elif found.total is not None and rate:
        remaining_seconds = found.left / rate
    return Progress(found.done, found.total, rate, remaining_seconds, copied)
