"""Who asked for the moves in flight and waiting, as events tell: of moves in flight no znode has the requester."""

from kafka_reassign_rpc.core.events import catalogue

MOST = 500_000
"""Moves whose requesters are kept."""

_BEGINS = frozenset({catalogue.MOVE_WAITING, catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED})
_ENDS = frozenset(
    {catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED, catalogue.MOVE_WITHDRAWN, catalogue.ENTRY_REFUSED}
)


class MoveRequesters:
    """`note` takes every event of a partition, in the order of time."""

    def __init__(self) -> None:
        self._who: dict[tuple[str, int], str] = {}

    def note(self, event: str, topic: str, partition: int, who: str | None, principal: str | None) -> None:
        """`event`: its name in the catalogue. The rest are its fields."""
        move = topic, partition
        if event in _ENDS:
            self._who.pop(move, None)
        elif event in _BEGINS and who is not None and len(self._who) < MOST:
            starts_for_others = event == catalogue.MOVE_STARTED and principal is None
            if not starts_for_others or move not in self._who:  # what has waited keeps who has queued it
                self._who[move] = who

    def clear(self) -> None:
        """A new term begins: what happened between the two is not known."""
        self._who.clear()

    def of(self, topic: str, partition: int) -> str | None:
        return self._who.get((topic, partition))
