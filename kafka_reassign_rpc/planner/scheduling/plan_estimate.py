"""How long a plan takes, why, and what another cap or throttle would gain."""

from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.planner.scheduling.copy_table import Bound, CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Caps, Simulated, simulate, simulate_batches

_FEWER_TRIED_UP_TO = 50_000
"""Moves of a plan for which a lower cap is tried too: it matters on small clusters."""


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
    """Simulate a plan as `submit` carries it out, in batches, and with other caps and throttles."""
    copies = table.arrays()
    return PlanEstimate(
        simulate(copies, network, caps), simulate_batches(table, network), time_bound(copies, network),
        tuple(_gains(copies, network, caps)),
    )  # fmt: skip


def _gains(copies: CopyArrays, network: NetworkLimits, caps: Caps) -> list[Gain]:
    tried = [2 * caps.per_broker] if caps.per_broker > 0 else []
    if caps.per_broker > 1 and len(copies.sizes) <= _FEWER_TRIED_UP_TO:
        tried.append(caps.per_broker // 2)
    found = [
        Gain("moves_per_broker", cap, simulate(copies, network, caps._replace(per_broker=cap)).seconds) for cap in tried
    ]
    if network.throttle >= 0:
        twice = msgspec.structs.replace(network, throttle=2 * network.throttle)
        found.append(Gain("throttle", twice.throttle, simulate(copies, twice, caps).seconds))
    return found
