"""What the moves of the queue wait for: an index, so that the controller visits only moves that may start now.

Moves are their numbers in the order of submission (`Queue.names`); lines may hold numbers of moves that have left. A
round works on a copy, which becomes the queue's once the round is durable.
"""

from collections.abc import Container, Generator, Iterable, Iterator
from enum import StrEnum
from heapq import heappush

import msgspec

NO_CAP = -1
"""The move has no cap of its own: only those of the cluster count."""


class PlaceKind(StrEnum):
    """RECEIVER  a broker, as one that gets a replica; dead brokers are waited for here
    SENDER    a broker, as the leader that others copy from
    CLUSTER   a cap of the whole cluster: on moves, or on bytes
    REPAIRS   the cap on moves of repairs (KIP-46), or their brake
    WINDOW    a window
    LATER     the end of another move of the same partition
    ENABLED   reassignments to be enabled
    """

    RECEIVER = "receiver"
    SENDER = "sender"
    CLUSTER = "cluster"
    REPAIRS = "repairs"
    WINDOW = "window"
    LATER = "later"
    ENABLED = "enabled"


class Place(msgspec.Struct, frozen=True, gc=False):
    """What a move in flight takes a share of, and what a waiting one waits for. `broker`: of a receiver or sender."""

    kind: PlaceKind
    broker: int | None = None


CLUSTER, REPAIRS, WINDOW, LATER, ENABLED = map(
    Place, (PlaceKind.CLUSTER, PlaceKind.REPAIRS, PlaceKind.WINDOW, PlaceKind.LATER, PlaceKind.ENABLED)
)


def receiving(broker: int) -> Place:
    return Place(PlaceKind.RECEIVER, broker)


def sending(broker: int) -> Place:
    return Place(PlaceKind.SENDER, broker)


WaitingLine = tuple[Place, int]
"""Where moves wait, and their own cap."""

FEW = 200


class WaitingLines:
    """What the last admission (`queue_admission.start_waiting_moves`) left.

    fresh       a heap of moves to decide next time: new ones, and those that are decided every time
    blocked     moves that wait for a place: their own cap -> place -> heap
    down        brokers that moves wait for and that were not alive
    more        the next round has something to decide even if nothing happens
    orphans     moves whose topic was deleted
    aside       held moves that are in no line; other held moves leave theirs when their turn comes
    """

    def __init__(self) -> None:
        self.fresh: list[int] = []
        self.blocked: dict[int, dict[Place, list[int]]] = {}
        self.down: set[int] = set()
        self.more = False
        self.orphans: dict[int, None] = {}
        self.aside: set[int] = set()

    def copy(self) -> "WaitingLines":
        """A hundred thousand numbers take about a millisecond."""
        lines = WaitingLines()
        lines.fresh = self.fresh[:]
        lines.blocked = {
            cap: {place: line[:] for place, line in places.items()} for cap, places in self.blocked.items()
        }
        lines.down, lines.more, lines.orphans = set(self.down), self.more, dict(self.orphans)
        lines.aside = set(self.aside)
        return lines

    def lines(self) -> list[WaitingLine]:
        return [(place, cap) for cap, places in self.blocked.items() for place in places]

    def join(self, serial: int) -> None:
        heappush(self.fresh, serial)

    def take_back(self, serial: int) -> None:
        """The move was released. One that is still in a line does not join another."""
        if serial in self.aside:
            self.aside.discard(serial)
            self.join(serial)

    def wait(self, serial: int, place: Place, cap: int = NO_CAP) -> None:
        heappush(self.blocked.setdefault(cap, {}).setdefault(place, []), serial)

    def end_line(self, line: WaitingLine) -> list[int]:
        """Returns the moves that waited there."""
        place, cap = line
        waited = self.blocked[cap].pop(place)
        if not self.blocked[cap]:
            del self.blocked[cap]  # each cap that a client sets has lines of its own
        return waited

    def orphan(self, serials: Iterable[int]) -> None:
        """Their topic is deleted: they leave next time, so that none gets to another topic of its name."""
        for serial in serials:
            self.orphans[serial] = None
            self.more = True

    def clear(self) -> None:
        """Only numbers of moves that have left are in the lines."""
        self.fresh, self.blocked, self.orphans, self.aside = [], {}, {}, set()

    def forget_moves_that_left(self, names: Container[int], count: int) -> Generator[None, None, None]:
        """Once they are the majority: clients may replace waiting moves endlessly. `names`, `count`: the moves that
        wait.
        """
        lines = self.lines()
        held = len(self.fresh) + sum(len(self.blocked[cap][place]) for place, cap in lines)
        if held <= 2 * count + FEW:
            return
        yield from _sift(self.fresh, names)
        for place, cap in lines:
            yield from _sift(self.blocked[cap][place], names)
            if not self.blocked[cap][place]:
                self.end_line((place, cap))


def _sift(heap: list[int], names: Container[int]) -> Iterator[None]:
    """If the caller gives up, the other numbers stay in the heap."""
    left = heap[::-1]
    heap.clear()
    try:
        while left:
            serial = left.pop()
            if serial in names:
                heappush(heap, serial)
            yield
    finally:
        for serial in left:
            heappush(heap, serial)
