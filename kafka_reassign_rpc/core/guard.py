"""What no new move gets past, by whatever route it comes: the guard of KIP-236, and the rule on replication factors.

    closed by                                                        what waits or is refused
    `/admin/reassign_cancel` exists                                  every new target: clients are refused with
    `partition.reassignments.enabled=false` for the whole cluster    POLICY_VIOLATION, znodes wait; cancels go through

The rule on replication factors holds for every target too, whatever a request says about it (KIP-860); a
cluster-wide dynamic config stands above the server's own setting.
"""

import msgspec

from kafka_reassign_rpc.core.errors import InvalidReplicationFactor, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.model import Cluster

ENABLED = "partition.reassignments.enabled"
REPLICATION_FACTOR_CHANGE_ALLOWED = "partition.reassignments.replication.factor.change.allowed"
GUARD_ZNODE = "/admin/reassign_cancel"


class Rules(msgspec.Struct, frozen=True):
    """What the server was started with."""

    replication_factor_change_allowed: bool = True


NO_RULES = Rules()


def closed(cluster: Cluster) -> KafkaError | None:
    """Why no new move may start, or None where one may."""
    if cluster.guarded:
        reason = f"{GUARD_ZNODE} exists"
    elif not _dynamic(cluster, ENABLED, default=True):
        reason = f"{ENABLED}=false is set for the cluster"
    else:
        return None
    return PolicyViolation(f"No reassignment may be started: {reason}. Cancellations are still possible.")


def replication_factor_may_change(cluster: Cluster, rules: Rules) -> bool:
    return _dynamic(cluster, REPLICATION_FACTOR_CHANGE_ALLOWED, default=rules.replication_factor_change_allowed)


def with_reason(error: KafkaError | None, *, forbidden: bool) -> KafkaError | None:
    """The same error; a changed replication factor names the rule where it is the rule that forbids it."""
    if forbidden and isinstance(error, InvalidReplicationFactor):
        return InvalidReplicationFactor(f"{error}, which {REPLICATION_FACTOR_CHANGE_ALLOWED}=false forbids")
    return error


def _dynamic(cluster: Cluster, name: str, *, default: bool) -> bool:
    """A value that is neither true nor false can only come from somebody's hands, and counts for nothing."""
    text = cluster.broker_configs.get("<default>", {}).get(name, "").strip().lower()
    return {"true": True, "false": False}.get(text, default)
