"""KIP-236's queue: what becomes of each move that waits in it.

A move is looked at when it joins the queue and whenever what it waits for may have come. It holds no state of its
own: what it is worth follows from what stands, so looking at it again does nothing twice.

    partition                          the waiting move
    there is none                      leaves, reported
    at rest, has the target            leaves: it is done
    moves to the target                leaves: it is in flight
    anything else, guard closed        waits
    the target is refused              leaves, reported
    it adds a broker that is down      waits, reported once for the broker; so it does where caps leave no room
    moves elsewhere, by the queue      the move in flight is cancelled first, then the new one starts, with an identity
                                       of its own (KIP-236); where that cancel cannot be, it waits for the move's end
    moves elsewhere, by another route  the new target takes over, as if it had been sent now
    at rest                            starts

Moves are looked at in the order in which they were submitted; one that waits for a broker holds up those alone that
need the same broker. Of two for the same partition the one submitted later counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress, PolicyViolation
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment.in_flight_caps import CLUSTER, REPAIRS, Schedule
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.restrictions import Rules
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import HEAL, QUEUE, REQUEST, Cluster, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import Place, Queue, Waiting
from kafka_reassign_rpc.core.znode_routes import reassign_partitions
from kafka_reassign_rpc.core.znode_routes.route_rules import NO_PARTITION, crosses, start

LATER = -3
"""Stands for a broker where a move waits for the end of another move of its partition."""

SLICE = 50
"""Moves looked at between two `yield`s: each may be a start."""

MOST = 1000
"""Moves that one look lets start: what is left has its turn in the next round."""

LARGEST = 32 << 10
"""Bytes of a part that is not to be cut: one move that leaves it costs as much as it is long."""

LONGEST = 6000
"""Characters of one move as it is written into a part."""

FRESH = -4


class QueueOutcome(NamedTuple):
    """What becomes of a waiting move.

    leaves   it is none any more
    changes  what happens to its partition
    report   for whoever submitted it, where there is something to say
    held_by  what it waits for: a broker, `CLUSTER` or `LATER`
    """

    leaves: bool
    changes: Sequence[PartitionChange] = ()
    report: str | None = None
    held_by: int | None = None


def take_up(view: RoundView, name: TopicPartition, move: Waiting, rules: Rules, schedule: Schedule) -> QueueOutcome:
    """A waiting move, while the guard is open."""
    partition = view.get(*name)
    if partition is None:
        return QueueOutcome(leaves=True, report=NO_PARTITION)
    if partition.target == move.target:
        return QueueOutcome(leaves=True)
    ignored = crosses(partition, move.route)
    if ignored is not None:
        return QueueOutcome(leaves=True, report=ignored)
    if move.route == HEAL and not partition.is_moving and not schedule.has_room(REPAIRS):
        return QueueOutcome(
            leaves=False, held_by=REPAIRS
        )  # thousands of a repair wait: most are not worth more than this
    cancelled: list[PartitionChange] = []
    if partition.is_moving and move.route == QUEUE:
        error, cancelled = alter(view, *name, None, allow_replication_factor_change=True)
        if error is not None:
            return QueueOutcome(leaves=False, held_by=LATER)
    given = _after(view, cancelled)
    standing = given.get(*name) or partition
    started = start(given, name, standing, move.target, move.route, rules, reason=move.reason, throttle=move.throttle)
    if started.error is not None:
        return QueueOutcome(leaves=True, report=f"{started.error.name}: {started.error}")
    changes = [*cancelled, *started.changes]
    after = changes[-1].value
    for broker in after.adding:
        if not view.cluster.is_live(broker):
            return QueueOutcome(leaves=False, held_by=broker)
    held_by = schedule.held_by(name, partition, after)
    return QueueOutcome(leaves=held_by is None, changes=changes if held_by is None else (), held_by=held_by)


def _after(view: RoundView, changes: Sequence[PartitionChange]) -> RoundView:
    """The view with some changes on top that the round may yet do without."""
    if not changes:
        return view
    made = RoundView(view.cluster)
    for change in changes:
        made.add(change)
    return made


# ------------------------------------------------------------------------------------------------ joining, leaving


def find(view: RoundView, name: TopicPartition) -> Waiting | None:
    """What waits for a partition, as the round goes on."""
    joined = view.queue.appended.get(name)
    if joined is not None:
        return joined
    place = view.cluster.queue.place(*name)
    return None if place is None or view.queue.gone(name, place.path) else place.move


def append(view: RoundView, name: TopicPartition, move: Waiting) -> KafkaError | None:
    """A move joins the queue, in the place of one that waited for the same partition. Returns why it cannot."""
    if len(name[0]) + len(move.reason) + 12 * len(move.target) > LONGEST:
        return PolicyViolation("The target is too long to wait in the queue.")
    if find(view, name) != move:
        overrule(view, name)
        view.queue.appended[name] = move
        view.report(
            Event(catalogue.MOVE_WAITING, *name, route=move.route, reason=move.reason or None, target=move.target)
        )
    return None


def overrule(view: RoundView, name: TopicPartition) -> bool:
    """What waits for a partition is given up for what somebody wants since; whether there was anything."""
    move = find(view, name)
    if move is None:
        return False
    view.queue.appended.pop(name, None)
    place = view.cluster.queue.place(*name)
    if place is not None and not view.queue.gone(name, place.path):
        view.queue.withdrawn.setdefault(place.path, {})[name] = None
    view.report(
        Event(catalogue.MOVE_WITHDRAWN, *name, route=move.route, reason=move.reason or None, target=move.target)
    )
    return True


def forget(view: RoundView, path: str) -> None:
    """A part is not what it was: what the round was to do to it is dropped."""
    changes = view.queue
    for of_path in (changes.withdrawn, changes.ended, changes.rewrite, changes.split, changes.verify):
        of_path.pop(path, None)


def overruled(view: RoundView, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
    """A client has given this partition a target, or cancelled its move, with that answer: what waits for it leaves.

    The answer that stands then: a cancel of a move that has not started has something to cancel after all.
    """
    if error is not None and not isinstance(error, NoReassignmentInProgress):
        return error
    return None if overrule(view, name) else error


def claimed(cluster: Cluster) -> bool:
    """Whether some move waits for room: others that need any have to get in line."""
    queue = cluster.queue
    return bool(queue) and (
        bool(queue.fresh) or any(map(cluster.is_live, (b for b, line in queue.blocked.items() if line)))
    )


# --------------------------------------------------------------------------------------------------------- looking


def look(
    view: RoundView, rules: Rules, schedule: Schedule, refused: Mapping[str, KafkaError], most: int = MOST
) -> Iterator[None]:
    """Let start what may, in its order, yielding every `SLICE` moves.

    refused  topics that no change can be made to, with the reason
    """
    queue, changes = view.cluster.queue, view.queue
    queue.more = False
    for path, names in queue.superseded.items():
        changes.withdrawn.setdefault(path, {}).update(names)
    for part in queue.parts.values():
        if part.flawed or not (part.entries or part.unreadable):
            changes.rewrite[part.path] = None
        if part.size > LARGEST and len(part.entries) > 1:
            changes.split[part.path] = None
            queue.more = True
    if not queue or changes.split:
        return
    told = set(queue.told) if changes.told is None else changes.told
    changes.told = told
    closed = restrictions.reassignments_disabled(view.cluster)
    if closed is not None:
        if Queue.GUARD not in told:
            view.report(Event(catalogue.ENTRY_WAITING, reason=f"{len(queue)} moves of the queue wait. {closed}"))
        told.add(Queue.GUARD)
        return
    told.discard(Queue.GUARD)
    told.difference_update([broker for broker in told if view.cluster.is_live(broker)])
    _renew_lines_of_the_dead(queue, view.cluster)
    yield from _in_line(view, _Line(queue, schedule), rules, schedule, refused, most)


def _renew_lines_of_the_dead(queue: Queue, cluster: Cluster) -> None:
    """What waited for room on a broker that has died since may do without it: another one leads now."""
    down = {broker for broker in queue.blocked if broker >= 0 and not cluster.is_live(broker)}
    for broker in down - queue.down:
        queue.fresh += queue.blocked.pop(broker)
    heapify(queue.fresh)
    queue.down = down


class _Line:
    """The moves that one look has to see, in their order: those that are fresh, and those whose broker has room.

    What is taken is put back by `done`, for the next look: it has gone for good only once that is durable.
    """

    def __init__(self, queue: Queue, schedule: Schedule) -> None:
        self._queue = queue
        self._schedule = schedule
        self._heads: list[tuple[int, int]] = []
        self._taken: list[int] = []
        self._show(FRESH)
        for broker in queue.blocked:
            if schedule.has_room(broker):
                self._show(broker)

    def _of(self, source: int) -> list[int]:
        return self._queue.fresh if source == FRESH else self._queue.blocked[source]

    def _show(self, source: int) -> None:
        line = self._of(source)
        if line:
            heappush(self._heads, (line[0], source))

    def next(self) -> int | None:
        """The number of the next one; it is to be given to `back` or to `wait`."""
        while self._heads:
            _, source = heappop(self._heads)
            if source != FRESH and not self._schedule.has_room(source):
                continue
            serial = heappop(self._of(source))
            self._show(source)
            return serial
        return None

    def back(self, serial: int) -> None:
        """It is looked at again next time, if it is still there."""
        self._taken.append(serial)

    def wait(self, serial: int, broker: int) -> None:
        heappush(self._queue.blocked.setdefault(broker, []), serial)

    def done(self) -> None:
        for serial in self._taken:
            heappush(self._queue.fresh, serial)
        self._taken = []


def _in_line(
    view: RoundView, line: _Line, rules: Rules, schedule: Schedule, refused: Mapping[str, KafkaError], most: int
) -> Iterator[None]:
    queue = view.cluster.queue
    started = looked = 0
    try:
        while not schedule.is_full:
            serial = line.next()
            if serial is None:
                break
            looked += 1
            if looked % SLICE == 0:
                yield
            stored = queue.names.get(serial)
            if stored is None:
                continue
            name = TopicPartition(*stored)
            place = queue.topics[name[0]][name[1]]
            if place.serial != serial or view.queue.gone(name, place.path):
                line.back(serial)
                continue
            outcome = _settle(view, name, place, rules, schedule, refused)
            if outcome.held_by is None or outcome.held_by == LATER:
                line.back(serial)
                started += outcome.leaves
                if started >= most:
                    queue.more = True
                    break
            elif outcome.held_by == CLUSTER:
                line.back(serial)
                break
            else:
                line.wait(serial, outcome.held_by)
    finally:
        line.done()


def _settle(
    view: RoundView,
    name: TopicPartition,
    place: Place,
    rules: Rules,
    schedule: Schedule,
    refused: Mapping[str, KafkaError],
) -> QueueOutcome:
    move = place.move
    before = view.get(*name)
    outcome = take_up(view, name, move, rules, schedule)
    if outcome.changes and name[0] in refused:
        outcome = QueueOutcome(leaves=True, report=str(refused[name[0]]))
    for change in outcome.changes:
        view.add(change)
    if outcome.changes and before is not None:
        after = outcome.changes[-1].value
        schedule.replace(name, before, after)
        if before.is_moving and move.route == QUEUE:  # it was cancelled first: its throttle goes with it (KIP-236)
            still = after.replicas if after.is_moving and after.lease is None else ()
            view.unthrottle(*name, without(before.replicas, still))
        if move.route != REQUEST:  # the two do not override each other: the batch's entry leaves, with the reason
            reassign_partitions.overruled(view, name, None)  # or the batch would want its own target back
    if outcome.leaves:
        view.queue.ended.setdefault(place.path, {})[name] = None
    if outcome.report is not None:
        view.report(Event(catalogue.ENTRY_REFUSED, *name, route=move.route, reason=outcome.report, target=move.target))
    broker, told = outcome.held_by, view.queue.told
    if (
        broker is not None
        and broker >= 0
        and not view.cluster.is_live(broker)
        and told is not None
        and broker not in told
    ):
        told.add(broker)
        reason = f"waits for broker {broker}, which is not alive, like all that needs it in the queue"
        view.report(Event(catalogue.ENTRY_WAITING, *name, broker=broker, reason=reason, target=move.target))
    return outcome
