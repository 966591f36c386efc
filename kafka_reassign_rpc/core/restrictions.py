"""Restrictions on new moves, whatever their route: reassignments disabled (KIP-236), and changes of replication factor.

Reassignments are disabled while `/admin/reassign_cancel` exists, while the setting `partition.reassignments.enabled` of
all servers is false, or while it is not known whether it is. Then every new target of a client is refused with
POLICY_VIOLATION, and targets in znodes wait. Cancels go through.

The rule on replication factors (`partition.reassignments.replication.factor.change.allowed`) holds for every target,
whatever the request says (KIP-860). The setting of all servers takes precedence over the server's own.

The settings: `core.reassignment_settings`. Caps on moves in flight: `core.reassignment.in_flight_caps`.
"""

from kafka_reassign_rpc.core.config_values import flag
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.reassignment_settings import (
    ENABLED,
    REPLICATION_FACTOR_CHANGE_ALLOWED,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.settings_in_force import in_force
from kafka_reassign_rpc.core.state.cluster import Cluster

DISABLING_ZNODE = "/admin/reassign_cancel"


def disabled_by(cluster: Cluster) -> str | None:
    """What disables reassignments, or None where they are enabled."""
    if cluster.disabled_by_znode:
        return f"{DISABLING_ZNODE} exists"
    if cluster.settings_problem:
        return cluster.settings_problem
    return None if in_force(cluster, ENABLED, flag, True) else f"{ENABLED}=false is set for the cluster"


def reassignments_disabled(cluster: Cluster) -> KafkaError | None:
    """Why no new move may start, or None where one may."""
    reason = disabled_by(cluster)
    if reason is None:
        return None
    return PolicyViolation(f"No reassignment may be started: {reason}. Cancellations are still possible.")


def replication_factor_may_change(cluster: Cluster, settings: ReassignmentSettings) -> bool:
    """Whether the rule allows a target of another size."""
    return in_force(cluster, REPLICATION_FACTOR_CHANGE_ALLOWED, flag, settings.replication_factor_change_allowed)


def with_reason(error: KafkaError | None, *, forbidden: bool) -> KafkaError | None:
    """The same error. Where the rule (`forbidden`) refuses a change of replication factor, the text names the rule."""
    if forbidden and isinstance(error, InvalidReplicationFactor):
        return InvalidReplicationFactor(f"{error}, which {REPLICATION_FACTOR_CHANGE_ALLOWED}=false forbids")
    return error
