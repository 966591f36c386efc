"""Sums over moves in flight, waiting and ended, and past ones for plots: a bounded number, in memory. Of those that
wait also who keeps them from starting, and how many bytes they will copy.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import RPC, MoveRecord, Partition
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.human_units import utc_time

MOST_GROUPS = 200
MOST_REASONS = 20


class GroupKey(NamedTuple):
    """What the moves of one request or plan share."""

    route: str
    reason: str


def group_of(move: MoveRecord | WaitingMove | None) -> GroupKey:
    return GroupKey(RPC, "") if move is None else GroupKey(move.terms.route, move.terms.reason)


class MoveBytes(msgspec.Struct, frozen=True, gc=False):
    """Bytes, None: unknown. `stalled`: why the move is."""

    total: int | None
    copied: int | None
    stalled: str | None = None


class Sums:
    """Only moves of known size and progress count in the bytes.

    moves, total, copied, unknown     in flight: number, bytes, and how many have unknown bytes
    waiting, waiting_bytes, unsized   waiting: number, bytes, and how many have an unknown size
    ended, ended_bytes, unmeasured    since there was last nothing to do: number, bytes copied, how many unmeasured
    """

    __slots__ = (
        "copied", "ended", "ended_bytes", "moves", "stalled", "total", "unknown", "unmeasured", "unsized", "waiting",
        "waiting_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.moves = self.stalled = self.unknown = self.total = self.copied = 0
        self.waiting = self.unsized = self.waiting_bytes = 0
        self.forget_ended()

    @property
    def measured(self) -> int:
        return self.moves - self.unknown

    def add(self, move: MoveBytes, sign: int = 1) -> None:
        """A move in flight; a `sign` of -1 takes it out."""
        self.moves += sign
        self.stalled += sign * (move.stalled is not None)
        if move.total is None or move.copied is None:
            self.unknown += sign
        else:
            self.total += sign * move.total
            self.copied += sign * move.copied

    def wait(self, size: int | None) -> None:
        """A waiting move will copy `size` bytes."""
        self.waiting += 1
        self.unsized += size is None
        self.waiting_bytes += size or 0

    def wait_no_more(self, size: int) -> None:
        """A waiting move began and ended before a sample saw it in flight."""
        if self.waiting and self.waiting_bytes >= size:
            self.waiting -= 1
            self.waiting_bytes -= size

    def end(self, copied: int | None) -> None:
        self.ended += 1
        self.unmeasured += copied is None
        self.ended_bytes += copied or 0

    def forget_ended(self) -> None:
        """There is nothing to do: what begins afterwards is other work."""
        self.ended = self.ended_bytes = self.unmeasured = 0

    def keep_ended(self, before: "Sums") -> None:
        """What ended before these were counted stays, so that no displayed share falls."""
        if self.moves or self.waiting:
            self.ended += before.ended
            self.ended_bytes += before.ended_bytes
            self.unmeasured += before.unmeasured


class GroupedSums:
    """Of all moves, and of at most `MOST_GROUPS` groups."""

    def __init__(self) -> None:
        self.all = Sums()
        self.groups: dict[GroupKey, Sums] = {}
        self.stalls: Counter[str] = Counter()
        """Moves by the reason of their stall, of `MOST_REASONS` reasons at the most."""

    def of(self, key: GroupKey) -> tuple[Sums, ...]:
        group = self.groups.get(key)
        if group is None and len(self.groups) < MOST_GROUPS:
            group = self.groups[key] = Sums()
        return (self.all,) if group is None else (self.all, group)

    def add(self, key: GroupKey, move: MoveBytes, sign: int = 1) -> None:
        for sums in self.of(key):
            sums.add(move, sign)
        if move.stalled is not None and (move.stalled in self.stalls or len(self.stalls) < MOST_REASONS):
            self.stalls[move.stalled] += sign
            self.stalls += Counter()  # without those that have no move any more

    def forget_ended(self) -> None:
        for sums in (self.all, *self.groups.values()):
            sums.forget_ended()

    def keep_ended(self, before: "GroupedSums") -> None:
        self.all.keep_ended(before.all)
        for key, group in self.groups.items():
            if key in before.groups:
                group.keep_ended(before.groups[key])

    def finished(self, now: "GroupedSums") -> Iterator[tuple[GroupKey, int]]:
        """The groups without a move in `now`, and how many of their moves have ended."""
        for key, group in self.groups.items():
            after = now.groups.get(key)
            if group.ended and (after is None or not (after.moves or after.waiting)):
                yield key, group.ended


class Point(msgspec.Struct, frozen=True):
    """One point of the plots."""

    at: int
    in_flight: int
    waiting: Annotated[int | None, Meta(description="null on `watch`")]
    rate: int | None
    bytes_left: Annotated[int | None, Meta(description="of all the work, moves that wait included")]
    under_replicated: int | None
    offline: int | None


class Span(NamedTuple):
    step_s: float
    points: int


SPANS = {"hour": Span(10.0, 360), "day": Span(300.0, 288)}


class PastFigures(NamedTuple):
    """The points of one span, the oldest first, while this server was the controller.

    at       now, ms since 1970
    step_ms  from one point to the next
    span_ms  the whole span, even if points are missing
    """

    at: int
    step_ms: int
    span_ms: int
    points: Sequence[Point]


class FigureHistory:
    """`now`: seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[float, Point]]] = {
            name: deque(maxlen=span.points) for name, span in SPANS.items()
        }

    def record(self, now: float, point: Point) -> None:
        for name, span in SPANS.items():
            kept = self._kept[name]
            if not kept or now - kept[-1][0] >= span.step_s:
                kept.append((now, point))

    def past(self, name: str, now: float, at: int) -> PastFigures:
        """`name`: a key of `SPANS`; `at`: `now` in ms since 1970."""
        points = [
            msgspec.structs.replace(point, at=at - round((now - then) * 1000)) for then, point in self._kept[name]
        ]
        step_ms = round(SPANS[name].step_s * 1000)
        return PastFigures(at, step_ms, step_ms * SPANS[name].points, points)


