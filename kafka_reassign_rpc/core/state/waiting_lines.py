"""What the moves of the queue wait for: an index, so that the controller need look only at moves that may start now.

Moves stand here by their numbers in the order of submission (`Queue.names`). Lines may hold numbers of moves that have
left. A round looks at a copy of its own, which becomes the queue's once the round is durable.
"""

from collections.abc import Container, Generator, Iterable, Iterator
from heapq import heappush

from kafka_reassign_rpc.support.slices import SliceCounter

NO_CAP = -1
"""In place of a cap of its own: only the caps of the cluster count."""

WaitingLine = tuple[int, int]
"""A broker, or what stands in its place (`core.reassignment.in_flight_caps`), and a cap: the moves with this cap of
their own wait for that broker."""

SLICE = 200
"""Number of moves between two `yield`s."""


class WaitingLines:
    """What the last admission (`queue_admission.start_waiting_moves`) left.

    fresh       moves to decide next time: new ones, and those that are decided every time (a heap)
    blocked     moves that wait for a broker: by the cap of their own, then by broker (heaps)
    down        brokers that moves wait for and that were not alive
    more        the next round has something to decide even if nothing happens
    orphans     moves whose topic was deleted
    """

    def __init__(self) -> None:
        self.fresh: list[int] = []
        self.blocked: dict[int, dict[int, list[int]]] = {}
        self.down: set[int] = set()
        self.more = False
        self.orphans: dict[int, None] = {}

    def copy(self) -> "WaitingLines":
        """Lines of its own for a round: a hundred thousand numbers take about a millisecond."""
        lines = WaitingLines()
        lines.fresh = self.fresh[:]
        lines.blocked = {
            cap: {broker: line[:] for broker, line in brokers.items()} for cap, brokers in self.blocked.items()
        }
        lines.down, lines.more, lines.orphans = set(self.down), self.more, dict(self.orphans)
        return lines

    def lines(self) -> list[WaitingLine]:
        """Where moves wait."""
        return [(broker, cap) for cap, brokers in self.blocked.items() for broker in brokers]

    def join(self, serial: int) -> None:
        """Decide this move next time."""
        heappush(self.fresh, serial)

    def wait(self, serial: int, broker: int, cap: int = NO_CAP) -> None:
        """The move waits for the broker; `cap`: its own."""
        heappush(self.blocked.setdefault(cap, {}).setdefault(broker, []), serial)

    def end_line(self, line: WaitingLine) -> list[int]:
        """Nobody waits there any more. Returns the moves that did."""
        broker, cap = line
        waited = self.blocked[cap].pop(broker)
        if not self.blocked[cap]:
            del self.blocked[cap]  # each cap that clients think of has lines of its own
        return waited

    def orphan(self, serials: Iterable[int]) -> None:
        """The topic of these moves is deleted: they leave next time, so that none gets to another topic of its name."""
        for serial in serials:
            self.orphans[serial] = None
            self.more = True

    def clear(self) -> None:
        """No move waits any more: the lines hold nothing but numbers of moves that left."""
        self.fresh, self.blocked, self.orphans = [], {}, {}

    def forget_moves_that_left(self, names: Container[int], count: int) -> Generator[None, None, None]:
        """Take the numbers of moves that have left out of the lines, once they are the most. Yields every `SLICE`.

        A client may replace its moves that wait for a broker as often as it likes. `names`, `count`: the moves that
        wait, and how many they are.
        """
        lines = self.lines()
        held = len(self.fresh) + sum(len(self.blocked[cap][broker]) for broker, cap in lines)
        if held <= 2 * count + SLICE:
            return
        yield from _sift(self.fresh, names)
        for broker, cap in lines:
            yield from _sift(self.blocked[cap][broker], names)
            if not self.blocked[cap][broker]:
                self.end_line((broker, cap))


def _sift(heap: list[int], names: Container[int]) -> Iterator[None]:
    """Take the numbers of moves that have left out of a heap. Where the caller gives up, the others stay in it."""
    left = heap[::-1]
    heap.clear()
    slices = SliceCounter(SLICE)
    try:
        while left:
            serial = left.pop()
            if serial in names:
                heappush(heap, serial)
            if slices.step():
                yield
    finally:
        for serial in left:
            heappush(heap, serial)
