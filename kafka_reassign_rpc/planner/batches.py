"""Moves in batches: in each, no broker copies for more than so many moves and no more than so many bytes.

Moves come in the order in which they should start. Each goes into the first open batch that has room for it; batches
of one priority only, so that nothing urgent waits for what is not. Memory is bounded by the open batches.
"""

from collections.abc import Iterable, Iterator

import msgspec

from kafka_reassign_rpc.planner.values import PlannedMove

_OPEN = 32
"""Batches that may still get moves."""


class Caps(msgspec.Struct, frozen=True):
    """Limits of one batch; -1: none.

    moves_per_broker, bytes_per_broker    counted on every broker that a move copies to, and on the one it copies from
    bytes_per_batch                       copied in all
    moves_per_batch                       also bounds what copies nothing, as a change of the preferred leader
    A single move that is larger than a limit on bytes is a batch by itself.
    """

    moves_per_broker: int = 10
    bytes_per_broker: int = -1
    bytes_per_batch: int = -1
    moves_per_batch: int = 1000


class MoveBatch(msgspec.Struct):
    """A batch in the making. received, sent: bytes by broker."""

    number: int
    priority: int
    moves: list[PlannedMove] = []
    bytes: int = 0
    received: dict[int, int] = {}
    sent: dict[int, int] = {}
    counts: dict[int, int] = {}

    def seconds(self, bandwidth: int) -> float:
        """How long it takes when each broker sends and receives so many bytes a second."""
        busiest = max((*self.received.values(), *self.sent.values()), default=0)
        return busiest / bandwidth

    def takes(self, move: PlannedMove, caps: Caps) -> bool:
        if not self.moves:
            return True
        if len(self.moves) >= caps.moves_per_batch:
            return False
        if move.bytes and 0 <= caps.bytes_per_batch < self.bytes + move.bytes:
            return False
        source, targets, each = copying(move)
        for broker in targets:
            if _exceeds(self.counts.get(broker, 0) + 1, caps.moves_per_broker):
                return False
            if each and _exceeds(self.received.get(broker, 0) + each, caps.bytes_per_broker):
                return False
        if not targets or source < 0:
            return True
        return not (
            _exceeds(self.counts.get(source, 0) + 1, caps.moves_per_broker)
            or (move.bytes and _exceeds(self.sent.get(source, 0) + move.bytes, caps.bytes_per_broker))
        )

    def add(self, move: PlannedMove) -> None:
        self.moves.append(move)
        self.bytes += move.bytes
        source, targets, each = copying(move)
        for broker in targets:
            self.counts[broker] = self.counts.get(broker, 0) + 1
            self.received[broker] = self.received.get(broker, 0) + each
        if targets and source >= 0:
            self.counts[source] = self.counts.get(source, 0) + 1
            self.sent[source] = self.sent.get(source, 0) + move.bytes


def _exceeds(value: int, limit: int) -> bool:
    return 0 <= limit < value


def copying(move: PlannedMove) -> tuple[int, tuple[int, ...], int]:
    """Who sends (-1: nobody leads it), who receives, and how many bytes each of them receives."""
    targets = tuple(broker for broker in move.target if broker not in move.origin)
    return move.leader, targets, move.bytes // len(targets) if targets else 0


def batches(moves: Iterable[PlannedMove], caps: Caps) -> Iterator[MoveBatch]:
    """The moves, which come in order of priority, in batches; each as soon as it is complete, in their order."""
    open_batches: list[MoveBatch] = []
    number = 0
    for move in moves:
        if open_batches and open_batches[0].priority != move.priority:
            yield from open_batches
            open_batches = []
        found = next((batch for batch in open_batches if batch.takes(move, caps)), None)
        if found is None:
            if len(open_batches) == _OPEN:
                yield open_batches.pop(0)
            number += 1
            found = MoveBatch(number, move.priority)
            open_batches.append(found)
        found.add(move)
    yield from open_batches
