"""What no new move gets past, by whatever route it comes: the guard of KIP-236, and the rule on replication factors.

    closed by                                                        what waits or is refused
    `/admin/reassign_cancel` exists                                  every new target: clients are refused with
    `partition.reassignments.enabled=false` for the whole cluster    POLICY_VIOLATION, znodes wait; cancels go through

What may start still waits where the caps on moves in flight say so: see `core.reassignment.in_flight_caps`.

The rule on replication factors holds for every target too, whatever a request says about it (KIP-860); a
cluster-wide dynamic config stands above the server's own setting.
"""

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, flag, number
from kafka_reassign_rpc.core.healing.lost_brokers import Healing, settings_of
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.state.cluster import Cluster

ENABLED = "partition.reassignments.enabled"
REPLICATION_FACTOR_CHANGE_ALLOWED = "partition.reassignments.replication.factor.change.allowed"
MAX_PER_BROKER = "partition.reassignments.max.per.broker"
MAX_PER_CLUSTER = "partition.reassignments.max.per.cluster"
MAX_BYTES_IN_FLIGHT = "partition.reassignments.max.bytes.in.flight"
GUARD_ZNODE = "/admin/reassign_cancel"


class InFlightCaps(msgspec.Struct, frozen=True):
    """Caps on what is in flight at a time; -1: none."""

    per_broker: int = -1
    per_cluster: int = -1
    bytes_in_flight: int = -1
    repairs: int = -1
    """Moves of repairs (KIP-46)."""

    @property
    def unlimited(self) -> bool:
        return self.per_broker < 0 and self.per_cluster < 0 and self.bytes_in_flight < 0


class Rules(msgspec.Struct, frozen=True):
    """What the server was started with. `sizes_sampled`: brokers are asked for the sizes of what moves or waits."""

    replication_factor_change_allowed: bool = True
    limits: InFlightCaps = InFlightCaps()
    sizes_sampled: bool = False
    healing: Healing = Healing()


NO_RULES = Rules()


def reassignments_disabled(cluster: Cluster) -> KafkaError | None:
    """Why no new move may start, or None where one may."""
    if cluster.disabled_by_znode:
        reason = f"{GUARD_ZNODE} exists"
    elif not _flag(cluster, ENABLED, default=True):
        reason = f"{ENABLED}=false is set for the cluster"
    else:
        return None
    return PolicyViolation(f"No reassignment may be started: {reason}. Cancellations are still possible.")


def replication_factor_may_change(cluster: Cluster, rules: Rules) -> bool:
    return _flag(cluster, REPLICATION_FACTOR_CHANGE_ALLOWED, default=rules.replication_factor_change_allowed)


def limit_settings(limits: InFlightCaps) -> dict[str, int]:
    """Under the names by which they are set."""
    return {
        MAX_PER_BROKER: limits.per_broker,
        MAX_PER_CLUSTER: limits.per_cluster,
        MAX_BYTES_IN_FLIGHT: limits.bytes_in_flight,
    }


def limits(cluster: Cluster, rules: Rules) -> InFlightCaps:
    per_broker, per_cluster, in_flight = (
        _number(cluster, name, value) for name, value in limit_settings(rules.limits).items()
    )
    return InFlightCaps(per_broker, per_cluster, in_flight, settings_of(cluster, rules.healing)[0].chunk)


def with_reason(error: KafkaError | None, *, forbidden: bool) -> KafkaError | None:
    """The same error; a changed replication factor names the rule where it is the rule that forbids it."""
    if forbidden and isinstance(error, InvalidReplicationFactor):
        return InvalidReplicationFactor(f"{error}, which {REPLICATION_FACTOR_CHANGE_ALLOWED}=false forbids")
    return error


def _flag(cluster: Cluster, name: str, *, default: bool) -> bool:
    found = flag(cluster.default_configs.get(name, ""))
    return default if found is None else found


def _number(cluster: Cluster, name: str, default: int) -> int:
    found = number(cluster.default_configs.get(name, ""), -1, INT64)
    return default if found is None else found
