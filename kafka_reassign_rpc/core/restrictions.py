"""Restrictions on new moves, whatever their route: reassignments disabled (KIP-236), and changes of replication factor.

Reassignments are disabled while `/admin/reassign_cancel` exists, or while the cluster-wide dynamic config
`partition.reassignments.enabled` is false. Then every new target of a client is refused with POLICY_VIOLATION, and
targets in znodes wait. Cancels go through.

The rule on replication factors (`partition.reassignments.replication.factor.change.allowed`) holds for every target,
whatever the request says (KIP-860). The cluster-wide dynamic config takes precedence over the server's own setting.

Caps on moves in flight: see `core.reassignment.in_flight_caps`.
"""

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, flag, number
from kafka_reassign_rpc.core.healing.healing_settings import Healing, settings_of
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.state.cluster import Cluster

ENABLED = "partition.reassignments.enabled"
REPLICATION_FACTOR_CHANGE_ALLOWED = "partition.reassignments.replication.factor.change.allowed"
MAX_PER_BROKER = "partition.reassignments.max.per.broker"
MAX_PER_CLUSTER = "partition.reassignments.max.per.cluster"
MAX_BYTES_IN_FLIGHT = "partition.reassignments.max.bytes.in.flight"
DISABLING_ZNODE = "/admin/reassign_cancel"


class InFlightCaps(msgspec.Struct, frozen=True):
    """Caps on what is in flight at a time; -1: none. `repairs`: moves of repairs (KIP-46)."""

    per_broker: int = -1
    per_cluster: int = -1
    bytes_in_flight: int = -1
    repairs: int = -1

    @property
    def unlimited(self) -> bool:
        return self.per_broker < 0 and self.per_cluster < 0 and self.bytes_in_flight < 0


class Rules(msgspec.Struct, frozen=True):
    """The server's own settings. `sizes_sampled`: the server asks brokers for sizes of partitions that move or wait."""

    replication_factor_change_allowed: bool = True
    limits: InFlightCaps = InFlightCaps()
    sizes_sampled: bool = False
    healing: Healing = Healing()


NO_RULES = Rules()


def reassignments_disabled(cluster: Cluster) -> KafkaError | None:
    """Why no new move may start, or None where one may."""
    if cluster.disabled_by_znode:
        reason = f"{DISABLING_ZNODE} exists"
    elif not _flag(cluster, ENABLED, default=True):
        reason = f"{ENABLED}=false is set for the cluster"
    else:
        return None
    return PolicyViolation(f"No reassignment may be started: {reason}. Cancellations are still possible.")


def replication_factor_may_change(cluster: Cluster, rules: Rules) -> bool:
    """Whether the rule allows a target of another size."""
    return _flag(cluster, REPLICATION_FACTOR_CHANGE_ALLOWED, default=rules.replication_factor_change_allowed)


def limit_settings(limits: InFlightCaps) -> dict[str, int]:
    """The caps by the names of their settings."""
    return {
        MAX_PER_BROKER: limits.per_broker,
        MAX_PER_CLUSTER: limits.per_cluster,
        MAX_BYTES_IN_FLIGHT: limits.bytes_in_flight,
    }


def limits(cluster: Cluster, rules: Rules) -> InFlightCaps:
    """The caps in force: the cluster-wide dynamic configs, else the server's settings."""
    per_broker, per_cluster, in_flight = (
        _number(cluster, name, value) for name, value in limit_settings(rules.limits).items()
    )
    return InFlightCaps(per_broker, per_cluster, in_flight, settings_of(cluster, rules.healing)[0].chunk)


def with_reason(error: KafkaError | None, *, forbidden: bool) -> KafkaError | None:
    """The same error. Where the rule (`forbidden`) refuses a change of replication factor, the text names the rule."""
    if forbidden and isinstance(error, InvalidReplicationFactor):
        return InvalidReplicationFactor(f"{error}, which {REPLICATION_FACTOR_CHANGE_ALLOWED}=false forbids")
    return error


def _flag(cluster: Cluster, name: str, *, default: bool) -> bool:
    found = flag(cluster.default_configs.get(name, ""))
    return default if found is None else found


def _number(cluster: Cluster, name: str, default: int) -> int:
    found = number(cluster.default_configs.get(name, ""), -1, INT64)
    return default if found is None else found
