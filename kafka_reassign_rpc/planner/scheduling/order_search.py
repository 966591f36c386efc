"""Tries other orders of a small plan if the first leaves brokers waiting.

A few hundred moves that keep all brokers equally busy take more than their bound: at the end some brokers have moves
left that others should have sent or received before. No simple rule avoids that (even without shared bandwidth it is
the open-shop problem: Gonzalez and Sahni, Open Shop Scheduling to Minimize Finish Time, 1976), so a local search
shifts some at random. The same moves give the same result.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, partition_key, random_bits
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.move_batching import into_batches
from kafka_reassign_rpc.planner.scheduling.plan_estimate import soonest_caps
from kafka_reassign_rpc.planner.scheduling.plan_simulation import simulate

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
    chooses_cap    the plan may have another cap per broker (`plan_estimate.estimate`)
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
