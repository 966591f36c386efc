"""How long a plan takes, why, and what another cap or throttle would gain."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.planner.scheduling.copy_table import Bound, CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Caps, Simulated, simulate, simulate_batches

_MORE_TRIED_UP_TO = 20_000
"""Moves of a plan for which more than one other cap is tried: caps matter on small clusters."""
_DOUBLINGS = 3
"""A cap is raised to eight times itself at most."""
WORTH = 0.98
"""A gain is worth while that brings the time below this share."""


class Gain(NamedTuple):
    """The time of the plan in seconds if one thing were different.

    setting    moves_per_broker, or throttle (bytes/s of each broker)
    value      its other value
    """

    setting: str
    value: int
    seconds: float


class PlanEstimate(NamedTuple):
    """What the simulation of a plan tells.

    caps           those that were given, or raised
    carried_out    the moves start as others end, with these caps
    in_batches     each batch waits for the one before
    bound          no order takes less
    """

    caps: Caps
    carried_out: Simulated
    in_batches: Simulated
    bound: Bound
    gains: tuple[Gain, ...]


def estimate(table: CopyTable, network: NetworkLimits, caps: Caps, *, raises_cap: bool = False) -> PlanEstimate:
    """Simulate a plan as `submit` carries it out, in batches, and with other caps and throttles.

    raises_cap    the cap per broker is doubled once, twice or three times where that is worth while
    """
    copies = table.arrays()
    tries = _Tries(copies, network, caps)
    cap = tries.best_cap(caps.per_broker) if raises_cap else caps.per_broker
    return PlanEstimate(
        caps._replace(per_broker=cap),
        tries.with_cap(cap),
        simulate_batches(table, network),
        time_bound(copies, network),
        tuple(tries.gains(cap)),
    )


class _Tries:
    """Simulates a plan with one cap per broker and another, each of them once."""

    def __init__(self, copies: CopyArrays, network: NetworkLimits, caps: Caps) -> None:
        self._copies, self._network, self._caps = copies, network, caps
        self._found: dict[int, Simulated] = {}
        self._is_small = len(copies.sizes) <= _MORE_TRIED_UP_TO

    def with_cap(self, cap: int) -> Simulated:
        if cap not in self._found:
            self._found[cap] = simulate(self._copies, self._network, self._caps._replace(per_broker=cap))
        return self._found[cap]

    def best_cap(self, cap: int) -> int:
        """This cap, doubled up to three times where that is worth while. A large plan has no other tried."""
        if not self._is_small or cap <= 0:
            return cap
        caps = [cap << times for times in range(_DOUBLINGS + 1)]
        least = min(self.with_cap(one).seconds for one in caps)
        return next(one for one in caps if WORTH * self.with_cap(one).seconds <= least)

    def gains(self, cap: int) -> Iterator[Gain]:
        """With more moves at a time, with half as many, with twice the throttle."""
        if cap > 0:
            yield self._gain_of(self.best_cap(2 * cap))
        if cap > 1 and self._is_small:
            yield self._gain_of(cap // 2)
        if self._network.throttle >= 0:
            twice = msgspec.structs.replace(self._network, throttle=2 * self._network.throttle)
            caps = self._caps._replace(per_broker=cap)
            yield Gain("throttle", twice.throttle, simulate(self._copies, twice, caps).seconds)

    def _gain_of(self, cap: int) -> Gain:
        return Gain("moves_per_broker", cap, self.with_cap(cap).seconds)
