"""How often to ask: every second while something moves, slower at rest, and never so often that a question costs more
than its budget: `SHARE` of the time of the node that answers, `REQUESTS_PER_S` and `BYTES_PER_S`. The quickest of the
last answers shows what one costs: a slower one has waited behind others. `counted` counts the requests of a client,
their bytes, and how long it waited for answers.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

SHARE = 0.01
LAST = 5
"""How many answers are kept: the quickest of them counts."""
LONGEST_S, SOON_S = 60.0, 5.0
"""The longest pause for slow answers: once there were `LAST` of them, and before."""
REQUESTS_PER_S = 4
BYTES_PER_S = 250_000


class Traffic:
    """`requests`: those without an answer too. `answer_s`: seconds of waiting for answers, even if several came at the
    same time.
    """

    def __init__(self, around: "Traffic | None" = None) -> None:
        self._around = around
        self.requests = self.bytes = 0
        self.answer_s = 0.0

    def add(self, size: int, took_s: float) -> None:
        self.requests += 1
        self.bytes += size
        self.answer_s += took_s
        if self._around is not None:
            self._around.add(size, took_s)

    def include(self, other: "Traffic") -> None:
        self.requests += other.requests
        self.bytes += other.bytes
        self.answer_s += other.answer_s


_counted: ContextVar[Traffic | None] = ContextVar("counted", default=None)


@contextmanager
def counted() -> Iterator[Traffic]:
    """The calls of this block, and of tasks that begin in it. Blocks may be nested."""
    traffic = Traffic(_counted.get())
    token = _counted.set(traffic)
    try:
        yield traffic
    finally:
        _counted.reset(token)


def count(size: int, took_s: float) -> None:
    """`size` has the bytes of a request and of its answer, if there was one."""
    traffic = _counted.get()
    if traffic is not None:
        traffic.add(size, took_s)


def traffic_s(cost: Traffic) -> float:
    """The least pause for its requests and bytes."""
    return max(cost.requests / REQUESTS_PER_S, cost.bytes / BYTES_PER_S)


class Ask(Enum):
    """The value names what an answer may lack."""

    MOVES = "leaders and ISRs of topics that move"
    SIZES = "sizes"
    LOST = "lost brokers"
    CONFIGS = "throttles"
    THROTTLES = "throttles of moves"
    EVERYTHING = "everything"


PAUSES_S = {
    Ask.MOVES: (1.0, 5.0),
    Ask.SIZES: (1.0, 5.0),
    Ask.LOST: (5.0, 10.0),
    Ask.CONFIGS: (30.0, 60.0),
    Ask.THROTTLES: (5.0, 10.0),
    Ask.EVERYTHING: (30.0, 30.0),
}
"""The least pause while something moves, and at rest."""
HURRY_S: dict[Ask, float] = {Ask.THROTTLES: 1.0, Ask.EVERYTHING: 5.0}
"""The least pause where what is known may not hold any more: moves have begun or ended, brokers have come or gone."""


class Pace:
    """Times are seconds of any clock."""

    def __init__(self) -> None:
        self._asked: dict[Ask, tuple[float, float]] = {}
        self._took: dict[Ask, deque[float]] = {}

    def asked(self, what: Ask, now: float, cost: Traffic) -> None:
        """The last answer came at `now`."""
        took = self._took.setdefault(what, deque(maxlen=LAST))
        took.append(cost.answer_s)
        longest_s = LONGEST_S if len(took) == LAST else SOON_S
        pause_s = max(min(longest_s, min(took) / SHARE), traffic_s(cost))
        self._asked[what] = now, pause_s

    def due_in_s(self, what: Ask, now: float, *, moving: bool, hurry: bool = False) -> float:
        known = self._asked.get(what)
        if known is None:
            return 0.0
        at, pause_s = known
        moves_s, rest_s = PAUSES_S[what]
        least_s = moves_s if moving else rest_s
        if hurry:
            least_s = min(HURRY_S.get(what, least_s), least_s)
        return max(0.0, at + max(least_s, pause_s) - now)
