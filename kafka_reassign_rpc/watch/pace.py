"""How often to ask: every second while something moves, slower at rest, and never so often that a question costs more
than its budget: `SHARE` of the time of whoever answers, `REQUESTS_PER_S` and `BYTES_PER_S`. What an answer takes stands
for what it costs: it costs no more. One that takes longer than `SHARE` of `LONGEST_S` has waited behind others."""

from enum import Enum

from kafka_reassign_rpc.client.traffic import Traffic

SHARE = 0.01
LONGEST_S = 60.0
REQUESTS_PER_S = 4
BYTES_PER_S = 250_000


class Ask(Enum):
    """What is asked."""

    MOVES = "moves"
    SIZES = "sizes"
    LOST = "lost brokers"
    CONFIGS = "configs"
    EVERYTHING = "everything"


PAUSES_S = {
    Ask.MOVES: (1.0, 5.0),
    Ask.SIZES: (1.0, 5.0),
    Ask.LOST: (5.0, 10.0),
    Ask.CONFIGS: (30.0, 60.0),
    Ask.EVERYTHING: (30.0, 30.0),
}
"""The least pause while something moves, and at rest."""


class Pace:
    """Times are seconds of any clock."""

    def __init__(self) -> None:
        self._asked: dict[Ask, tuple[float, float]] = {}

    def asked(self, what: Ask, now: float, cost: Traffic) -> None:
        """The last answer came at `now`, at this cost."""
        self._asked[what] = now, _pause_s(cost)

    def due_in_s(self, what: Ask, now: float, *, moving: bool) -> float:
        """0: now."""
        known = self._asked.get(what)
        if known is None:
            return 0.0
        at, pause_s = known
        moves_s, rest_s = PAUSES_S[what]
        return max(0.0, at + max(moves_s if moving else rest_s, pause_s) - now)


def _pause_s(cost: Traffic) -> float:
    """How long this much lasts in the budget."""
    return max(min(LONGEST_S, cost.answer_s / SHARE), cost.requests / REQUESTS_PER_S, cost.bytes / BYTES_PER_S)
