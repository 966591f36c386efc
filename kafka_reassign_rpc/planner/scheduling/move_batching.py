"""Start order in batches, within limits. A batch has one priority, so that urgent moves wait for no others.

A window of moves, which bounds the memory, gets as many open batches as it needs; each move goes into the one whose
time it extends least, since batches wait for the slowest broker; among equals into that in which its brokers have
least to do.

Tries other orders of a small plan if the first leaves brokers waiting.

A few hundred moves that keep all brokers equally busy take more than their bound: at the end some brokers have moves
left that others should have sent or received before. No simple rule avoids that (even without shared bandwidth it is
the open-shop problem: Gonzalez and Sahni, Open Shop Scheduling to Minimize Finish Time, 1976), so a local search
shifts some at random. The same moves give the same result.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice

import msgspec
import numpy as np
import numpy.typing as npt

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, partition_key, random_bits
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Link, PlannedMove, bytes_by_link
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyArrays, CopyTable, Floats, Ints, time_bound
from kafka_reassign_rpc.planner.scheduling.plan_simulation import simulate, soonest_caps

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


GOOD = 1.07
"""A plan stays that takes at most this many times its bound."""

_MOST_MOVES = 2_000
"""A larger plan stays: among so many moves brokers always find some."""

_MOVES_SIMULATED = 30_000
"""Over all tried orders: some seconds."""

_MOST_TRIES = 100
_SHIFTED = 0.1
_FAR = 0.2
"""The largest shift, as a share of the plan; most are half of it or less."""


def in_sooner_order(
    moves: Iterable[PlannedMove],
    network: NetworkLimits,
    limits: BatchLimits,
    caps: PlanCaps,
    *,
    chooses_cap: bool = False,
) -> Iterator[PlannedMove]:
    """The moves in their start order or in one that ends sooner.

    limits         of the batches into which they go, which change the order once more
    chooses_cap    the plan may have another cap per broker (`plan_simulation.estimate`)
    """
    rest = iter(moves)
    first = list(islice(rest, _MOST_MOVES + 1))
    if len(first) > _MOST_MOVES:
        return chain(first, rest)
    return iter(_Search(first, network, limits, caps, chooses_cap).soonest())


class _Search:
    def __init__(
        self, moves: list[PlannedMove], network: NetworkLimits, limits: BatchLimits, caps: PlanCaps, chooses_cap: bool
    ) -> None:
        self._moves, self._network, self._limits = moves, network, limits
        self._copies = self._copies_of(moves)
        self._good = GOOD * time_bound(self._copies, network).seconds
        if chooses_cap:
            self._caps, self._first = soonest_caps(self._copies, network, caps, self._good)
        else:
            self._caps, self._first = caps, simulate(self._copies, network, caps).seconds

    def soonest(self) -> list[PlannedMove]:
        count = len(self._moves)
        places = [place / count for place in range(count)]
        best, least = self._moves, self._first
        for turn in range(min(_MOST_TRIES, _MOVES_SIMULATED // max(1, count))):
            if least <= self._good:
                break
            shifted = [place + self._shift(move, turn) for place, move in zip(places, self._moves, strict=True)]
            order = sorted(range(count), key=lambda one: (self._moves[one].priority, shifted[one], one))
            tried = [self._moves[one] for one in order]
            seconds = simulate(self._copies_of(tried), self._network, self._caps).seconds
            if seconds < least:
                best, least, places = tried, seconds, shifted
        return best

    def _copies_of(self, moves: list[PlannedMove]) -> CopyArrays:
        batches = into_batches(moves, self._limits, self._network)
        return CopyTable(move for batch in batches for move in batch.moves).arrays()

    @staticmethod
    def _shift(move: PlannedMove, turn: int) -> float:
        """As a share of the plan: 0 for most moves."""
        key = partition_key(move.topic, move.partition)
        chance, one, other = (random_bits(key, 3 * turn + salt) / RANDOM_RANGE for salt in range(3))
        return (one + other - 1) * _FAR if chance < _SHIFTED else 0.0
