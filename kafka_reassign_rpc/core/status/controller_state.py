"""What the controller answers about itself and about brokers, besides the status document."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.config_values import MOST_BROKERS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE


class BrokerState(msgspec.Struct, frozen=True):
    """`leased_rate`: bytes/s of throttle leases, None without one."""

    leased_rate: int | None = None
    is_shutting_down: bool = False


class ControllerState(msgspec.Struct, frozen=True):
    """What the controller answers about itself and about brokers, besides moves.

    version   that of the controller's software
    since     when it was elected, ms since 1970
    brokers   those with a throttle lease or in controlled shutdown
    """

    version: str
    epoch: int
    since: int
    brokers: Mapping[int, BrokerState]


def broker_states(cluster: Cluster) -> dict[int, BrokerState]:
    leases, shutting_down = cluster.leases, cluster.soft.shutting_down
    return {
        broker: BrokerState(None if (rate := leases.rate(broker)) == NO_RATE else rate, broker in shutting_down)
        for broker in sorted({*leases.brokers, *shutting_down})[:MOST_BROKERS]
    }
