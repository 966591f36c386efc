"""What KRaft takes to its harm, and what it refuses: known before a move or a cancel is durable.

an adding replica on a dead or fenced broker     KRaft starts such a move, which cannot end
on a broker that takes nothing new (cordoned)    KRaft starts it before 4.4
any replica on such a broker, also one that      4.4 refuses the target (KAFKA-20832), and so also the original order
stays                                            after a cancel
a cancel that leaves no replica in sync          KRaft refuses it (PartitionReassignmentRevert), also where an eligible
                                                 leader replica is safe while the ISR is empty: nothing is lost, and
                                                 once that one is back it leads, and the cancel is taken

A request that it refuses as a whole says nothing about its moves: they go on waiting, and no others start.

Dead brokers are refused where all targets are checked (`reassignment.alter`): a fenced one counts as dead.
"""

from typing import NamedTuple

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.brokers.cordon import cordoned_by_themselves
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    InvalidReplicaAssignment,
    KafkaError,
    UnsupportedVersion,
)
from kafka_reassign_rpc.core.reassignment_algebra import Replicas, among, without
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import those

SASL_AUTHENTICATION_FAILED = 58


class Cordons(NamedTuple):
    """brokers   whose log dirs all are cordoned (KIP-1066)
    staying   whether the cluster refuses a target that keeps a replica on one (4.4)
    """

    brokers: frozenset[int] = frozenset()
    staying: bool = False


def cordons(cluster: Cluster) -> Cordons:
    return Cordons(cordoned_by_themselves(cluster), cluster.soft.kraft.no_cordoned_target)


def target_refusal(target: Replicas, present: Replicas, cordons: Cordons) -> KafkaError | None:
    """`present`: the replicas in flight or at rest."""
    named = among(target if cordons.staying else without(target, present), cordons.brokers)
    if not named:
        return None
    kept = ", also for a replica that stays" if cordons.staying and not without(named, present) else ""
    return InvalidReplicaAssignment(f"The target names {those(named)}, cordoned: no new replica there{kept}.")


def no_restore(original: Replicas, cordons: Cordons) -> str:
    """Why the original order cannot be restored after a cancel; "" if it can."""
    named = among(original, cordons.brokers) if cordons.staying else ()
    return f"the cluster refuses a target with {those(named)}, cordoned" if named else ""


_REMEDIES = {
    ClusterAuthorizationFailed.code: "grant ALTER on the cluster to the login of this server (kafka-acls.sh --add"
    " --cluster --operation Alter --allow-principal ...)",
    UnsupportedVersion.code: "moves need AlterPartitionReassignments, which brokers have from Kafka 2.4 on",
    SASL_AUTHENTICATION_FAILED: "give this server a login that the brokers know (--command-config)",
}


def takes_nothing(error: KafkaError) -> str:
    """`error`: of a whole request, or of all its sender's."""
    remedy = _REMEDIES.get(error.code)
    text = f"{restrictions.TAKES_NOTHING}, {error.name}: {str(error).rstrip('.')}"
    return text if remedy is None else f"{text}; {remedy}"


def cancel_refusal(
    name: TopicPartition, isr: Replicas, adding: Replicas, eligible: Replicas = (), *, allows_unclean: bool
) -> KafkaError | None:
    """`allows_unclean`: `unclean.leader.election.enable` of the topic. `eligible`: leader replicas (KIP-966)."""
    if without(isr, adding) or allows_unclean:
        return None
    able = () if isr else without(eligible, adding)
    advice = f" Nothing is lost: start {those(able)}, and cancel it then." if able else ""
    return InvalidReplicaAssignment(
        f"Unable to revert partition assignment for {name.topic}:{name.partition} because it would require an unclean"
        f" leader election.{advice}"
    )
