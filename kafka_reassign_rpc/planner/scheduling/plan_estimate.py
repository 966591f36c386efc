"""How long a plan takes, why, and what another cap or throttle would gain."""

from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.planner.scheduling.copy_table import Bound, CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Caps, Simulated, simulate, simulate_batches

_MORE_TRIED_UP_TO = 50_000
"""Moves of a plan for which more than one other cap is tried: caps matter on small clusters."""
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

    carried_out    the moves start as others end
    in_batches     each batch waits for the one before
    bound          no order takes less
    """

    carried_out: Simulated
    in_batches: Simulated
    bound: Bound
    gains: tuple[Gain, ...]


def estimate(table: CopyTable, network: NetworkLimits, caps: Caps) -> PlanEstimate:
    """Simulate a plan as `submit` carries it out, in batches, and with other caps and throttles.

    A higher cap is doubled for as long as that is worth while.
    """
    copies = table.arrays()
    carried_out = simulate(copies, network, caps)
    gains = _gains(copies, network, caps, carried_out.seconds)
    return PlanEstimate(carried_out, simulate_batches(table, network), time_bound(copies, network), tuple(gains))


def _gains(copies: CopyArrays, network: NetworkLimits, caps: Caps, seconds: float) -> list[Gain]:
    """seconds: the time with these caps."""

    def with_cap(cap: int) -> Gain:
        return Gain("moves_per_broker", cap, simulate(copies, network, caps._replace(per_broker=cap)).seconds)

    is_small, found = len(copies.sizes) <= _MORE_TRIED_UP_TO, list[Gain]()
    if caps.per_broker > 0:
        best = tried = with_cap(2 * caps.per_broker)
        while is_small and tried.seconds < WORTH * seconds:
            best, seconds = tried, tried.seconds
            tried = with_cap(2 * tried.value)
        found.append(best)
    if caps.per_broker > 1 and is_small:
        found.append(with_cap(caps.per_broker // 2))
    if network.throttle >= 0:
        twice = msgspec.structs.replace(network, throttle=2 * network.throttle)
        found.append(Gain("throttle", twice.throttle, simulate(copies, twice, caps).seconds))
    return found
