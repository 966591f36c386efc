"""Start order in batches, within limits. A batch has one priority, so that urgent moves wait for no others.

A window of moves, which bounds the memory, gets as many open batches as it needs; each move goes into the one whose
time it extends least, since batches wait for the slowest broker; among equals into that in which its brokers have
least to do.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count

import msgspec
import numpy as np
import numpy.typing as npt

from kafka_reassign_rpc.planner.goals_and_options import BatchLimits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Link, PlannedMove, bytes_by_link
from kafka_reassign_rpc.planner.scheduling.fair_rates import Floats, Ints

_OPEN_BATCHES = 32
"""A move that needs more ends a window."""

_ROW_MORE = (0, 1), (0, 0)
_Linked = tuple[PlannedMove, dict[Link, int]]
"""A move with its `bytes_by_link`."""


class MoveBatch(msgspec.Struct):
    number: int
    priority: int
    moves: list[PlannedMove] = []
    bytes: int = 0
    received: dict[int, int] = {}
    sent: dict[int, int] = {}

    def busiest(self) -> tuple[int | None, int]:
        """The broker that sends or receives most, and its bytes; among equals the lowest id."""
        most = max((*self.received.values(), *self.sent.values()), default=0)
        brokers = (broker for of in (self.received, self.sent) for broker, size in of.items() if size == most)
        return (min(brokers) if most else None), most

    def add(self, move: PlannedMove, links: dict[Link, int]) -> None:
        self.moves.append(move)
        self.bytes += move.bytes
        for link, amount in links.items():
            of = self.sent if link.sends else self.received
            of[link.broker] = of.get(link.broker, 0) + amount


def into_batches(moves: Iterable[PlannedMove], limits: BatchLimits, network: NetworkLimits) -> Iterator[MoveBatch]:
    """Moves must come in order of priority."""
    numbers = count(1)
    for window in _windows(moves, limits):
        for packed in window.packed(network):
            batch = MoveBatch(next(numbers), packed[0][0].priority)
            for move, links in packed:
                batch.add(move, links)
            yield batch


def _windows(moves: Iterable[PlannedMove], limits: BatchLimits) -> Iterator["_Window"]:
    window = _Window(limits)
    for move in moves:
        if not window.has_room(move):
            yield window
            window = _Window(limits)
        window.add(move)
    yield window


class _Window:
    """Of one priority."""

    def __init__(self, limits: BatchLimits) -> None:
        self.moves: list[_Linked] = []
        self._limits = limits
        self._needed = 0
        self._bytes = 0
        self._moves_of = Counter[int]()
        self._bytes_of = Counter[Link]()

    def has_room(self, move: PlannedMove) -> bool:
        return not self.moves or (self._needed <= _OPEN_BATCHES and self.moves[0][0].priority == move.priority)

    def add(self, move: PlannedMove) -> None:
        limits, links = self._limits, bytes_by_link(move)
        self.moves.append((move, links))
        self._bytes += move.bytes
        self._need(len(self.moves), limits.moves_per_batch)
        self._need(self._bytes, limits.bytes_per_batch)
        for link, amount in links.items():
            self._moves_of[link.broker] += 1
            self._bytes_of[link] += amount
            self._need(self._moves_of[link.broker], limits.moves_per_broker)
            self._need(self._bytes_of[link], limits.bytes_per_broker)

    def _need(self, amount: int, limit: int) -> None:
        if limit > 0:
            self._needed = max(self._needed, -(-amount // limit))

    def packed(self, network: NetworkLimits) -> list[list[_Linked]]:
        batches = max(1, min(self._needed, len(self.moves)))
        packing = _Packing(list(self._bytes_of), batches, self._limits, network)
        for move, of_move in self.moves:
            packing.add(move, of_move)
        return [moves for moves in packing.moves if moves]


class _Packing:
    """Each array has a row for each open batch, a column for each link or broker."""

    def __init__(self, links: list[Link], batches: int, limits: BatchLimits, network: NetworkLimits) -> None:
        self.moves: list[list[_Linked]] = [[] for _ in range(batches)]
        self._limits = limits
        self._column = {link: column for column, link in enumerate(links)}
        brokers = sorted({link.broker for link in links})
        self._broker = {broker: column for column, broker in enumerate(brokers)}
        self._rates = np.array([float(network.rate(link.broker)) for link in links])
        self._bytes_of = np.zeros((batches, len(links)))
        self._moves_of: Ints = np.zeros((batches, len(brokers)), np.intp)
        self._bytes = np.zeros(batches)
        self._count: Ints = np.zeros(batches, np.intp)
        self._seconds = np.zeros(batches)

    def add(self, move: PlannedMove, links: dict[Link, int]) -> None:
        columns = [self._column[link] for link in links]
        brokers = [self._broker[link.broker] for link in links]
        amounts = np.array([*links.values()], np.float64)
        sums = self._bytes_of[:, columns] + amounts
        room = self._room(move, brokers, sums)
        if not room.any():
            self._open()
            sums, room = np.vstack((sums, amounts)), np.append(room, True)
        ends = (sums / self._rates[columns]).max(axis=1, initial=0)
        longer = np.where(room, np.maximum(ends - self._seconds, 0), np.inf)
        place = int(np.argmin(np.where(longer <= longer.min(), ends, np.inf)))
        self.moves[place].append((move, links))
        self._bytes_of[place, columns] = sums[place]
        self._moves_of[place, brokers] += 1
        self._bytes[place] += move.bytes
        self._count[place] += 1
        self._seconds[place] = max(self._seconds[place], ends[place])

    def _room(self, move: PlannedMove, brokers: list[int], sums: Floats) -> npt.NDArray[np.bool_]:
        limits = self._limits
        room: npt.NDArray[np.bool_] = self._count < limits.moves_per_batch
        if limits.moves_per_broker >= 0:
            room &= (self._moves_of[:, brokers] < limits.moves_per_broker).all(axis=1)
        if move.bytes and limits.bytes_per_batch >= 0:
            room &= self._bytes + move.bytes <= limits.bytes_per_batch
        if move.bytes and limits.bytes_per_broker >= 0:
            room &= (sums <= limits.bytes_per_broker).all(axis=1)
        room |= self._count == 0
        return room

    def _open(self) -> None:
        self.moves.append([])
        self._bytes_of, self._moves_of = np.pad(self._bytes_of, _ROW_MORE), np.pad(self._moves_of, _ROW_MORE)
        self._bytes, self._count = np.append(self._bytes, 0.0), np.append(self._count, 0)
        self._seconds = np.append(self._seconds, 0.0)
