"""In which order moves should start where only so many may be under way at a time."""

from collections.abc import Iterator

from kafka_reassign_rpc.planner.model import Move


class Turns:
    """By priority, and within one: what brings each broker its first replica, then its second one, and so on.

    So the moves that are under way, of which there may be few, keep all brokers equally busy.
    """

    def __init__(self) -> None:
        self._given: dict[tuple[int, int], int] = {}
        self._turns: dict[tuple[int, int], list[Move]] = {}

    def add(self, move: Move, priority: int) -> None:
        turn = 0
        for broker in move.target:
            if broker not in move.origin:
                given = self._given.get((priority, broker), 0)
                self._given[priority, broker] = given + 1
                turn = max(turn, given)
        self._turns.setdefault((priority, turn), []).append(move)

    def moves(self) -> Iterator[Move]:
        """All that were added; those of one turn in the order in which they were."""
        for turn in sorted(self._turns):
            yield from self._turns[turn]
