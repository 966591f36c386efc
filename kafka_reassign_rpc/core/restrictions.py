"""Restrictions on new moves by any route: reassignments disabled (KIP-236), and changes of replication factor
(KIP-860).

Reassignments are disabled while `/admin/reassign_cancel` exists, or while `partition.reassignments.enabled` of all
servers is false or unknown; in front of KRaft, while the cluster takes no Alter from this server. Then clients' targets
are refused with POLICY_VIOLATION, targets in znodes wait, and cancels go through.
`partition.reassignments.replication.factor.change.allowed` holds whatever the request says.
"""

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, KafkaError, PolicyViolation
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED, REPLICATION_FACTOR_CHANGE_ALLOWED
from kafka_reassign_rpc.core.settings.settings_in_force import DISABLING_ZNODE
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.support.counted import counted, first_of

TAKES_NOTHING = "the cluster takes no change of a move from this server"
NAMED = 5
"""Brokers that a text names."""


def switched_by(cluster: Cluster) -> Requester | None:
    """Who last enabled or disabled reassignments, None if unknown."""
    if cluster.disabled_by_znode:
        return requesters.znode(DISABLING_ZNODE)
    return None if is_only_refused(cluster) else cluster.set_by(ENABLED)


def is_only_refused(cluster: Cluster) -> bool:
    """Whether nobody has disabled them, and the cluster takes none."""
    return cluster.soft.in_force.disabled_by is None and bool(cluster.soft.takes_nothing)


def disabled_who(cluster: Cluster) -> str | None:
    """Who has disabled reassignments, in words for people; None if unknown."""
    by = None if cluster.soft.in_force.disabled_by is None else switched_by(cluster)
    return None if by is None else by.who


def why_disabled(cluster: Cluster) -> str | None:
    """Why no move starts; None: moves may start."""
    return cluster.soft.in_force.disabled_by or cluster.soft.takes_nothing or None


def reassignments_disabled(cluster: Cluster) -> KafkaError | None:
    reason = why_disabled(cluster)
    if reason is None:
        return None
    return PolicyViolation(f"No reassignment may be started: {reason}. Cancellations are still possible.")


FORBIDDEN_BY_REQUEST = (
    "the request itself forbids: it says AllowReplicationFactorChange=false, which kcl (franz-go) sends without being"
    " asked. kafka-reassign and Kafka's own tool ask for the change"
)


def lease_refused(cluster: Cluster) -> KafkaError | None:
    """Why no throttle lease is given, None if one may be."""
    brokers = cluster.soft.migrating
    if not brokers:
        return None
    named = first_of(sorted(brokers), NAMED)
    who = f"{counted(len(brokers), 'broker', 'were')} restarted for the migration to KRaft ({named})"
    return PolicyViolation(
        f"No throttle lease is given: {who}, and KRaft would leave it in place. Move without --lease, and set throttles"
        " with kafka-configs.sh"
    )


def with_reason(error: KafkaError | None, *, forbidden: bool) -> KafkaError | None:
    """Names what refuses a change of replication factor: the rule (`forbidden`), or else the request."""
    if not isinstance(error, InvalidReplicationFactor):
        return error
    return InvalidReplicationFactor(
        f"{error}, which {f'{REPLICATION_FACTOR_CHANGE_ALLOWED}=false forbids' if forbidden else FORBIDDEN_BY_REQUEST}"
    )
