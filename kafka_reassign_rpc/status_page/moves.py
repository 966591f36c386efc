"""`/api/v1/moves`: moves in flight and waiting, filtered, sorted, page by page.

`select_moves` walks over all moves, in slices, and gives the order and the sums. `page_of` reads the moves of one page,
as they are now: so pages are cheap and fresh, and the walk is made as seldom as its cost asks for.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import Literal, NamedTuple

from kafka_reassign_rpc.core.events.move_requesters import MoveRequesters
from kafka_reassign_rpc.core.reassignment.progress import MoveProgress
from kafka_reassign_rpc.core.state.cluster import BATCH, RPC, Cluster, Partition, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.status_page.documents import Move, Moves, MoveSums, known
from kafka_reassign_rpc.status_page.server_view import TermView
from kafka_reassign_rpc.support.sliced_sort import sorted_in_slices
from kafka_reassign_rpc.support.slices import SliceCounter

SLICE = 200
"""Moves between two `yield`s."""
MOST_REPLICAS = 100
"""Of one list of replicas."""
NO_PROGRESS = MoveProgress()

State = Literal["moving", "waiting", "stalled"]
Sort = Literal["topic", "left", "remaining", "rate", "since", "stalled"]
SORTS: Mapping[Sort, str] = {
    "topic": "by name",
    "left": "most bytes left",
    "remaining": "longest remaining time",
    "rate": "slowest",
    "since": "oldest",
    "stalled": "stalled first",
}
"""The orders, and how people call them."""


class MoveFilter(NamedTuple):
    """Which moves, in which order. `topic`: a part of the name; `broker`: one of the replicas, old or new.

    sort   `topic`: by name; `left`: most bytes first; `remaining`: longest first; `rate`: slowest first; `since`:
           oldest first; `stalled`: stalled ones first. What is not known comes last
    """

    topic: str | None = None
    broker: int | None = None
    state: State | None = None
    sort: Sort = "topic"


_Key = tuple[float, str, int, bool]
"""The value to sort by (less comes first), topic, partition, and whether the move waits."""
_LAST = float("inf")


class Selection(NamedTuple):
    """The moves that a filter leaves: keys in their order, in lists that follow one another; their number; sums."""

    keys: list[list[_Key]]
    size: int
    sums: MoveSums

    def page(self, offset: int, limit: int) -> list[_Key]:
        found: list[_Key] = []
        for part in self.keys:
            if offset < len(part):
                found += part[offset : offset + limit - len(found)]
                if len(found) == limit:
                    break
            offset = max(0, offset - len(part))
        return found


class _Sums:
    """The sums of the moves that a filter leaves."""

    def __init__(self) -> None:
        self.moving = self.waiting = self.stalled = self.total = self.copied = self.unknown = 0

    def add(self, partition: Partition, progress: MoveProgress) -> None:
        self.moving += 1
        self.stalled += progress.stalled is not None
        total = _total(partition, progress)
        copied = _copied(partition, progress)
        if total is None or copied is None:
            self.unknown += 1
        else:
            self.total += total
            self.copied += copied

    def document(self) -> MoveSums:
        none_known = self.unknown == self.moving
        return MoveSums(
            self.moving,
            self.waiting,
            self.stalled,
            None if none_known else self.total,
            None if none_known else self.copied,
            self.unknown,
        )


NO_SUMS = _Sums().document()


def select_moves(term: TermView, wanted: MoveFilter) -> Generator[None, None, Selection]:
    """Walk over all moves, with a `yield` every `SLICE`."""
    sums = _Sums()
    keys: list[_Key] = []
    slices = SliceCounter(SLICE)
    if wanted.state != "waiting":
        for topic, index, partition in _moving(term.cluster, wanted, slices):
            if partition is None:
                yield
                continue
            progress = term.progress.figures(topic, index) or NO_PROGRESS
            if wanted.state == "stalled" and progress.stalled is None:
                continue
            sums.add(partition, progress)
            keys.append((_sort_value(wanted.sort, partition, progress), topic, index, False))
    if wanted.state in (None, "waiting"):
        for topic, index, partition in _waiting(term.cluster, wanted, slices):
            if partition is None:
                yield
                continue
            sums.waiting += 1
            keys.append((0 if wanted.sort == "topic" else _LAST, topic, index, True))
    size = len(keys)
    ordered = yield from sorted_in_slices(keys)
    while keys:  # freeing all of them at once would take too long
        del keys[-1000:]
        yield
    return Selection(ordered, size, sums.document())


def free(selection: Selection) -> Generator[None, None, None]:
    """Free the keys list by list."""
    while selection.keys:
        selection.keys.pop()
        yield


_Found = Iterator[tuple[str, int, Partition | None]]
"""Moves; None in place of the partition: it is time to yield."""


def _moving(cluster: Cluster, wanted: MoveFilter, slices: SliceCounter) -> _Found:
    for topic in list(cluster.moving):
        if slices.step():
            yield topic, -1, None
        if wanted.topic is not None and wanted.topic not in topic:
            continue
        for index in list(cluster.moving.get(topic, ())):
            if slices.step():
                yield topic, -1, None
            partition = cluster.get(topic, index)
            if partition is None or not partition.is_moving:
                continue
            if wanted.broker is None or wanted.broker in partition.replicas:
                yield topic, index, partition


def _waiting(cluster: Cluster, wanted: MoveFilter, slices: SliceCounter) -> _Found:
    """Moves of the batch and of the queue; of the queue also those that wait for another move of their partition."""
    batch = cluster.batch
    queued = (
        (topic, index) for topic in list(cluster.queue.topics) for index in list(cluster.queue.topics.get(topic, ()))
    )
    entries = () if batch is None or not batch.waiting else batch.entries
    for topic, index in (*queued, *entries):
        if slices.step():
            yield topic, -1, None
        if wanted.topic is not None and wanted.topic not in topic:
            continue
        partition = cluster.get(topic, index)
        move = None if partition is None else _waiting_move(cluster, topic, index, partition)
        if partition is None or move is None:
            continue
        if wanted.broker is None or wanted.broker in (*partition.replicas, *move.target):
            yield topic, index, partition


def _waiting_move(cluster: Cluster, topic: str, index: int, partition: Partition) -> WaitingMove | None:
    place = cluster.queue.place(topic, index)
    if place is not None:
        return place.move
    # An entry of the batch stays there while it moves.
    entry = (
        None
        if cluster.batch is None or partition.is_moving
        else cluster.batch.entries.get(TopicPartition(topic, index))
    )
    return None if entry is None else WaitingMove(entry.target, BATCH)


def _sort_value(sort: Sort, partition: Partition, progress: MoveProgress) -> float:
    match sort:
        case "left":
            return _LAST if progress.total < 0 else -progress.bytes_left
        case "remaining":
            return _LAST if progress.remaining_ms < 0 else -progress.remaining_ms
        case "rate":
            return _LAST if progress.rate < 0 else progress.rate
        case "since":
            started = -1 if partition.move is None else partition.move.started
            return _LAST if started < 0 else started
        case "stalled":
            return progress.stalled is None
    return 0


def page_of(
    term: TermView, selection: Selection, who: MoveRequesters, *, offset: int, limit: int, at: int, listed_at: int
) -> Moves:
    """One page. Moves that are over by now are left out of it."""
    found = []
    keys = selection.page(offset, limit)
    moving = {(topic, index) for _, topic, index, waits in keys if not waits}
    for _, topic, index, waits in keys:
        partition = term.cluster.get(topic, index)
        if partition is None:
            continue
        move = _waiting_move(term.cluster, topic, index, partition)
        if waits and move is None and (topic, index) in moving:
            continue  # it has begun in place of the other move of its partition
        if partition.is_moving and not (waits and move is not None):
            progress = term.progress.figures(topic, index) or NO_PROGRESS
            found.append(_moving_document(topic, index, partition, progress, who.of(topic, index)))
        elif move is not None:
            size = term.cluster.soft.sizes.get(TopicPartition(topic, index))
            by = who.of_waiting(topic, index) if move.by is None else move.by.who
            found.append(_waiting_document(topic, index, partition, move, size, by))
    return Moves(at, listed_at, offset, limit, selection.size, selection.sums, found)


def _moving_document(topic: str, index: int, partition: Partition, progress: MoveProgress, who: str | None) -> Move:
    record = partition.move
    return Move(
        topic=topic,
        partition=index,
        state="moving",
        id=None if record is None else known(record.id),
        original=partition.original[:MOST_REPLICAS],
        target=partition.target[:MOST_REPLICAS],
        adding=partition.adding[:MOST_REPLICAS],
        removing=partition.removing[:MOST_REPLICAS],
        leader=known(partition.leader),
        bytes_total=_total(partition, progress),
        bytes_copied=_copied(partition, progress),
        rate=known(progress.rate),
        remaining_ms=known(progress.remaining_ms),
        stalled=progress.stalled,
        route=RPC if record is None else record.route,
        reason=None if record is None else record.reason or None,
        who=who,
        since=None if record is None else known(record.started),
    )


def _waiting_document(
    topic: str, index: int, partition: Partition, move: WaitingMove, size: int | None, who: str | None
) -> Move:
    origin = partition.target if partition.is_moving else partition.replicas
    adding = tuple(broker for broker in move.target if broker not in origin)
    return Move(
        topic=topic,
        partition=index,
        state="waiting",
        id=None,
        original=origin[:MOST_REPLICAS],
        target=move.target[:MOST_REPLICAS],
        adding=adding[:MOST_REPLICAS],
        removing=tuple(broker for broker in origin if broker not in move.target)[:MOST_REPLICAS],
        leader=known(partition.leader),
        bytes_total=None if size is None else size * len(adding),
        bytes_copied=None if size is None else 0,
        rate=None,
        remaining_ms=None,
        stalled=None,
        route=move.route,
        reason=move.reason or None,
        who=who,
        since=None,
    )


def _total(partition: Partition, progress: MoveProgress) -> int | None:
    return None if progress.total < 0 else progress.total * len(partition.adding)


def _copied(partition: Partition, progress: MoveProgress) -> int | None:
    """None where a broker has not told the size of its replica."""
    if progress.total < 0 or any(broker not in progress.copied for broker in partition.adding):
        return None
    return sum([min(progress.copied[broker], progress.total) for broker in partition.adding])
