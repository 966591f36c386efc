"""The progress of moves. A kafka-reassign-rpc server gives it in its documents of the status and of each move; for
stock Kafka the core derives it from ListPartitionReassignments and DescribeLogDirs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafka_reassign_rpc.client.client_errors import UnsupportedHere
from kafka_reassign_rpc.client.result_values import WAITING, LogDirs, PartitionReassignment
from kafka_reassign_rpc.client.stock_cluster import answers_of, of_moves
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes, Sums
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import Move, Status, share
from kafka_reassign_rpc.support.slices import run_through

LOOKS = 3
"""How often a server is asked for rows and sums of one sample: it may take one between two questions."""

Listed = Mapping[TopicPartition, PartitionReassignment]
Told = Mapping[TopicPartition, Move]
"""The server's documents of moves in flight."""


@dataclass(frozen=True)
class Progress:
    """The progress of one move, or of all moves together; None: unknown.

    done               bytes copied
    total              bytes to copy
    rate               bytes/s
    remaining_seconds  until all is copied, at this rate
    copied             adding replica's broker -> bytes that it has; without those whose sizes do not show that
    stalled            why the server reports the move as stalled; None: it does not
    waits_for          all is copied: which replicas still have to join the ISR; or its share of a throttle
    no_estimate        of all moves together: why it is not known when they are done
    """

    done: int | None
    total: int | None
    rate: float | None = None
    remaining_seconds: float | None = None
    copied: Mapping[int, int] = field(default_factory=dict)
    stalled: str | None = None
    waits_for: str | None = None
    no_estimate: str | None = None

    @property
    def share(self) -> float | None:
        """From 0 to 1."""
        return share(self.done, self.total)


@dataclass(frozen=True)
class ProgressSnapshot:
    """The progress of all moves at one time.

    moves            those in flight
    total            all of them together, with those that have finished
    finished         how many moves have ended since the first snapshot
    unknown_brokers  brokers that did not answer, with the error
    waiting          how many moves wait in the queue
    waiting_beside   those of them whose partitions have a move in flight too
    told             the server's own documents; none by a stock controller
    status           the server's own document, if all moves are followed; None by a stock controller
    """

    moves: Mapping[TopicPartition, Progress]
    total: Progress
    finished: int
    unknown_brokers: Mapping[int, str]
    waiting: int = 0
    waiting_beside: Mapping[TopicPartition, PartitionReassignment] = field(default_factory=dict)
    told: Told = field(default_factory=dict)
    status: Status | None = None

    @property
    def stalled(self) -> int:
        return sum(progress.stalled is not None for progress in self.moves.values())


def brokers_to_ask(in_flight: Mapping[TopicPartition, PartitionReassignment]) -> dict[int, list[TopicPartition]]:
    """By broker that holds or gets them."""
    asked: dict[int, list[TopicPartition]] = {}
    for partition, move in in_flight.items():
        for broker in move.replicas:
            asked.setdefault(broker, []).append(partition)
    return asked


class LogDirProgressTracker:
    """Follows moves over time. Call `update` with the state at each time; times are seconds of one clock."""

    def __init__(self) -> None:
        self._tracker = ProgressTracker(float("inf"))
        self._known: dict[TopicPartition, Progress] = {}
        self._finished: dict[TopicPartition, int | None] = {}
        """Bytes of moves that have ended; None: not known."""

    def update(
        self,
        now: float,
        in_flight: Mapping[TopicPartition, PartitionReassignment],
        log_dirs: Iterable[LogDirs],
        told: Told | None = None,
    ) -> ProgressSnapshot:
        """`told`: the server's own documents. Only moves without figures there need `log_dirs`."""
        every = told or {}
        dirs = list(log_dirs)
        for partition in self._known.keys() - in_flight.keys():
            known = self._known.pop(partition)
            self._finished[partition] = known.done if known.total is None else known.total
        told = {name: one for name, one in every.items() if one.bytes_total is not None and name in in_flight}
        rest = {name: move for name, move in in_flight.items() if name not in told}
        cluster = of_moves(rest)
        run_through(self._tracker.update(now, cluster, answers_of(dirs), [], {}))
        moves = {name: progress_of(one) for name, one in told.items()}
        for name, move in rest.items():
            figures = self._tracker.figures(*name) or MoveProgress(adding=move.adding_replicas)
            moves[name] = _of_figures(figures, every[name].stalled if name in every else None)
        moves = {name: moves[name] for name in in_flight}
        for name in moves:
            self._finished.pop(name, None)  # the partition moves again
        self._known = moves.copy()
        unknown = {one.broker: one.error for one in dirs if one.error is not None}
        return ProgressSnapshot(moves, self._together(moves), len(self._finished), unknown)

    def _together(self, moves: Mapping[TopicPartition, Progress]) -> Progress:
        """With those that have ended since."""
        sums, times = Sums(), [one.remaining_seconds for one in moves.values()]
        for one in moves.values():
            sums.add(MoveBytes(one.total, one.done))
        for copied in self._finished.values():
            sums.end(copied)
        rates = [one.rate for one in moves.values() if one.rate is not None]
        slowest = max((one for one in times if one is not None), default=None)
        is_known = not sums.unknown and None not in self._finished.values()
        total = sums.ended_bytes + sums.total if is_known else None
        done = sums.ended_bytes + sums.copied if is_known else None
        return Progress(done, total, sum(rates) if rates else None, None if None in times else slowest or 0.0)


