"""Who asked for the moves in flight and waiting, as events tell: of moves in flight no znode has the requester."""

from kafka_reassign_rpc.core.events import catalogue

MOST = 500_000
"""Moves whose requesters are kept."""

_BEGINS = frozenset({catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED})
_ENDS = frozenset({catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED})
_LEAVES = frozenset({catalogue.MOVE_WITHDRAWN, catalogue.ENTRY_REFUSED})
"""The queue."""


class MoveRequesters:
    """`note` takes every event of a partition, in the order of time. A partition may have a move in flight, and another
    one in the queue."""

    def __init__(self) -> None:
        self._moving: dict[tuple[str, int], str] = {}
        self._waiting: dict[tuple[str, int], str] = {}

    def note(self, event: str, topic: str, partition: int, who: str | None, principal: str | None) -> None:
        """`event`: its name in the catalogue. The rest are its fields."""
        move = topic, partition
        if event in _LEAVES:
            self._waiting.pop(move, None)
        elif event in _ENDS:
            self._moving.pop(move, None)
        elif event == catalogue.MOVE_WAITING:
            self._put(self._waiting, move, who)
        elif event in _BEGINS:
            queued_by = self._waiting.pop(move, None)
            self._put(self._moving, move, who if principal is not None or queued_by is None else queued_by)

    def _put(self, known: dict[tuple[str, int], str], move: tuple[str, int], who: str | None) -> None:
        if who is not None and len(self._moving) + len(self._waiting) < MOST:
            known[move] = who

    def clear(self) -> None:
        """A new term begins: what happened between the two is not known."""
        self._moving.clear()
        self._waiting.clear()

    def of(self, topic: str, partition: int) -> str | None:
        """Of the move in flight."""
        return self._moving.get((topic, partition))

    def of_waiting(self, topic: str, partition: int) -> str | None:
        """Of the move in the queue."""
        return self._waiting.get((topic, partition))
