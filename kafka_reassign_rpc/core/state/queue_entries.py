"""The moves that wait, as values: those of KIP-236's queue (`core.queue.queue_admission` decides which start), and the
entries of `/admin/reassign_partitions` (the batch), with what a round does to both.

The queue's znodes, the parts, are the queue's own, which an operator writes, and its children, which the controller
creates. A move that leaves costs a write of its part, so parts are small. `Queue.parts` is durable, the rest is an
index.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count, islice

import msgspec

from kafka_reassign_rpc.core.state.partition import BATCH, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, Place, WaitingLines

StoredName = tuple[str, int]
"""A `TopicPartition` as a plain pair: the garbage collector stops tracking plain pairs but never a NamedTuple, and a
full pass over a hundred thousand names holds the event loop too long.
"""


class Held(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Why a move waits to be released. `since`: ms since the epoch, 0 if unknown; `who`: for people."""

    since: int = 0
    who: str = ""
    reason: str = ""


class WaitingMove(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """terms         `by`: the client that has queued it; `expected`: once it was held
    unapproved    since when this move of a repair waits for approval, ms since the epoch (0 if unknown); None: it needs
                  none, or has it
    origin        the replicas from which it led when it joined the queue, None if unknown
    """

    terms: MoveTerms
    held: Held | None = None
    unapproved: int | None = None
    origin: tuple[int, ...] | None = None

    @property
    def may_start(self) -> bool:
        """Whether only its turn and its place keep it from starting."""
        return self.held is None and self.unapproved is None

    @property
    def cap(self) -> int:
        """As `WaitingLines` has it."""
        return NO_CAP if self.terms.moves_per_broker is None else self.terms.moves_per_broker

    def is_same(self, other: "WaitingMove") -> bool:
        """Whether it is the same move of the same client, perhaps with another lease, hold or approval."""
        return self.terms.asks_for_the_same(other.terms) and self.terms.by == other.terms.by


class QueuePart(msgspec.Struct, frozen=True):
    """One znode of the queue, as last read or written.

    root            the znode of the queue itself: this one, or its parent
    entries         in order; if several parts name a partition, the part that was put in last counts
    changed         its mzxid; `version`: its zkVersion
    created         its czxid: the order of the parts
    size            bytes of its data
    unreadable      it stays as it is: only its author knows what it should be
    needs_rewrite   some of its content is invalid, so the controller rewrites it
    has_children    a part below the root has children that others made: it is emptied, and its number stays in use
    """

    root: str
    path: str
    entries: Mapping[StoredName, WaitingMove] = {}
    version: int = 0
    changed: int = -1
    created: int = -1
    size: int = 0
    unreadable: bool = False
    needs_rewrite: bool = False
    has_children: bool = False

    @property
    def is_root(self) -> bool:
        return self.path == self.root


class QueuePlace(msgspec.Struct, frozen=True, gc=False):
    """`serial`: the number in the order of submission, `path`: that of the part."""

    serial: int
    path: str
    move: WaitingMove


class Queue:
    """All waiting moves.

    parts                 by path, in their order
    routes                number of waiting moves by route
    capped                number of those with their own cap
    topics                the place of each waiting move, by topic and partition
    names                 names of partitions by the numbers of their moves
    superseded            by path: entries that another part repeats
    roots_with_children   roots that ZooKeeper does not delete, since they have children that others made
    waiting               what they wait for; not durable
    """

    def __init__(self) -> None:
        self.parts: dict[str, QueuePart] = {}
        self.topics: dict[str, dict[int, QueuePlace]] = {}
        self.routes: Counter[str] = Counter()
        self.capped = self.held = self.unapproved = 0
        self.names: dict[int, StoredName] = {}
        self.superseded: dict[str, dict[StoredName, None]] = {}
        self.roots_with_children: set[str] = set()
        self.waiting = WaitingLines()
        self._serials = count()

    def __len__(self) -> int:
        return len(self.names)

    def first(self, most: int) -> Iterator[tuple[TopicPartition, WaitingMove]]:
        """The moves that have waited longest."""
        for name in islice(self.names.values(), most):
            yield TopicPartition(*name), self.topics[name[0]][name[1]].move

    def place(self, topic: str, partition: int) -> QueuePlace | None:
        return self.topics.get(topic, {}).get(partition)

    def put(self, part: QueuePart) -> Iterator[None]:
        """Replaces the earlier state of a part.

        New entries count as submitted after all others; an entry that gets another lease or is held keeps its place.
        Yields after each move and at the end: there are many short parts.
        """
        before = self.parts.get(part.path)
        self.parts[part.path] = part
        again = self.superseded.pop(part.path, {})
        for name in () if before is None else before.entries:
            if name not in part.entries:
                self._leave(name, part.path)
            yield
        for name, move in part.entries.items():
            known = self.place(*name)
            if name in again and known is not None and before is not None and before.entries.get(name) == move:
                self.superseded.setdefault(part.path, {})[name] = None
            else:
                self._enter(name, part.path, move, known)
            yield
        yield

    def remove(self, path: str) -> Iterator[None]:
        """Yields as `put` does."""
        part = self.parts.pop(path, None)
        self.superseded.pop(path, None)
        for name in () if part is None else part.entries:
            self._leave(name, path)
            yield
        yield

    def of(self, root: str) -> list[QueuePart]:
        return [part for part in self.parts.values() if part.root == root]

    def serials(self, topic: str) -> list[int]:
        return [place.serial for place in self.topics.get(topic, {}).values()]

    def orphan(self, topic: str) -> None:
        self.waiting.orphan(self.serials(topic))

    def _enter(self, name: StoredName, path: str, move: WaitingMove, known: QueuePlace | None) -> None:
        if known is not None and known.path != path:
            self.superseded.setdefault(known.path, {})[name] = None
        if known is not None and (known.move == move or (known.path == path and known.move.is_same(move))):
            serial = known.serial
            self._count(known.move, -1)
            self._count(move, 1)
            if known.move.may_start != move.may_start:
                self.waiting.more = True
                if move.may_start:
                    self.waiting.take_back(serial)
        else:
            if known is not None:
                del self.names[known.serial]
                self._count(known.move, -1)
                self.waiting.aside.discard(known.serial)
            self._count(move, 1)
            serial = next(self._serials)
            self.names[serial] = name
            if move.may_start:
                self.waiting.join(serial)
                self.waiting.more = True
            else:
                self.waiting.aside.add(serial)
        self.topics.setdefault(name[0], {})[name[1]] = QueuePlace(serial, path, move)

    def _count(self, move: WaitingMove, sign: int) -> None:
        self.routes[move.terms.route] += sign
        self.capped += sign * (move.terms.moves_per_broker is not None)
        self.held += sign * (move.held is not None)
        self.unapproved += sign * (move.unapproved is not None)

    def _leave(self, name: StoredName, path: str) -> None:
        known = self.place(*name)
        if known is None or known.path != path:
            return
        del self.names[known.serial]
        self.waiting.aside.discard(known.serial)
        self._count(known.move, -1)
        of_topic = self.topics[name[0]]
        del of_topic[name[1]]
        if not of_topic:
            del self.topics[name[0]]
        if not self.names:
            self.waiting.clear()


class QueueChanges:
    """What a round does to the queue. "First" is durable before anything moves, "last" comes at the end.

    verify      first: roots that must still have the known version
    appended    first: moves that join the queue, in new parts
    split       first: parts to be cut into smaller ones
    withdrawn   after those, by path: moves that a client has replaced or cancelled, entries that another part repeats
    changed     with those, by path: moves that get another throttle, are held, released or approved; their place stays
    ended       last, by path: moves that started, are done or are refused
    rewrite     last: parts with invalid content, roots without content
    made        the parts after the round, None if deleted (`controller.zookeeper_store.znode_writes`)
    lines       what moves wait for after the round (`queue_admission`), None if unchanged
    reported    see `SoftState`; None if unchanged
    """

    def __init__(self) -> None:
        self.verify: dict[str, None] = {}
        self.appended: dict[TopicPartition, WaitingMove] = {}
        self.split: dict[str, None] = {}
        self.withdrawn: dict[str, dict[StoredName, None]] = {}
        self.changed: dict[str, dict[StoredName, WaitingMove]] = {}
        self.ended: dict[str, dict[StoredName, None]] = {}
        self.rewrite: dict[str, None] = {}
        self.made: dict[str, QueuePart | None] = {}
        self.lines: WaitingLines | None = None
        self.reported: set[Place] | None = None

    def now(self, name: StoredName, place: QueuePlace) -> WaitingMove:
        """As this round leaves it."""
        return self.changed.get(place.path, {}).get(name, place.move)

    def gone(self, name: StoredName, path: str) -> bool:
        return name in self.withdrawn.get(path, ()) or name in self.ended.get(path, ())


class BatchEntry(msgspec.Struct, frozen=True):
    """original        the replica set before the move; the controller writes it before anything moves
    not_cancelled   why a cancel of the batch has skipped this entry
    """

    target: tuple[int, ...]
    original: tuple[int, ...] | None = None
    not_cancelled: str | None = None

    @property
    def terms(self) -> MoveTerms:
        return MoveTerms(self.target, BATCH)


class BatchZnode(msgspec.Struct, frozen=True):
    """`/admin/reassign_partitions`, as last read or written.

    changed         its mzxid: the higher one is the newer reading, even if the znode was deleted and created in between
    version         its zkVersion
    unreadable      it stays as it is: only its author knows what it should be
    needs_rewrite   some of its content is invalid, so the controller rewrites it
    has_children    ZooKeeper does not delete it, since it has children that others made
    stripped        entries whose original replicas others have removed during the move
    waiting         number of entries that wait because reassignments are disabled
    lacks_room      entries wait because their original replicas would not fit into the znode
    room            bytes that may be added to it
    """

    entries: Mapping[TopicPartition, BatchEntry] = {}
    version: int = -1
    changed: int = -1
    unreadable: bool = False
    needs_rewrite: bool = False
    has_children: bool = False
    stripped: frozenset[TopicPartition] = frozenset()
    waiting: int = 0
    lacks_room: bool = False
    room: int = 1 << 20


class CancelAll(msgspec.Struct, frozen=True):
    """`/admin/cancel_reassignment_in_progress`. `id`: its czxid; with children it stays."""

    id: int
    has_children: bool = False


class BatchChanges:
    """What a round does to the batch. "First" is durable before anything moves, "last" comes at the end.

    started               first: entries with their original replicas
    withdrawn             first: entries of partitions whose target or move a client has changed or cancelled
    ended                 last: entries that are completed, rolled back or refused
    noted                 last: entries that stay, with a note
    rewrite               the controller writes the znode even if no entry changes, since its content is invalid
    cancelled             last of all: the cancel znode that was carried out
    waiting, lacks_room   see `BatchZnode`; None if unchanged
    """

    def __init__(self) -> None:
        self.started: dict[TopicPartition, BatchEntry] = {}
        self.withdrawn: dict[TopicPartition, None] = {}
        self.ended: dict[TopicPartition, None] = {}
        self.noted: dict[TopicPartition, BatchEntry] = {}
        self.rewrite = False
        self.cancelled: CancelAll | None = None
        self.waiting: int | None = None
        self.lacks_room: bool | None = None
