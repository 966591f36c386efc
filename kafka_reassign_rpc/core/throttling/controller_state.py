"""What the controller tells of itself and of brokers beside its moves. Controller, API and client use it."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE

MOST_BROKERS = 5_000
"""In one answer."""


class BrokerState(NamedTuple):
    """What only the controller knows of a broker.

    leased_rate       bytes/s that the throttle leases of moves ask for on it; None: it has none
    is_shutting_down  whether it is in controlled shutdown
    """

    leased_rate: int | None = None
    is_shutting_down: bool = False


class ControllerState(NamedTuple):
    """What the controller tells of itself and of brokers.

    version  of the controller, which has this `epoch`
    since    when it was elected, ms since 1970
    brokers  those with a throttle lease or in controlled shutdown, by id
    """

    version: str
    epoch: int
    since: int
    brokers: Mapping[int, BrokerState]


def broker_states(cluster: Cluster) -> dict[int, BrokerState]:
    """The brokers with a throttle lease or in controlled shutdown, by id: `MOST_BROKERS` at the most."""
    leases, shutting_down = cluster.leases, cluster.soft.shutting_down
    return {
        broker: BrokerState(None if (rate := leases.rate(broker)) == NO_RATE else rate, broker in shutting_down)
        for broker in sorted({*leases.brokers, *shutting_down})[:MOST_BROKERS]
    }
