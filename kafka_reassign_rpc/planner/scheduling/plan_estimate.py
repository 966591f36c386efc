from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.copy_table import Bound, CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Simulated, simulate, simulate_batches

_MORE_TRIED_UP_TO = 20_000
"""Larger plans try only one other cap: caps matter on small clusters."""
_RAISED = (1.0, 2.0, 4.0, 8.0)
"""More moves at a time keep more brokers busy."""
_LOWERED = (0.6, 0.5, 0.4, 0.3, 0.2)
"""With fewer at a time a large move has more of the network, if the end waits for it alone. They come last, the fewest
at the end: if bytes are few, starts and ends of moves take the time, and the simulation does not count those.
"""
_CHOSEN_AMONG = (*_RAISED, *_LOWERED)
WORTH = 0.98
"""A gain must bring the time below this share."""


class Gain(NamedTuple):
    """Seconds with another `setting`: moves_per_broker, moves_per_batch (in all), or throttle (bytes/s of each
    broker).
    """

    setting: str
    value: int
    seconds: float


class PlanEstimate(NamedTuple):
    """caps           those that were given, or better ones
    carried_out    moves start as others end
    in_batches     each batch waits for the one before
    bound          no order takes less
    """

    caps: PlanCaps
    carried_out: Simulated
    in_batches: Simulated
    bound: Bound
    gains: tuple[Gain, ...]


def estimate(table: CopyTable, network: NetworkLimits, caps: PlanCaps, *, chooses_cap: bool = False) -> PlanEstimate:
    """`chooses_cap` takes another cap per broker if that is worth it."""
    tries = _Tries(table.arrays(), network, caps)
    cap = tries.best_cap(caps.per_broker, _CHOSEN_AMONG) if chooses_cap else caps.per_broker
    return PlanEstimate(
        caps._replace(per_broker=cap),
        tries.with_cap(cap),
        simulate_batches(table, network),
        tries.bound,
        tuple(tries.gains(cap)),
    )


def soonest_caps(copies: CopyArrays, network: NetworkLimits, caps: PlanCaps, good: float) -> tuple[PlanCaps, float]:
    """The best of those that `estimate` may choose, or the first with which the plan takes `good` seconds at most. And
    how long it takes.
    """
    tries = _Tries(copies, network, caps)
    caps_per_broker = tries.multiples(caps.per_broker, _CHOSEN_AMONG)
    found = next((cap for cap in caps_per_broker if tries.with_cap(cap).seconds <= good), None)
    if found is None:
        found = min(caps_per_broker, key=lambda cap: tries.with_cap(cap).seconds)
    return caps._replace(per_broker=found), tries.with_cap(found).seconds


class _Tries:
    def __init__(self, copies: CopyArrays, network: NetworkLimits, caps: PlanCaps) -> None:
        self._copies, self._network, self._caps = copies, network, caps
        self.bound = time_bound(copies, network)
        self._found: dict[PlanCaps, Simulated] = {}
        self._is_small = len(copies.sizes) <= _MORE_TRIED_UP_TO

    def with_cap(self, cap: int) -> Simulated:
        return self._with(self._caps._replace(per_broker=cap))

    def _with(self, caps: PlanCaps) -> Simulated:
        if caps not in self._found:
            self._found[caps] = simulate(self._copies, self._network, caps)
        return self._found[caps]

    def best_cap(self, cap: int, times: Sequence[float]) -> int:
        return self._best([self._caps._replace(per_broker=one) for one in self.multiples(cap, times)]).per_broker

    def multiples(self, cap: int, times: Sequence[float]) -> list[int]:
        """A large plan, or one without a cap, keeps it."""
        return [max(1, int(cap * one)) for one in times] if self._is_small and cap > 0 else [cap]

    def _best(self, caps: Sequence[PlanCaps]) -> PlanCaps:
        least = self.bound.seconds
        for one in caps:
            if WORTH * self._with(one).seconds <= least:
                return one
        least = min(self._with(one).seconds for one in caps)
        return next(one for one in caps if WORTH * self._with(one).seconds <= least)

    def gains(self, cap: int) -> Iterator[Gain]:
        """At its bound a plan gains by another bound alone."""
        caps = self._caps._replace(per_broker=cap)
        if WORTH * self._with(caps).seconds > self.bound.seconds:
            if cap > 0:
                yield self._gain_of(self.best_cap(2 * cap, _RAISED))
            if cap > 1 and self._is_small:
                yield self._gain_of(cap // 2)
            yield from self._gain_in_all(caps)
        if self._network.throttle >= 0:
            twice = msgspec.structs.replace(self._network, throttle=2 * self._network.throttle)
            yield Gain("throttle", twice.throttle, simulate(self._copies, twice, caps).seconds)

    def _gain_of(self, cap: int) -> Gain:
        return Gain("moves_per_broker", cap, self.with_cap(cap).seconds)

    def _gain_in_all(self, caps: PlanCaps) -> Iterator[Gain]:
        """There is one if the limit keeps brokers waiting that have room."""
        now = self._with(caps)
        if not now.reached_in_all:
            return
        times = _RAISED if self._is_small else _RAISED[:1]
        best = self._best([caps._replace(in_all=int(2 * caps.in_all * one)) for one in times])
        if self._with(best).seconds < WORTH * now.seconds:
            yield Gain("moves_per_batch", best.in_all, self._with(best).seconds)
