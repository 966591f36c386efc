"""Whether one partition may get a target, or its move be cancelled.

The checks have ZooKeeper mode's order and texts (KafkaController.validateReplicas, maybeBuildReassignment,
maybeTriggerPartitionReassignment), with these differences:

- `expected` also refuses to cancel what is not in flight: then the caller withdraws a waiting move.
- The replication factor guard (KIP-860) refuses a target.
- Every route refuses a target with the id of one of our servers: there will never be such a broker.
- A change of target is refused if what it removes at once could cut producers off (KIP-236).
- What leaves the partition without a leader, although a live replica is in sync, is refused. Kafka's ZooKeeper mode
  carries it out, and the partition stays offline; KRaft refuses only the cancel. If the topic allows unclean election,
  it goes through once a live replica can lead afterwards.

Of a partition that a request names twice only the last target is checked (`topic_partition.ask`).
"""

from typing import NamedTuple

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_live
from kafka_reassign_rpc.core.reassignment_algebra import Reassigned, Replicas, among, target_refusal
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import missing_replicas


class Found(NamedTuple):
    """partition   None if commands do not find it
    current     also found if its topic is in deletion (`alter._hidden_partition`)
    """

    cluster: Cluster
    name: TopicPartition
    partition: Partition | None
    current: Partition | None


def alter_refusal(
    found: Found,
    to: Reassigned | None,
    terms: MoveTerms,
    *,
    allow_replication_factor_change: bool,
    adding_must_live: bool,
) -> KafkaError | None:
    """Why the partition may not get this target; None if it may. `to`: the replica sets afterwards, None if it does not
    exist.
    """
    cluster, partition, target = found.cluster, found.partition, terms.target
    error = _invalid_target(cluster, target, found.current, to, adding_must_live=adding_must_live)
    if error is not None:
        return error
    if partition is None or to is None:
        return UnknownTopicOrPartition("The partition does not exist.")
    error = _unexpected(partition, terms.expected)
    if error is not None:
        return error
    if not allow_replication_factor_change and len(target) != len(partition.target):
        return InvalidReplicationFactor(
            f"The replication factor is changed from {len(partition.target)} to {len(target)}"
        )
    error = target_refusal(cluster, *found.name, partition, target)
    if error is not None:
        return error
    return _unclean_election(cluster, found.name, partition, to, what="change the target of the reassignment")


def cancel_refusal(
    found: Found, to: Reassigned | None, expected: Replicas | None, *, even_uncleanly: bool
) -> KafkaError | None:
    """Why the move may not be cancelled; None if it may. `to`: the replica sets afterwards, None: nothing moves."""
    partition = found.partition
    if to is None:
        return _unexpected(partition, expected) or NoReassignmentInProgress()
    if partition is None:
        return UnknownTopicOrPartition("The partition does not exist.")
    error = _unexpected(partition, expected)
    if error is not None:
        return error
    what = "revert partition assignment"
    return _unclean_election(found.cluster, found.name, partition, to, what=what, even_uncleanly=even_uncleanly)


def _unexpected(partition: Partition | None, expected: Replicas | None) -> KafkaError | None:
    if partition is None or expected is None or partition.replicas == expected:
        return None
    return InvalidReplicaAssignment(
        f"The assignment is not the expected one: expected {list(expected)}, found {list(partition.replicas)}"
    )


def _invalid_target(
    cluster: Cluster, target: Replicas, current: Partition | None, to: Reassigned | None, *, adding_must_live: bool
) -> KafkaError | None:
    if not target:
        return InvalidReplicaAssignment("Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        return InvalidReplicaAssignment(
            f"Duplicate replica ids in partition reassignment replica list: {_sequence(target)}"
        )
    if min(target) < 0:
        return InvalidReplicaAssignment(f"Invalid broker id in replica list: {_sequence(target)}")
    if not cluster.servers.isdisjoint(target):
        error = missing_replicas.refusal(cluster, target, current)
        if error is not None:
            return error
    # Only adding replicas must be alive: existing ones may stay, change order or leave while they are down (behaviour
    # B10).
    adding = target if to is None else to.adding
    if adding_must_live and not all(map(cluster.is_live, adding)):
        live = sorted(filter(cluster.is_live, cluster.brokers))
        return InvalidReplicaAssignment(
            "Replica assignment has brokers that are not alive."
            f" Replica list: {_sequence(adding)}, live broker list: {_set(live)}"
        )
    return None


def _sequence(replicas: Replicas) -> str:
    """As Kafka prints a list: scripts compare these texts."""
    return f"ArrayBuffer({', '.join(map(str, replicas))})"


def _set(brokers: list[int]) -> str:
    return f"{'Set' if len(brokers) <= 4 else 'HashSet'}({', '.join(map(str, brokers))})"


def _unclean_election(
    cluster: Cluster,
    name: TopicPartition,
    partition: Partition,
    to: Reassigned,
    *,
    what: str,
    even_uncleanly: bool = False,
) -> KafkaError | None:
    """Refuses what only an unclean election could give a leader."""
    if not is_unclean(cluster, partition, among(partition.isr, to.replicas)):
        return None
    can = first_live(cluster, partition, to.replicas) is not None or not any_online(cluster, partition, partition.isr)
    if can and (even_uncleanly or allows_unclean(cluster, name.topic)):
        return None
    return InvalidReplicaAssignment(
        f"Unable to {what} for {name.topic}:{name.partition} because it would require an unclean leader election."
    )


def is_unclean(cluster: Cluster, partition: Partition, isr: Replicas) -> bool:
    """Whether no staying replica is in sync, or only dead ones while a live in-sync replica leaves."""
    leader = partition.leader
    if (leader in isr and cluster.is_online(leader, partition)) or any_online(cluster, partition, isr):
        return False  # the leader first: it usually stays, and a request may be about thousands of partitions
    return any_online(cluster, partition, partition.isr) if isr else bool(partition.isr)


def any_online(cluster: Cluster, partition: Partition, replicas: Replicas) -> bool:
    return any(cluster.is_online(replica, partition) for replica in replicas)
