"""Moves in batches: limits on moves and bytes, for each broker and for each batch.

Moves come in the order in which they should start. Each goes into the first open batch that has room for it. A batch
holds moves of one priority only, so that an urgent move never waits for one that is not. Memory is bounded by the
open batches.
"""

from collections.abc import Iterable, Iterator

import msgspec

from kafka_reassign_rpc.planner.plan_result import PlannedMove

_OPEN_BATCHES = 32
"""Batches that may still get moves."""


class BatchLimits(msgspec.Struct, frozen=True):
    """Limits of one batch; -1: none.

    moves_per_broker, bytes_per_broker    of each broker, as a receiver and as a sender of replicas
    bytes_per_batch                       bytes that the batch copies
    moves_per_batch                       also counts moves that copy nothing, as a change of the preferred leader
    A single move that is larger than a limit on bytes gets a batch of its own.
    """

    moves_per_broker: int = 10
    bytes_per_broker: int = -1
    bytes_per_batch: int = -1
    moves_per_batch: int = 1000


class MoveBatch(msgspec.Struct):
    """A batch that is being filled. received, sent: bytes by broker; counts: moves by broker."""

    number: int
    priority: int
    moves: list[PlannedMove] = []
    bytes: int = 0
    received: dict[int, int] = {}
    sent: dict[int, int] = {}
    counts: dict[int, int] = {}

    def busiest(self) -> tuple[int | None, int]:
        """The broker that sends or receives most bytes, and how many; of several the one with the lowest id."""
        most = max((*self.received.values(), *self.sent.values()), default=0)
        brokers = (broker for of in (self.received, self.sent) for broker, size in of.items() if size == most)
        return (min(brokers) if most else None), most

    def has_room(self, move: PlannedMove, limits: BatchLimits) -> bool:
        if not self.moves:
            return True
        if len(self.moves) >= limits.moves_per_batch:
            return False
        if move.bytes and 0 <= limits.bytes_per_batch < self.bytes + move.bytes:
            return False
        sender, receivers, each = sender_and_receivers(move)
        for broker in receivers:
            if _exceeds(self.counts.get(broker, 0) + 1, limits.moves_per_broker):
                return False
            if each and _exceeds(self.received.get(broker, 0) + each, limits.bytes_per_broker):
                return False
        if not receivers or sender < 0:
            return True
        return not (
            _exceeds(self.counts.get(sender, 0) + 1, limits.moves_per_broker)
            or (move.bytes and _exceeds(self.sent.get(sender, 0) + move.bytes, limits.bytes_per_broker))
        )

    def add(self, move: PlannedMove) -> None:
        self.moves.append(move)
        self.bytes += move.bytes
        sender, receivers, each = sender_and_receivers(move)
        for broker in receivers:
            self.counts[broker] = self.counts.get(broker, 0) + 1
            self.received[broker] = self.received.get(broker, 0) + each
        if receivers and sender >= 0:
            self.counts[sender] = self.counts.get(sender, 0) + 1
            self.sent[sender] = self.sent.get(sender, 0) + move.bytes


def _exceeds(value: int, limit: int) -> bool:
    return 0 <= limit < value


def sender_and_receivers(move: PlannedMove) -> tuple[int, tuple[int, ...], int]:
    """The broker that sends (-1: none), the brokers that receive a replica, and the bytes that each of these gets."""
    receivers = tuple(broker for broker in move.target if broker not in move.original)
    return move.sender, receivers, move.bytes // len(receivers) if receivers else 0


def into_batches(moves: Iterable[PlannedMove], limits: BatchLimits) -> Iterator[MoveBatch]:
    """The moves, which come in order of priority, in batches: each as soon as it is complete, in order."""
    open_batches: list[MoveBatch] = []
    number = 0
    for move in moves:
        if open_batches and open_batches[0].priority != move.priority:
            yield from open_batches
            open_batches = []
        found = next((batch for batch in open_batches if batch.has_room(move, limits)), None)
        if found is None:
            if len(open_batches) == _OPEN_BATCHES:
                yield open_batches.pop(0)
            number += 1
            found = MoveBatch(number, move.priority)
            open_batches.append(found)
        found.add(move)
    yield from open_batches
