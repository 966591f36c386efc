"""`/api/v1/moves`: moves in flight and waiting, filtered, sorted, page by page; why a waiting one waits, and its place
in the queue.

`select_moves` walks over all moves, in slices, for the order and the sums. `page_of` reads the moves of one page as
they are now: so pages are cheap and fresh, and the walk is as rare as its cost demands.
"""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing.failed_brokers import braked_caps
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.reassignment.move_sums import (
    Sums,
    added_by,
    bytes_to_copy,
    held_text,
    origin_of,
    since_text,
    waiting_move,
    waiting_moves,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, RPC, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import asked_by
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, REPAIRS, WINDOW, WaitingLine
from kafka_reassign_rpc.core.status.documents import Move, Moves, MoveSums, known, share
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.slices import emptied, sorted_in_slices

ITS_TURN = "its turn"


class WaitingReasons:
    """Reads the queue once, for the moves of one page."""

    def __init__(self, term: TermView, names: Collection[TopicPartition]) -> None:
        self._term = term
        queue = term.cluster.queue
        places = ((name, queue.place(*name)) for name in names)
        self._serials = {name: place.serial for name, place in places if place is not None}
        wanted = set(self._serials.values())
        self._ranks = dict(_ranks(queue.names, wanted))
        self._lines: dict[int, WaitingLine] = {}
        for cap, lines in queue.waiting.blocked.items() if wanted else ():
            for place, line in lines.items():
                self._lines.update(dict.fromkeys(wanted.intersection(line), (place, cap)))
        self._rules = term.cluster.soft.in_force
        self._caps = braked_caps(term.cluster, term.cluster.soft.gone)

    def place(self, name: TopicPartition) -> int | None:
        """From 1; None outside of the queue."""
        serial = self._serials.get(name)
        return None if serial is None else self._ranks.get(serial)

    def waits_for(self, name: TopicPartition, partition: Partition, move: WaitingMove) -> str:
        if move.held is not None:
            approval = " (and then for approval)" if move.unapproved is not None else ""
            return f"its release{approval}: held {held_text(move.held)}"
        if (disabled := restrictions.why_disabled(self._term.cluster)) is not None:
            return f"reassignments to be enabled: {disabled}"
        healing = self._term.healing
        if move.terms.route == HEAL and healing is not None:
            if healing.paused:
                return "self-healing to be resumed"
            if healing.held_back is not None:
                return f"self-healing, which is held back: {healing.held_back}"
        if move.unapproved is not None:
            return f"approval{since_text(move.unapproved)}"
        if name.topic in self._term.cluster.soft.unseen:
            return "a broker to show its topic"
        dead = [
            broker for broker in move.terms.target if broker not in partition.replicas and not self._is_live(broker)
        ]
        if dead:
            return dead_broker(dead[0])
        line = self._lines.get(self._serials.get(name, -1))
        if line is not None and (text := self._of_line(line)) is not None:
            return text
        if partition.is_moving:
            return "the end of the move of its partition that is in flight"
        caps, moving = self._caps, sum(map(len, self._term.cluster.moving.values()))
        if 0 <= caps.per_cluster <= moving:
            return f"room in the cluster: at most {counted(caps.per_cluster, 'move')} in flight"
        if caps.bytes_in_flight >= 0 and moving:
            return f"room in the cluster: at most {caps.bytes_in_flight} bytes in flight"
        return ITS_TURN

    def _is_live(self, broker: int) -> bool:
        return self._term.cluster.is_live(broker)

    def _of_line(self, line: WaitingLine) -> str | None:
        place, own = line
        broker, cap = place.broker, own if own != NO_CAP else self._caps.per_broker
        if place == WINDOW and self._rules.window is not None:
            return f"a window: {self._rules.window.meaning}"
        if place == REPAIRS:
            return f"other repairs: at most {counted(self._caps.repairs, 'move')} of repairs in flight"
        if broker is None:
            return None
        if not self._is_live(broker):
            return dead_broker(broker)
        if cap < 0:
            return f"broker {broker} to report sizes"
        return f"room on broker {broker}: at most {counted(cap, 'move')} in flight there"


def dead_broker(broker: int) -> str:
    return f"broker {broker}, which is dead"


def _ranks(serials: Collection[int], wanted: set[int]) -> Iterator[tuple[int, int]]:
    """The places of the `wanted` moves among all `serials`, which are in order."""
    left = len(wanted)
    for rank, serial in enumerate(serials, 1):
        if not left:
            return
        if serial in wanted:
            left -= 1
            yield serial, rank


AT_ONCE = 500
"""Moves for which the queue is read once."""
MOST_REPLICAS = 100
"""Of one list of replicas on a page."""

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
    """`topic`: a part of the name; `broker`: one of the replicas, old or new. What is unknown comes last."""

    topic: str | None = None
    broker: int | None = None
    state: State | None = None
    sort: Sort = "topic"


_Key = tuple[float, str, int, bool]
"""The value to sort by (less comes first), topic, partition, and whether the move waits."""
_LAST = float("inf")


class Selection(NamedTuple):
    """The keys are in consecutive lists."""

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


def _sums_document(sums: Sums, *, knows_waiting: bool) -> MoveSums:
    total, copied = (None, None) if not sums.measured else (sums.total, sums.copied)
    return MoveSums(
        sums.moves,
        sums.waiting if knows_waiting else None,
        sums.stalled,
        total,
        copied,
        share(copied, total),
        sums.unknown,
    )


def no_sums(*, knows_waiting: bool) -> MoveSums:
    return _sums_document(Sums(), knows_waiting=knows_waiting)


def select_moves(term: TermView, wanted: MoveFilter) -> Generator[None, None, Selection]:
    sums = Sums()
    keys: list[_Key] = []
    if wanted.state != "waiting":
        for found in _moving(term.cluster, wanted):
            yield
            if found is None:
                continue
            topic, index, partition = found
            progress = _progress(term, topic, index, partition)
            if wanted.state == "stalled" and progress.stalled is None:
                continue
            sums.add(progress.sum)
            keys.append((_sort_value(wanted.sort, partition, progress), topic, index, False))
    if wanted.state in (None, "waiting"):
        for found in _waiting(term.cluster, wanted):
            yield
            if found is None:
                continue
            topic, index, _ = found
            sums.wait(None)
            keys.append((0 if wanted.sort == "topic" else _LAST, topic, index, True))
    size = len(keys)
    ordered = yield from sorted_in_slices(keys)
    yield from emptied(keys)
    return Selection(ordered, size, _sums_document(sums, knows_waiting=term.knows_waiting))


_Found = Iterator[tuple[str, int, Partition] | None]
"""Moves, and None while it looks for the next."""


def _moving(cluster: Cluster, wanted: MoveFilter) -> _Found:
    for topic in list(cluster.moving):
        yield None
        if wanted.topic is not None and wanted.topic not in topic:
            continue
        for index in list(cluster.moving.get(topic, ())):
            yield None
            partition = cluster.get(topic, index)
            if partition is None or not partition.is_moving:
                continue
            if wanted.broker is None or wanted.broker in partition.replicas:
                yield topic, index, partition


def _waiting(cluster: Cluster, wanted: MoveFilter) -> _Found:
    """Also those that wait for another move of their partition."""
    for found in waiting_moves(cluster):
        yield None
        if found is None:
            continue
        (topic, index), partition, move = found
        if wanted.topic is not None and wanted.topic not in topic:
            continue
        if wanted.broker is None or wanted.broker in (*partition.replicas, *move.terms.target):
            yield topic, index, partition


def _sort_value(sort: Sort, partition: Partition, progress: MoveProgress) -> float:
    match sort:
        case "left":
            left = progress.bytes_left
            return _LAST if left is None else -left
        case "remaining":
            return _LAST if progress.remaining_ms is None else -progress.remaining_ms
        case "rate":
            return _LAST if progress.rate is None else progress.rate
        case "since":
            started = None if partition.move is None else partition.move.started
            return _LAST if started is None else started
        case "stalled":
            return progress.stalled is None
    return 0


def page_of(term: TermView, selection: Selection, *, offset: int, limit: int, at: int, listed_at: int) -> Moves:
    """Leaves out moves that are over by now."""
    found = []
    keys = selection.page(offset, limit)
    moving = {(topic, index) for _, topic, index, waits in keys if not waits}
    reasons = WaitingReasons(term, [TopicPartition(topic, index) for _, topic, index, waits in keys if waits])
    for _, topic, index, waits in keys:
        partition = term.cluster.get(topic, index)
        if partition is None:
            continue
        move = waiting_move(term.cluster, TopicPartition(topic, index), partition)
        if waits and move is None and (topic, index) in moving:
            continue  # it has begun in place of the other move of its partition
        if partition.is_moving and not (waits and move is not None):
            found.append(_bounded(_moving_document(term, TopicPartition(topic, index), partition)))
        elif waits and move is not None:
            found.append(_bounded(_waiting_document(term, TopicPartition(topic, index), partition, move, reasons)))
    return Moves(at, listed_at, offset, limit, selection.size, selection.sums, found)


def _bounded(move: Move) -> Move:
    """For a page: a cluster may have partitions of very many replicas."""
    if max(len(move.original), len(move.target), len(move.adding), len(move.removing)) <= MOST_REPLICAS:
        return move
    return replace(
        move,
        original=move.original[:MOST_REPLICAS],
        target=move.target[:MOST_REPLICAS],
        adding=move.adding[:MOST_REPLICAS],
        removing=move.removing[:MOST_REPLICAS],
        copied=dict(islice(move.copied.items(), MOST_REPLICAS)),
    )


def moves_in_flight(term: TermView, wanted: Mapping[str, Collection[int]] | None) -> Iterator[Move | None]:
    """Of these partitions, or of all, each as it is now; then the moves that wait until one of these has ended. None: a
    step that has found none.
    """
    waiting = []
    for name in _names(term.cluster, wanted):
        partition = None if name is None else term.cluster.get(*name)
        if name is None or partition is None or not partition.is_moving:
            yield None
            continue
        yield _moving_document(term, name, partition)
        if term.cluster.queue.place(*name) is not None:
            waiting.append(name)
    for start in range(0, len(waiting), AT_ONCE):
        some = waiting[start : start + AT_ONCE]
        reasons = WaitingReasons(term, some)
        for name in some:
            partition = term.cluster.get(*name)
            move = None if partition is None else waiting_move(term.cluster, name, partition)
            yield None if partition is None or move is None else _waiting_document(term, name, partition, move, reasons)


def _names(cluster: Cluster, wanted: Mapping[str, Collection[int]] | None) -> Iterator[TopicPartition | None]:
    for topic in list(cluster.moving if wanted is None else wanted):
        yield None  # a topic may have no partitions
        for index in list(cluster.moving.get(topic, ()) if wanted is None else dict.fromkeys(wanted[topic])):
            yield TopicPartition(topic, index)


def _progress(term: TermView, topic: str, index: int, partition: Partition) -> MoveProgress:
    return term.progress.figures(topic, index) or MoveProgress(adding=partition.adding)


def _moving_document(term: TermView, name: TopicPartition, partition: Partition) -> Move:
    record, progress = partition.move, _progress(term, *name, partition)
    total, copied = progress.bytes_total, progress.bytes_copied
    joining = progress.waits_to_join(partition.isr)
    return Move(
        topic=name.topic,
        partition=name.partition,
        state="moving",
        id=None if record is None else record.id,
        original=partition.original,
        target=partition.target,
        adding=partition.adding,
        removing=partition.removing,
        leader=known(partition.leader),
        bytes_total=total,
        bytes_copied=copied,
        copied=progress.copied,
        rate=progress.rate,
        remaining_ms=None if joining else progress.remaining_ms,
        share=share(copied, total) if partition.adding else None,
        stalled=progress.stalled,
        waits_for=_in_flight_waits_for(term.cluster, partition, joining[:MOST_REPLICAS]) or progress.waits_for,
        place=None,
        route=(RPC if record is None else record.terms.route) if term.tells_routes else None,
        reason=None if record is None else record.terms.reason or None,
        who=asked_by(RPC, None) if record is None else asked_by(record.terms.route, record.terms.by),
        since=None if record is None else record.started,
        leader_known=partition.is_described,
    )


def _waiting_document(
    term: TermView,
    name: TopicPartition,
    partition: Partition,
    move: WaitingMove,
    reasons: WaitingReasons,
) -> Move:
    origin, adding = origin_of(partition), added_by(partition, move)
    size = bytes_to_copy(adding, term.cluster.soft.sizes.get(name))
    return Move(
        topic=name.topic,
        partition=name.partition,
        state="waiting",
        id=None,
        original=origin,
        target=move.terms.target,
        adding=adding,
        removing=tuple(broker for broker in origin if broker not in move.terms.target),
        leader=known(partition.leader),
        bytes_total=size,
        bytes_copied=None if size is None else 0,
        copied={},
        rate=None,
        remaining_ms=None,
        share=None,
        stalled=None,
        waits_for=reasons.waits_for(name, partition, move),
        place=reasons.place(name),
        route=move.terms.route,
        reason=move.terms.reason or None,
        who=asked_by(move.terms.route, move.terms.by),
        since=None,
    )


def _in_flight_waits_for(cluster: Cluster, partition: Partition, joining: Sequence[int]) -> str | None:
    """`joining`: the replicas that have copied all and are not in the ISR yet."""
    lacking = [broker for broker in partition.target if broker not in partition.isr]
    dead = next((broker for broker in lacking if broker not in cluster.brokers), None)
    if dead is not None:
        return dead_broker(dead)
    if not partition.is_described:
        return None
    if not partition.adding and lacking:
        return back_in_isr(lacking[:MOST_REPLICAS])
    return to_join(joining) if joining else None


def back_in_isr(replicas: Sequence[int]) -> str:
    """What a move that only removes replicas waits for: those that stay were in the ISR before."""
    return f"{'replica' if len(replicas) == 1 else 'replicas'} {', '.join(map(str, replicas))} to be in the ISR again"


def to_join(replicas: Sequence[int]) -> str:
    """What a move waits for that has copied all."""
    return f"{'replica' if len(replicas) == 1 else 'replicas'} {', '.join(map(str, replicas))} to join the ISR"