Waiting = tuple[TopicPartition, Partition, WaitingMove]


def waiting_moves(cluster: Cluster) -> Iterator[Waiting | None]:
    """First those of the queue, even if another move of their partition is in flight, then those of the batch.

    None: an entry does not wait. The cluster may change between two steps.
    """
    queue, batch = cluster.queue.topics, cluster.batch
    for topic in list(queue):
        for index in list(queue.get(topic, ())):
            yield _waiting(cluster, TopicPartition(topic, index))
    for name in () if batch is None or not batch.waiting else batch.entries:
        if cluster.queue.place(*name) is None:
            yield _waiting(cluster, name)


def _waiting(cluster: Cluster, name: TopicPartition) -> Waiting | None:
    partition = cluster.get(*name)
    move = None if partition is None else waiting_move(cluster, name, partition)
    return None if partition is None or move is None else (name, partition, move)


def waiting_move(cluster: Cluster, name: TopicPartition, partition: Partition) -> WaitingMove | None:
    place = cluster.queue.place(*name)
    if place is not None:
        return place.move
    # An entry of the batch stays there while it moves.
    entry = None if cluster.batch is None or partition.is_moving else cluster.batch.entries.get(name)
    return None if entry is None else WaitingMove(entry.terms)


def origin_of(partition: Partition) -> tuple[int, ...]:
    """A waiting move begins where the one in flight ends."""
    return partition.target if partition.is_moving else partition.replicas


def held_text(held: Held) -> str:
    """Such as `by User:alice from 10.0.0.7 since 2026-11-24 15:42:08 UTC: disks are replaced`."""
    by = f"by {held.who} " if held.who else ""
    since = f"since {utc_time(held.since)} UTC" if held.since > 0 else "since an unknown time"
    return f"{by}{since}" + (f": {held.reason}" if held.reason else "")


FOR_APPROVAL = "for approval"


def why_not_started(move: WaitingMove) -> str | None:
    """In words for people: who keeps a waiting move from starting, or that it waits `FOR_APPROVAL`; or None."""
    if move.held is not None:
        return held_text(move.held)
    return None if move.unapproved is None else f"{FOR_APPROVAL}{since_text(move.unapproved)}"


def since_text(unapproved: int) -> str:
    return f" since {utc_time(unapproved)} UTC" if unapproved > 0 else ""


def bytes_to_copy(adding: Collection[int], size: int | None) -> int | None:
    """None: unknown."""
    if not adding:
        return 0
    return None if size is None else size * len(adding)


def added_by(partition: Partition, move: WaitingMove) -> tuple[int, ...]:
    origin = origin_of(partition)
    return tuple([broker for broker in move.terms.target if broker not in origin])
