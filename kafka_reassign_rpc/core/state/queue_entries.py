"""The moves that wait (KIP-236's queue), as values; what is decided about them stands in
`core.znode_routes.queue_admission`.

They lie in znodes, here called parts: what an operator has written into the queue's own znode is one, and each child
that the controller has put under it is one. A move leaves by its part being written anew, so parts are small.

What is durable is `parts`, and an index over them. Beside it stands what the last look has found each move to wait
for, so that the next look sees those alone that may start now: a hundred thousand that wait cost it nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import heappush
from itertools import count, islice

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

StoredName = tuple[str, int]
"""A `TopicPartition` as the queue stores it: a plain pair. The garbage collector stops tracking plain pairs, but never
a NamedTuple, and a full pass over a hundred thousand names would hold the event loop for too long."""

SLICE = 200
"""Moves put in between two `yield`s."""


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """What is to become of a partition. `route`, `reason`, `throttle`: see `core.reassignment.alter`."""

    target: tuple[int, ...]
    route: str
    reason: str = ""
    throttle: int = -1


class Part(msgspec.Struct, frozen=True):
    """One znode, as it was last read or written.

    root        the znode of the queue itself: this one, or its parent
    entries     in their order; a partition may stand in several parts: the one put in last counts
    version     its zkVersion
    changed     its mzxid
    created     its czxid: parts count in this order
    size        bytes of its data
    unreadable  it is left as it is: only whoever wrote it knows what it was to be
    flawed      it says something that no entry stands for, and is to be written anew
    """

    root: str
    path: str
    entries: Mapping[StoredName, Waiting] = {}
    version: int = 0
    changed: int = -1
    created: int = -1
    size: int = 0
    unreadable: bool = False
    flawed: bool = False

    @property
    def is_root(self) -> bool:
        return self.path == self.root


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a move waits: its number in the order of submission, and its part."""

    serial: int
    path: str
    move: Waiting


class Queue:
    """All that waits.

    parts       by path, in their order
    routes      how many moves wait that came by each route
    topics      where each move waits, by topic and partition
    names       of moves by their numbers
    superseded  by path, what another part says anew
    occupied    roots that cannot be deleted: somebody has put other znodes under them

    Of the last look:

    fresh       numbers of moves that have not been looked at, or are to be looked at every time (a heap)
    blocked     numbers of moves that wait for a broker, by that broker (heaps)
    down        brokers that something waited for and that were not alive
    more        there is something to look at at once
    told        what has been reported: brokers that are waited for, and `GUARD`
    """

    GUARD = -1

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}
        self.topics: dict[str, dict[int, Place]] = {}
        self.routes: Counter[str] = Counter()
        self.names: dict[int, StoredName] = {}
        self.superseded: dict[str, dict[StoredName, None]] = {}
        self.occupied: set[str] = set()
        self.fresh: list[int] = []
        self.blocked: dict[int, list[int]] = {}
        self.down: set[int] = set()
        self.more = False
        self.told: set[int] = set()
        self._serials = count()

    def __len__(self) -> int:
        return len(self.names)

    def first(self, most: int) -> Iterator[tuple[TopicPartition, Waiting]]:
        """The moves that have waited for longest."""
        for name in islice(self.names.values(), most):
            yield TopicPartition(*name), self.topics[name[0]][name[1]].move

    def place(self, topic: str, partition: int) -> Place | None:
        return self.topics.get(topic, {}).get(partition)

    def put(self, part: Part) -> Iterator[None]:
        """Put in a part as it stands now, in the place of what was known of it, yielding every `SLICE` moves and at
        the end: parts are short, and there are many.

        What is new in it counts as submitted after everything else.
        """
        before = self.parts.get(part.path)
        self.parts[part.path] = part
        again = self.superseded.pop(part.path, {})
        done = 0
        for name in () if before is None else before.entries:
            if name not in part.entries:
                self._leave(name, part.path)
            done += 1
            if done % SLICE == 0:
                yield
        for name, move in part.entries.items():
            known = self.place(*name)
            if name in again and known is not None and before is not None and before.entries.get(name) == move:
                self.superseded.setdefault(part.path, {})[name] = None
            else:
                self._enter(name, part.path, move, known)
            done += 1
            if done % SLICE == 0:
                yield
        yield

    def drop(self, path: str) -> Iterator[None]:
        """A part is gone. Yields as `put` does."""
        part = self.parts.pop(path, None)
        self.superseded.pop(path, None)
        for done, name in enumerate(() if part is None else part.entries, 1):
            self._leave(name, path)
            if done % SLICE == 0:
                yield
        yield

    def of(self, root: str) -> list[Part]:
        """The parts of one queue."""
        return [part for part in self.parts.values() if part.root == root]

    def renew(self, topic: str) -> None:
        """What waits for a topic's partitions is to be looked at again."""
        for place in self.topics.get(topic, {}).values():
            heappush(self.fresh, place.serial)

    def _enter(self, name: StoredName, path: str, move: Waiting, known: Place | None) -> None:
        if known is not None and known.path != path:
            self.superseded.setdefault(known.path, {})[name] = None
        if known is not None and known.move == move:
            serial = known.serial
        else:
            if known is not None:
                del self.names[known.serial]
                self.routes[known.move.route] -= 1
            self.routes[move.route] += 1
            serial = next(self._serials)
            self.names[serial] = name
            heappush(self.fresh, serial)
            self.more = True
        self.topics.setdefault(name[0], {})[name[1]] = Place(serial, path, move)

    def _leave(self, name: StoredName, path: str) -> None:
        known = self.place(*name)
        if known is None or known.path != path:
            return
        del self.names[known.serial]
        self.routes[known.move.route] -= 1
        of_topic = self.topics[name[0]]
        del of_topic[name[1]]
        if not of_topic:
            del self.topics[name[0]]
        if not self.names:  # what is left in the heaps are numbers that nobody has any more
            self.fresh, self.blocked, self.told = [], {}, set()


class QueueChanges:
    """What a round does to the queue. What comes first is durable before anything moves; the rest comes last.

    verify      first: roots that have to be there at the version known
    appended    first: moves that join the queue, in new parts
    split       first: parts to be cut into smaller ones
    withdrawn   first, after those: what a client has overruled, and what another part says anew; by path
    ended       last: moves that have begun, are done, or are refused; by path
    rewrite     last: parts that hold what they should not, roots that hold nothing
    made        the parts as they stand then, None where they are gone: see `controller.commit.queue_writes`
    told        see `Queue`
    """

    def __init__(self) -> None:
        self.verify: dict[str, None] = {}
        self.appended: dict[TopicPartition, Waiting] = {}
        self.split: dict[str, None] = {}
        self.withdrawn: dict[str, dict[StoredName, None]] = {}
        self.ended: dict[str, dict[StoredName, None]] = {}
        self.rewrite: dict[str, None] = {}
        self.made: dict[str, Part | None] = {}
        self.told: set[int] | None = None

    def gone(self, name: StoredName, path: str) -> bool:
        """Whether it leaves that part in this round."""
        return name in self.withdrawn.get(path, ()) or name in self.ended.get(path, ())
