"""What the moves of the queue wait for: an index, so that the controller visits only moves that may start now.

Moves are their numbers in the order of submission (`Queue.names`); lines may hold numbers of moves that have left. A
round works on a copy, which becomes the queue's once the round is durable.
"""

from collections.abc import Container, Generator, Iterable, Iterator
from heapq import heappush

NO_CAP = -1
"""The move has no cap of its own: only those of the cluster count."""

WaitingLine = tuple[int, int]
"""A broker, or what stands in its place (`in_flight_caps`), and the own cap of the moves that wait there."""

FEW = 200


class WaitingLines:
    """What the last admission (`queue_admission.start_waiting_moves`) left.

    fresh       a heap of moves to decide next time: new ones, and those that are decided every time
    blocked     moves that wait for a broker: their own cap -> broker -> heap
    down        brokers that moves wait for and that were not alive
    more        the next round has something to decide even if nothing happens
    orphans     moves whose topic was deleted
    aside       held moves that stand in no line; other held moves leave theirs when their turn comes
    """

    def __init__(self) -> None:
        self.fresh: list[int] = []
        self.blocked: dict[int, dict[int, list[int]]] = {}
        self.down: set[int] = set()
        self.more = False
        self.orphans: dict[int, None] = {}
        self.aside: set[int] = set()

    def copy(self) -> "WaitingLines":
        """A hundred thousand numbers take about a millisecond."""
        lines = WaitingLines()
        lines.fresh = self.fresh[:]
        lines.blocked = {
            cap: {broker: line[:] for broker, line in brokers.items()} for cap, brokers in self.blocked.items()
        }
        lines.down, lines.more, lines.orphans = set(self.down), self.more, dict(self.orphans)
        lines.aside = set(self.aside)
        return lines

    def lines(self) -> list[WaitingLine]:
        return [(broker, cap) for cap, brokers in self.blocked.items() for broker in brokers]

    def join(self, serial: int) -> None:
        heappush(self.fresh, serial)

    def take_back(self, serial: int) -> None:
        """The move was released. One that still stands in a line does not join another."""
        if serial in self.aside:
            self.aside.discard(serial)
            self.join(serial)

    def wait(self, serial: int, broker: int, cap: int = NO_CAP) -> None:
        heappush(self.blocked.setdefault(cap, {}).setdefault(broker, []), serial)

    def end_line(self, line: WaitingLine) -> list[int]:
        """Returns the moves that waited there."""
        broker, cap = line
        waited = self.blocked[cap].pop(broker)
        if not self.blocked[cap]:
            del self.blocked[cap]  # each cap that clients think of has lines of its own
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
        held = len(self.fresh) + sum(len(self.blocked[cap][broker]) for broker, cap in lines)
        if held <= 2 * count + FEW:
            return
        yield from _sift(self.fresh, names)
        for broker, cap in lines:
            yield from _sift(self.blocked[cap][broker], names)
            if not self.blocked[cap][broker]:
                self.end_line((broker, cap))


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