class ProgressSource(Protocol):
    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> Mapping[TopicPartition, PartitionReassignment]: ...

    def moves_in_flight(self, partitions: Iterable[tuple[str, int]] | None = None) -> Sequence[Move]: ...

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> Iterable[LogDirs]: ...

    def status(self) -> Status: ...


def read_progress(
    client: ProgressSource,
    tracker: LogDirProgressTracker,
    now: float,
    partitions: Collection[TopicPartition] | None = None,
    *,
    with_document: bool = False,
) -> tuple[Listed, ProgressSnapshot]:
    """Of these partitions or of all, in flight and in the queue. Brokers are asked only about moves for which the
    server has no figures. `with_document`: the sums are those of the server's document, if it has one, and rows and
    sums are of one sample.
    """
    for _ in range(LOOKS if with_document else 1):
        listed, snapshot = _look(client, tracker, now, partitions, with_document=with_document)
        if snapshot.status is None or _are_of_one_sample(snapshot, snapshot.status):
            break
    return listed, snapshot


def _are_of_one_sample(snapshot: ProgressSnapshot, status: Status) -> bool:
    """Or cannot be: where the server has no figures for some moves, brokers were asked."""
    totals, sums = status.totals, Sums()
    for one in snapshot.moves.values():
        sums.add(MoveBytes(one.total, one.done))
    if totals is None or totals.bytes_total is None or totals.bytes_left is None:
        return True
    if sums.unknown or not snapshot.moves.keys() <= snapshot.told.keys():
        return True
    told = totals.in_flight, totals.bytes_total, totals.bytes_total - totals.bytes_left
    return told == (len(snapshot.moves), sums.total, sums.copied)


def _look(
    client: ProgressSource,
    tracker: LogDirProgressTracker,
    now: float,
    partitions: Collection[TopicPartition] | None,
    *,
    with_document: bool,
) -> tuple[Listed, ProgressSnapshot]:
    listed = client.list_partition_reassignments(partitions)
    in_flight = {partition: move for partition, move in listed.items() if not move.is_waiting}
    documents = _documents(client, in_flight, None if partitions is None else in_flight.keys())
    told = {_name(one): one for one in documents if one.state != WAITING}
    without_figures = {
        partition: move
        for partition, move in in_flight.items()
        if partition not in told or told[partition].bytes_total is None
    }
    snapshot = tracker.update(now, in_flight, client.describe_log_dirs(brokers_to_ask(without_figures)), told)
    beside = _waiting_beside(in_flight, documents)
    if with_document and (listed or not snapshot.finished):  # at the end, the server may have begun at 0 again
        snapshot = _with_document(client, snapshot)
    waiting = len(listed) - len(in_flight) + len(beside)
    return listed, replace(snapshot, waiting=waiting, waiting_beside=beside, told=told)


def _with_document(client: ProgressSource, snapshot: ProgressSnapshot) -> ProgressSnapshot:
    with suppress(UnsupportedHere):
        status = client.status()
        return replace(snapshot, total=together(status), status=status)
    return snapshot


def together(status: Status) -> Progress:
    """Counts also moves that have ended and moves that wait."""
    work, totals = status.work, status.totals
    if work is None or totals is None:
        return Progress(None, None)
    seconds = None if work.done_ms is None else work.done_ms / 1000
    return Progress(work.bytes_copied, work.bytes_total, totals.rate, seconds, no_estimate=work.no_estimate)


def read_waiting_beside(client: ProgressSource, listed: Listed) -> dict[TopicPartition, PartitionReassignment]:
    """Queued moves that the list of all moves lacks, since their partitions have one in flight."""
    in_flight = {name: move for name, move in listed.items() if not move.is_waiting}
    return _waiting_beside(in_flight, _documents(client, in_flight, None))


def _documents(
    client: ProgressSource, in_flight: Listed, partitions: Iterable[TopicPartition] | None
) -> Sequence[Move]:
    """Empty by a stock controller, which lists moves without an id."""
    if any(move.id is not None for move in in_flight.values()):
        with suppress(UnsupportedHere):
            return client.moves_in_flight(partitions)
    return ()


def _name(move: Move) -> TopicPartition:
    return TopicPartition(move.topic, move.partition)


def _waiting_beside(in_flight: Listed, documents: Sequence[Move]) -> dict[TopicPartition, PartitionReassignment]:
    return {
        _name(one): PartitionReassignment(
            replicas=tuple(one.original),
            adding_replicas=tuple(one.adding),
            removing_replicas=tuple(one.removing),
            state=WAITING,
            route=one.route or RPC,
            reason=one.reason or "",
            waiting_target=tuple(one.target),
        )
        for one in documents
        if one.state == WAITING and _name(one) in in_flight
    }


def progress_of(move: Move) -> Progress:
    seconds = None if move.remaining_ms is None else move.remaining_ms / 1000
    return Progress(move.bytes_copied, move.bytes_total, move.rate, seconds, move.copied, move.stalled, move.waits_for)


def _of_figures(figures: MoveProgress, stalled: str | None) -> Progress:
    return Progress(
        figures.bytes_copied,
        figures.bytes_total,
        figures.rate,
        None if figures.remaining_ms is None else figures.remaining_ms / 1000,
        figures.copied,
        stalled,
    )
