"""How often to ask: every second while something moves, slower at rest, and never so often that a question costs more
than its budget: `SHARE` of the time of the node that answers, `REQUESTS_PER_S` and `BYTES_PER_S`. The quickest of the
last answers shows what one costs: a slower one has waited behind others.
"""

from collections import deque
from enum import Enum

from kafka_reassign_rpc.client.traffic import Traffic

SHARE = 0.01
LAST = 5
"""How many answers are kept: the quickest of them counts."""
LONGEST_S, SOON_S = 60.0, 5.0
"""The longest pause for slow answers: once there were `LAST` of them, and before."""
REQUESTS_PER_S = 4
BYTES_PER_S = 250_000


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
