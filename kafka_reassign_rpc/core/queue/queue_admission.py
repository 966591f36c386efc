"""The queue of KIP-236: what happens to each waiting move. It is decided when it joins the queue, and again whenever it
may start; that is safe, since only the present state of the cluster counts.

partition                          the waiting move
its topic is unseen for now        waits (`SoftState.unseen`)
does not exist                     leaves, with a report
its topic was deleted              leaves, with a report, although there may be another one of its name by now
held, whatever it is               waits until it is released (`holding`)
repair that needs approval         waits until it is approved (`core.healing.failed_brokers`)
was held, replicas are others      leaves, with a report
at rest, with the target           leaves: it is done
moving to the target               leaves: it is in flight
other, reassignments disabled      waits
other, target refused              leaves, with a report
other, adds a server's id          leaves, with a report: there will be no such broker
other, adds a dead broker          waits, with one report per broker
other, outside of windows          waits, if it copies anything and is no repair (`core.queue.window_now`)
other, caps reached                waits
other, repair, brake holds         waits (`core.healing.failed_brokers`)
moving elsewhere, by the queue     the controller first cancels the move in flight, then starts the new one, with an
                                   id of its own (KIP-236); if it cannot cancel, the new one waits until the old
                                   one ends
moving elsewhere, by another route gets the new target, as if a client had sent it now
at rest                            starts

Moves start in the order of submission. A move that waits for a broker delays only moves that need the same broker. Of
two moves of one partition the later one counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event, of_waiting_move
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress, PolicyViolation
from kafka_reassign_rpc.core.queue.in_flight_caps import MovesInFlight
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.alter import cancel
from kafka_reassign_rpc.core.reassignment.move_sums import origin_of
from kafka_reassign_rpc.core.reassignment.reassign_partitions import route_conflict, start
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import BATCH, HEAL, QUEUE, REQUEST
from kafka_reassign_rpc.core.state.queue_entries import QueuePlace, WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import (
    CLUSTER,
    ENABLED,
    LATER,
    NO_CAP,
    REPAIRS,
    Place,
    WaitingLine,
    WaitingLines,
    receiving,
)
from kafka_reassign_rpc.support.counted import agreeing, counted

MAX_STARTS = 1000
"""Moves that start in one round."""

MAX_PART_BYTES = 32 << 10
"""A larger part is split, since each move that leaves it rewrites all of it."""

MAX_MOVE_CHARACTERS = 6000

TOPIC_DELETED = "The topic was deleted."


class QueueOutcome(NamedTuple):
    """`report`: for the sender."""

    leaves: bool
    changes: Sequence[PartitionChange] = ()
    report: str | None = None
    waits_for: Place | None = None


def decide_waiting_move(
    view: RoundView, name: TopicPartition, move: WaitingMove, in_flight: MovesInFlight
) -> QueueOutcome:
    """While reassignments are enabled."""
    if name.topic in view.cluster.soft.unseen:
        return QueueOutcome(leaves=False, waits_for=LATER)
    partition = view.get(*name)
    if partition is None:
        return QueueOutcome(leaves=True, report=str(view.cluster.not_found(*name)))
    terms = move.terms
    if partition.target == terms.target:
        view.stays(name)
        return QueueOutcome(leaves=True)
    ignored = route_conflict(partition, terms.route)
    if ignored is not None:
        return QueueOutcome(leaves=True, report=ignored)
    if terms.route == HEAL and (
        in_flight.repairs_held_back or (not partition.is_moving and not in_flight.has_room(REPAIRS))
    ):
        return QueueOutcome(
            leaves=False, waits_for=REPAIRS
        )  # thousands of moves of a repair may wait: decide most of them no further
    if terms.expected is not None and origin_of(partition) != terms.expected:
        return QueueOutcome(leaves=True, report=changed_since_held(terms.expected, origin_of(partition)))
    cancelled: list[PartitionChange] = []
    if partition.is_moving and terms.route == QUEUE:
        error, cancelled = cancel(view, name)
        if error is not None:
            return QueueOutcome(leaves=False, waits_for=LATER)
        if terms.target == partition.original:  # a target, and not only a cancel that may come too late
            cancelled = []
    given = _with_changes(view, cancelled)
    standing = given.get(*name) or partition
    asked = replace(terms, expected=None)  # it was asked for above
    started = start(given, name, standing, asked, legacy=terms.route == BATCH)  # the batch waits in its own znode
    if started.error is not None:
        return QueueOutcome(leaves=True, report=f"{started.error.name}: {started.error}")
    changes = [*cancelled, *started.changes]
    after = changes[-1].value
    for broker in after.adding:
        if not view.cluster.is_live(broker):
            return QueueOutcome(leaves=False, waits_for=receiving(broker))
    waits_for = in_flight.waits_for(name, partition, after, move.cap)
    return QueueOutcome(leaves=waits_for is None, changes=changes if waits_for is None else (), waits_for=waits_for)


def changed_since_held(expected: tuple[int, ...], found: tuple[int, ...]) -> str:
    return f"The move was held at the replicas {list(expected)}, and is not made from {list(found)}: ask for it again."


def _with_changes(view: RoundView, changes: Sequence[PartitionChange]) -> RoundView:
    """The round itself may still go without these changes."""
    if not changes:
        return view
    made = RoundView(view.cluster)
    made.by = view.by
    for change in changes:
        made.add(change)
    return made


# ------------------------------------------------------------------------------------------------ joining, leaving


def find(view: RoundView, name: TopicPartition) -> WaitingMove | None:
    joined = view.queue.appended.get(name)
    if joined is not None:
        return joined
    place = view.cluster.queue.place(*name)
    if place is None or view.queue.gone(name, place.path):
        return None
    return view.queue.now(name, place)


def change_rate(view: RoundView, name: TopicPartition, move: WaitingMove) -> None:
    """The move keeps its place and who has queued it."""
    if name in view.queue.appended:
        view.queue.appended[name] = move
        return
    place = view.cluster.queue.topics[name.topic][name.partition]
    view.queue.changed.setdefault(place.path, {})[name] = move


def append(view: RoundView, name: TopicPartition, move: WaitingMove) -> KafkaError | None:
    """In place of a waiting move of the same partition. Returns why it cannot be queued. An equal waiting move keeps
    its requester and place, even if its lease changes.
    """
    terms = move.terms
    if len(name[0]) + len(terms.reason) + 12 * len(terms.target) > MAX_MOVE_CHARACTERS:
        return PolicyViolation("The target is too long to wait in the queue.")
    known = find(view, name)
    if known is not None and known.terms.asks_for_the_same(terms):
        if (known.terms.throttle, known.terms.lifts) != (terms.throttle, terms.lifts):
            again = replace(known.terms, throttle=terms.throttle, lifts=terms.lifts)
            change_rate(view, name, replace(known, terms=again))
    else:
        withdraw(view, name)
        partition = view.get(*name)
        if view.by.is_client:
            terms = replace(terms, by=view.by)
        origin = None if partition is None else origin_of(partition)
        view.queue.appended[name] = replace(move, terms=terms, origin=origin)
        view.report(of_waiting_move(catalogue.MOVE_WAITING, name, terms))
    return None


def withdraw(view: RoundView, name: TopicPartition) -> bool:
    """Returns whether there was a waiting move."""
    move = find(view, name)
    if move is None:
        return False
    view.queue.appended.pop(name, None)
    place = view.cluster.queue.place(*name)
    if place is not None and not view.queue.gone(name, place.path):
        view.queue.withdrawn.setdefault(place.path, {})[name] = None
    gone = of_waiting_move(catalogue.MOVE_WITHDRAWN, name, move.terms)
    view.report(gone.asked_by(view.by, move.terms.by))
    return True


def withdraw_for_client(view: RoundView, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
    """A client has set or cancelled the target, which `error` would answer. Cancelling a waiting move succeeds although
    nothing was in flight.
    """
    if error is not None and not isinstance(error, NoReassignmentInProgress):
        return error
    return None if withdraw(view, name) else error


def is_room_claimed(view: RoundView) -> bool:
    """Whether a move waits for room under the caps: other new moves must queue behind it."""
    queue = view.cluster.queue
    lines = queue.waiting if view.queue.lines is None else view.queue.lines
    blocked = (place.broker for place in lines.blocked.get(NO_CAP, ()))
    return bool(queue) and (bool(lines.fresh) or any(id_ is not None and view.cluster.is_live(id_) for id_ in blocked))


def lines_of(view: RoundView) -> WaitingLines:
    if view.queue.lines is None:
        view.queue.lines = view.cluster.queue.waiting.copy()
    return view.queue.lines


def renew(view: RoundView, topic: str) -> None:
    lines = lines_of(view)
    for serial in view.cluster.queue.serials(topic):
        lines.join(serial)


# --------------------------------------------------------------------------------------------------------- looking


def start_waiting_moves(
    view: RoundView,
    in_flight: MovesInFlight,
    refused: Mapping[str, KafkaError],
    most: int = MAX_STARTS,
) -> Iterator[None]:
    """Up to `most`, in order. No change can be made to the `refused` topics, for the given reason."""
    queue, changes, lines = view.cluster.queue, view.queue, lines_of(view)
    lines.more = False
    for path, names in queue.superseded.items():
        changes.withdrawn.setdefault(path, {}).update(names)
    for part in queue.parts.values():
        if part.needs_rewrite or not (part.entries or part.unreadable):
            changes.rewrite[part.path] = None
        if part.size > MAX_PART_BYTES and len(part.entries) > 1:
            changes.split[part.path] = None
            lines.more = True
    if not queue or changes.split:
        return
    yield from _end_orphans(view)
    reported = set(view.cluster.soft.reported) if changes.reported is None else changes.reported
    changes.reported = reported
    disabled = restrictions.reassignments_disabled(view.cluster)
    if disabled is not None:
        if ENABLED not in reported:
            waiting = f"{counted(len(queue), 'move')} of the queue {agreeing(len(queue), 'wait')}"
            view.report(Event(catalogue.ENTRY_WAITING, reason=f"{waiting}. {disabled}"))
        reported.add(ENABLED)
        return
    reported.discard(ENABLED)
    reported.difference_update([one for one in reported if one.broker is not None and view.cluster.is_live(one.broker)])
    yield from lines.forget_moves_that_left(queue.names, len(queue))
    _renew_lines_of_lost_brokers(lines, view.cluster)
    line = _Line(lines, in_flight)
    yield from line.open()
    yield from _start_in_order(view, line, in_flight, refused, most)


def _end_orphans(view: RoundView) -> Iterator[None]:
    """Moves of deleted topics leave, whatever the caps and restrictions."""
    queue, topics, lines = view.cluster.queue, view.cluster.topics, lines_of(view)
    for topic in list(queue.topics):
        known = topics.get(topic)
        if known is not None and known.deleting:
            lines.orphan(queue.serials(topic))
        yield
    for serial in list(lines.orphans):
        stored = queue.names.get(serial)
        if stored is None:
            del lines.orphans[serial]
        else:
            name, place = TopicPartition(*stored), queue.topics[stored[0]][stored[1]]
            if not view.queue.gone(name, place.path):
                _leave(view, name, place, TOPIC_DELETED)
        yield


def _leave(view: RoundView, name: TopicPartition, place: QueuePlace, report: str | None) -> None:
    view.queue.ended.setdefault(place.path, {})[name] = None
    if report is not None:
        terms = place.move.terms
        refused = Event(catalogue.ENTRY_REFUSED, *name, route=terms.route, reason=report, target=terms.target)
        view.report(refused.asked_by(terms.by or view.by))


def _renew_lines_of_lost_brokers(lines: WaitingLines, cluster: Cluster) -> None:
    """Their partitions have another leader, or a server has taken the id: the moves are decided again."""
    waited_for = lines.lines()
    brokers = {place.broker for place, _ in waited_for if place.broker is not None}
    down = {broker for broker in brokers if not cluster.is_live(broker)}
    died = down - lines.down | set(filter(cluster.is_server, down))
    for line in waited_for if died else ():
        if line[0].broker in died:
            lines.fresh += lines.end_line(line)
    if died:
        heapify(lines.fresh)
    lines.down = down


class _Line:
    """The moves to decide, in order: the fresh ones (the source None), and those of lines whose place has room.

    Call `open` first. `done` puts back what `next` took: a move leaves the heaps only once its decision is durable.
    """

    def __init__(self, lines: WaitingLines, in_flight: MovesInFlight) -> None:
        self._lines = lines
        self._in_flight = in_flight
        self._heads: list[tuple[int, int, WaitingLine | None]] = []
        """The first move of each source. A number of its own keeps sources from being compared."""
        self._numbers = count()
        self._taken: list[int] = []

    def open(self) -> Iterator[None]:
        self._show(None)
        for source in self._lines.lines():
            self._show(source)
            yield

    def _of(self, source: WaitingLine | None) -> list[int]:
        return self._lines.fresh if source is None else self._lines.blocked[source[1]][source[0]]

    def _show(self, source: WaitingLine | None) -> None:
        line = self._of(source)
        if line and self._may_start(source):
            heappush(self._heads, (line[0], next(self._numbers), source))

    def _may_start(self, source: WaitingLine | None) -> bool:
        return source is None or self._in_flight.has_room(*source)

    def next(self) -> int | None:
        """For `back` or `WaitingLines.wait`."""
        while self._heads:
            *_, source = heappop(self._heads)
            if not self._may_start(source):
                continue
            line = self._of(source)
            serial = heappop(line)
            if line:
                self._show(source)
            elif source is not None:
                self._lines.end_line(source)
            return serial
        return None

    def back(self, serial: int) -> None:
        """Decides it again next time, if it is still in the queue."""
        self._taken.append(serial)

    def done(self) -> None:
        for serial in self._taken:
            heappush(self._lines.fresh, serial)
        self._taken = []


def _start_in_order(
    view: RoundView,
    line: _Line,
    in_flight: MovesInFlight,
    refused: Mapping[str, KafkaError],
    most: int,
) -> Iterator[None]:
    queue, lines = view.cluster.queue, lines_of(view)
    by = view.by
    started = 0
    try:
        while not in_flight.is_full:
            serial = line.next()
            if serial is None:
                break
            yield
            stored = queue.names.get(serial)
            if stored is None:
                continue
            name = TopicPartition(*stored)
            place = queue.topics[name[0]][name[1]]
            if place.serial != serial or view.queue.gone(name, place.path):
                line.back(serial)
                continue
            if not view.queue.now(name, place).may_start:
                lines.aside.add(serial)
                continue
            view.by = place.move.terms.by or (CONTROLLER if place.move.terms.route == HEAL else by)
            outcome = _decide_next(view, name, place, in_flight, refused)
            if outcome.waits_for is None or outcome.waits_for == LATER:
                line.back(serial)
                started += outcome.leaves
                if started >= most:
                    lines.more = True
                    break
            elif outcome.waits_for == CLUSTER:
                line.back(serial)
                break
            else:
                lines.wait(serial, outcome.waits_for, place.move.cap)
    finally:
        line.done()
        view.by = by


def _decide_next(
    view: RoundView,
    name: TopicPartition,
    place: QueuePlace,
    in_flight: MovesInFlight,
    refused: Mapping[str, KafkaError],
) -> QueueOutcome:
    move = view.queue.now(name, place)
    before = view.get(*name)
    outcome = decide_waiting_move(view, name, move, in_flight)
    if outcome.changes and name[0] in refused:
        outcome = QueueOutcome(leaves=True, report=str(refused[name[0]]))
    for change in outcome.changes:
        view.add(change)
    if outcome.changes and before is not None:
        after = outcome.changes[-1].value
        in_flight.replace(name, before, after)
        if (
            before.is_moving and move.terms.route == QUEUE
        ):  # the former move was cancelled: so its throttle goes (KIP-236)
            still = after.replicas if after.is_moving and after.lease is None else ()
            view.unthrottle(*name, without(before.replicas, still))
        if (
            move.terms.route != REQUEST
        ):  # these two exclude each other: the entry of the batch leaves by itself, with a report
            reassign_partitions.withdraw_for_client(
                view, name, None
            )  # otherwise the batch would start its own target again
    if outcome.leaves:
        _leave(view, name, place, outcome.report)
    broker, reported = None if outcome.waits_for is None else outcome.waits_for.broker, view.queue.reported
    if (
        broker is not None
        and not view.cluster.is_live(broker)
        and reported is not None
        and receiving(broker) not in reported
    ):
        reported.add(receiving(broker))
        reason = f"waits for broker {broker}, which is not alive, like all that needs it in the queue"
        view.report(Event(catalogue.ENTRY_WAITING, *name, broker=broker, reason=reason, target=move.terms.target))
    return outcome
