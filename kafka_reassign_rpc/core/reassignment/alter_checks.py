"""Whether one partition may get a target, or its move be cancelled: the checks of `core.reassignment.alter`.

They come in the order of ZooKeeper mode and have its texts (KafkaController.validateReplicas, maybeBuildReassignment,
maybeTriggerPartitionReassignment), with three additions and one difference:

- `expected` (compare-and-set on the assignment) refuses a target or a cancel, also one of what is not in flight: the
  caller withdraws a waiting move for such a cancel. The replication factor guard (KIP-860) refuses a target.
- A target with the id of a server of this product is refused, by whatever route it comes (`core.topics.own_replicas`):
  there will never be such a broker.
- A change of target is refused where the replicas that it removes at once could cut producers off (KIP-236).
- A target or a cancel that would leave the partition without a leader, although it has a live in-sync replica, is
  refused. Kafka's ZooKeeper mode carries it out, and the partition stays offline. KRaft refuses such a cancel; this
  controller refuses such a target too. Where the topic allows unclean election, it goes through if a live replica can
  lead afterwards.
"""

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_live
from kafka_reassign_rpc.core.reassignment.altered import any_online, is_unclean
from kafka_reassign_rpc.core.reassignment_algebra import target_change
from kafka_reassign_rpc.core.reassignment_algebra.assignment import Reassigned, Replicas, among
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition
from kafka_reassign_rpc.core.topics import own_replicas


def refusal(
    cluster: Cluster,
    topic: str,
    index: int,
    target: Replicas | None,
    partition: Partition | None,
    current: Partition | None,
    to: Reassigned | None,
    *,
    allow_replication_factor_change: bool,
    expected: Replicas | None,
    adding_must_live: bool,
    even_uncleanly: bool,
) -> KafkaError | None:
    """Why the partition may not get this target (None: a cancel), or None.

    partition   the partition; None: commands do not find it
    current     the same, or one that they do not find because its topic is in deletion: ZooKeeper mode checks a target
                against it before it answers that the partition does not exist
    to          its replica sets with the target, or after the cancel; None where there is nothing to change

    The other arguments: see `core.reassignment.alter`.
    """
    if target is not None:
        error = _invalid_target(cluster, target, current, to, adding_must_live=adding_must_live)
        if error is not None:
            return error
    elif to is None:
        return _unexpected(partition, expected) or NoReassignmentInProgress()
    if partition is None or to is None:
        return UnknownTopicOrPartition("The partition does not exist.")
    error = _unexpected(partition, expected)
    if error is not None:
        return error
    if target is not None:
        if not allow_replication_factor_change and len(target) != len(partition.target):
            return InvalidReplicationFactor(
                f"The replication factor is changed from {len(partition.target)} to {len(target)}"
            )
        error = target_change.refusal(cluster, topic, index, partition, target)
        if error is not None:
            return error
    return _unclean_election(cluster, topic, index, partition, to, is_cancel=target is None, may=even_uncleanly)


def _unexpected(partition: Partition | None, expected: Replicas | None) -> KafkaError | None:
    """Why the partition is not the one that the client expects, or None."""
    if partition is None or expected is None or partition.replicas == expected:
        return None
    return InvalidReplicaAssignment(
        f"The assignment is not the expected one: expected {list(expected)}, found {list(partition.replicas)}"
    )


def _invalid_target(
    cluster: Cluster, target: Replicas, current: Partition | None, to: Reassigned | None, *, adding_must_live: bool
) -> KafkaError | None:
    """Why a target is invalid, or None. `current`, `to`: the partition, and its replica sets with the target; None
    where it does not exist."""
    if not target:
        return InvalidReplicaAssignment("Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        return InvalidReplicaAssignment(
            f"Duplicate replica ids in partition reassignment replica list: {_sequence(target)}"
        )
    if min(target) < 0:
        return InvalidReplicaAssignment(f"Invalid broker id in replica list: {_sequence(target)}")
    if not cluster.servers.isdisjoint(target):
        error = own_replicas.refusal(cluster, target, current)
        if error is not None:
            return error
    # Only adding replicas must be alive: existing ones may stay, change order or leave while they are down (B10).
    adding = target if to is None else to.adding
    if adding_must_live and not all(map(cluster.is_live, adding)):
        live = sorted(filter(cluster.is_live, cluster.brokers))
        return InvalidReplicaAssignment(
            "Replica assignment has brokers that are not alive."
            f" Replica list: {_sequence(adding)}, live broker list: {_set(live)}"
        )
    return None


def _sequence(replicas: Replicas) -> str:
    """A list of replicas as Kafka's message shows it: scripts compare these texts."""
    return f"ArrayBuffer({', '.join(map(str, replicas))})"


def _set(brokers: list[int]) -> str:
    return f"{'Set' if len(brokers) <= 4 else 'HashSet'}({', '.join(map(str, brokers))})"


def _unclean_election(
    cluster: Cluster, topic: str, index: int, partition: Partition, to: Reassigned, *, is_cancel: bool, may: bool
) -> KafkaError | None:
    """The refusal where a leader of these replicas could only be elected uncleanly. `may`: as if the topic allowed
    it."""
    if not is_unclean(cluster, partition, among(partition.isr, to.replicas)):
        return None
    can = first_live(cluster, partition, to.replicas) is not None or not any_online(cluster, partition, partition.isr)
    if can and (may or allows_unclean(cluster, topic)):
        return None
    what = "revert partition assignment" if is_cancel else "change the target of the reassignment"
    return InvalidReplicaAssignment(
        f"Unable to {what} for {topic}:{index} because it would require an unclean leader election."
    )
