"""The queue of KIP-236: the moves that wait, as values.

`core.znode_routes.queue_admission` decides which of them start.

The moves are stored in znodes, called parts: the znode of the queue itself, which an operator writes, is one; each
child that the controller creates under it is another. When a move leaves, the controller rewrites its part, so parts
are small.

`parts` is durable; the other attributes of `Queue` are an index over it. `Queue.waiting` remembers what each move waits
for, so that the controller need look only at moves that may start now, however many wait.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count, islice

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, WaitingLines
from kafka_reassign_rpc.support.slices import SliceCounter, in_slices

StoredName = tuple[str, int]
"""A `TopicPartition` as the queue stores it: a plain pair. The garbage collector stops tracking plain pairs, but never
a NamedTuple, and a full pass over a hundred thousand names would hold the event loop for too long."""

SLICE = 200
"""Number of moves between two `yield`s."""


class WaitingMove(msgspec.Struct, frozen=True, gc=False):
    """A move that waits. `route`, `reason`, `throttle`: see `core.reassignment.alter`.

    moves_per_broker    its own cap on the moves in flight that each of its brokers receives, and on those that its
                        leader sends; or NO_CAP
    by                  the client that has queued it; None: it was no client, or it is not known any more
    """

    target: tuple[int, ...]
    route: str
    reason: str = ""
    throttle: int = -1
    moves_per_broker: int = NO_CAP
    by: Requester | None = None

    def asks_for_the_same(self, other: "WaitingMove") -> bool:
        """Whether they differ in nothing but in who has queued them."""
        return self == (other if other.by == self.by else replace(other, by=self.by))


class QueuePart(msgspec.Struct, frozen=True):
    """One znode of the queue, as last read or written.

    root        the znode of the queue itself: this one, or its parent
    entries     in their order; where several parts name a partition, the part that was put in last counts
    version     its zkVersion
    changed     its mzxid
    created     its czxid: the order of the parts
    size        bytes of its data
    unreadable  it cannot be decoded, and stays as it is: only its author knows what it was to be
    flawed      some of its content became no entry, so that the controller writes it anew
    occupied    a part below the root has children of somebody else: it is emptied, and its number stays in use
    """

    root: str
    path: str
    entries: Mapping[StoredName, WaitingMove] = {}
    version: int = 0
    changed: int = -1
    created: int = -1
    size: int = 0
    unreadable: bool = False
    flawed: bool = False
    occupied: bool = False

    @property
    def is_root(self) -> bool:
        return self.path == self.root


class QueuePlace(msgspec.Struct, frozen=True, gc=False):
    """Where a move waits: its number in the order of submission, and the path of its part."""

    serial: int
    path: str
    move: WaitingMove


class Queue:
    """All waiting moves.

    parts       by path, in their order
    routes      number of waiting moves by route
    capped      number of waiting moves with a cap of their own
    topics      the place of each waiting move, by topic and partition
    names       names of partitions by the numbers of their moves
    superseded  by path: entries that another part repeats
    occupied    roots that have children of somebody else: ZooKeeper does not delete them

    waiting     what they wait for; not durable
    """

    DISABLED = -1

    def __init__(self) -> None:
        self.parts: dict[str, QueuePart] = {}
        self.topics: dict[str, dict[int, QueuePlace]] = {}
        self.routes: Counter[str] = Counter()
        self.capped = 0
        self.names: dict[int, StoredName] = {}
        self.superseded: dict[str, dict[StoredName, None]] = {}
        self.occupied: set[str] = set()
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
        """Put in a part as it is now, in place of its earlier state.

        New entries count as submitted after all others. Yields every `SLICE` moves and at the end: parts are short, and
        there are many.
        """
        before = self.parts.get(part.path)
        self.parts[part.path] = part
        again = self.superseded.pop(part.path, {})
        slices = SliceCounter(SLICE)
        for name in () if before is None else before.entries:
            if name not in part.entries:
                self._leave(name, part.path)
            if slices.step():
                yield
        for name, move in part.entries.items():
            known = self.place(*name)
            if name in again and known is not None and before is not None and before.entries.get(name) == move:
                self.superseded.setdefault(part.path, {})[name] = None
            else:
                self._enter(name, part.path, move, known)
            if slices.step():
                yield
        yield

    def remove(self, path: str) -> Iterator[None]:
        """A part is gone. Yields as `put` does."""
        part = self.parts.pop(path, None)
        self.superseded.pop(path, None)
        for name, pause in in_slices(() if part is None else part.entries, SLICE):
            self._leave(name, path)
            if pause:
                yield
        yield

    def of(self, root: str) -> list[QueuePart]:
        """The parts of one queue."""
        return [part for part in self.parts.values() if part.root == root]

    def serials(self, topic: str) -> list[int]:
        """The numbers of the waiting moves of a topic."""
        return [place.serial for place in self.topics.get(topic, {}).values()]

    def orphan(self, topic: str) -> None:
        """The topic is deleted: see `WaitingLines.orphan`."""
        self.waiting.orphan(self.serials(topic))

    def _enter(self, name: StoredName, path: str, move: WaitingMove, known: QueuePlace | None) -> None:
        if known is not None and known.path != path:
            self.superseded.setdefault(known.path, {})[name] = None
        if known is not None and known.move == move:
            serial = known.serial
        else:
            if known is not None:
                del self.names[known.serial]
                self._count(known.move, -1)
            self._count(move, 1)
            serial = next(self._serials)
            self.names[serial] = name
            self.waiting.join(serial)
            self.waiting.more = True
        self.topics.setdefault(name[0], {})[name[1]] = QueuePlace(serial, path, move)

    def _count(self, move: WaitingMove, sign: int) -> None:
        self.routes[move.route] += sign
        self.capped += sign * (move.moves_per_broker >= 0)

    def _leave(self, name: StoredName, path: str) -> None:
        known = self.place(*name)
        if known is None or known.path != path:
            return
        del self.names[known.serial]
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
    withdrawn   after those: moves that a client's request replaced or cancelled, and entries that another part repeats;
                by path
    ended       last: moves that started, are done or are refused; by path
    rewrite     last: parts with invalid content, roots without content
    made        the parts after the round; None: deleted (see `controller.zookeeper_store.queue_writes`)
    lines       what moves wait for after the round (see `core.znode_routes.queue_admission`); None: as before
    reported    see `SoftState`; None: as before
    """

    def __init__(self) -> None:
        self.verify: dict[str, None] = {}
        self.appended: dict[TopicPartition, WaitingMove] = {}
        self.split: dict[str, None] = {}
        self.withdrawn: dict[str, dict[StoredName, None]] = {}
        self.ended: dict[str, dict[StoredName, None]] = {}
        self.rewrite: dict[str, None] = {}
        self.made: dict[str, QueuePart | None] = {}
        self.lines: WaitingLines | None = None
        self.reported: set[int] | None = None

    def gone(self, name: StoredName, path: str) -> bool:
        """Whether the move leaves that part in this round."""
        return name in self.withdrawn.get(path, ()) or name in self.ended.get(path, ())
