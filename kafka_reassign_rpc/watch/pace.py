"""How often to ask: every second while something moves, slower at rest, and never so often that answers cost more than
`SHARE` of the time of whoever gives them. What an answer takes stands for what it costs: it costs no more."""

from enum import Enum

SHARE = 0.01
LONGEST_S = 60.0


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

    def asked(self, what: Ask, now: float, took_s: float) -> None:
        """An answer came at `now`, after so long."""
        self._asked[what] = now, took_s

    def due_in_s(self, what: Ask, now: float, *, moving: bool) -> float:
        """0: now."""
        known = self._asked.get(what)
        if known is None:
            return 0.0
        at, took_s = known
        moves_s, rest_s = PAUSES_S[what]
        pause_s = max(moves_s if moving else rest_s, min(LONGEST_S, took_s / SHARE))
        return max(0.0, at + pause_s - now)
