"""AlterPartitionReassignments for one partition: start, change of target, cancel.

The checks come in the order of ZooKeeper mode and have its texts (KafkaController.validateReplicas,
maybeBuildReassignment, maybeTriggerPartitionReassignment), with three additions and one difference:

- `expected` (compare-and-set on the assignment) refuses a target or a cancel, also one of what is not in flight: the
  caller withdraws a waiting move for such a cancel. The replication factor guard (KIP-860) refuses a target.
- A target with the id of a server of this product is refused, by whatever route it comes (`core.topics.own_replicas`):
  there will never be such a broker.
- A change of target is refused where the replicas that it removes at once could cut producers off (KIP-236).
- A target or a cancel that would leave the partition without a leader, although it has a live in-sync replica, is
  refused. Kafka's ZooKeeper mode carries it out, and the partition stays offline. KRaft refuses such a cancel; this
  controller refuses such a target too. Where the topic allows unclean election, it goes through if a live replica can
  lead afterwards.

What a target or a cancel does:

    partition    given            result
    at rest      its replicas     nothing
    at rest      another order    the new order, leader epoch +1
    at rest      other replicas   adding and removing replicas, a move record, leader epoch +1; a move that is complete
                                  at once (a shrink) is completed in the same step
    moving       another target   the same, from the same origin. Adding replicas that only the former target needed
                                  leave the assignment and the ISR, and are pending deletion; retained ones stay until
                                  completion (`core.reassignment_algebra.target_change`)
    moving       cancel           the original replicas in their original order; all others leave the assignment and
                                  the ISR; if the leader leaves, a live in-sync replica leads
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import RECOVERING, allows_unclean, first_electable, first_live
from kafka_reassign_rpc.core.reassignment_algebra import target_change
from kafka_reassign_rpc.core.reassignment_algebra.assignment import (
    Reassigned,
    Replicas,
    among,
    cancel,
    pending_deletion_after,
    reassign,
)
from kafka_reassign_rpc.core.reassignment_algebra.completion import completed
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, RPC, Cluster, MoveRecord, Partition
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.topics import own_replicas

Decision = tuple[KafkaError | None, list[PartitionChange]]
"""The error, or None; the change, at most one."""

AS_IT_IS = -1
"""Throttle of a request that names none: the move keeps the one that it has."""


def alter(
    view: RoundView,
    topic: str,
    index: int,
    target: Replicas | None,
    *,
    allow_replication_factor_change: bool,
    expected: Replicas | None = None,
    route: str = RPC,
    reason: str = "",
    throttle: int = AS_IT_IS,
    adding_must_live: bool = True,
    even_uncleanly: bool = False,
) -> Decision:
    """Give a partition a new target, or cancel its move (`target` None).

    expected          the assignment that the client expects; another one refuses the request (None: any)
    route, reason     how and why the target came; the move record stores both
    throttle          bytes/s of the move's throttle lease; 0: no lease; AS_IT_IS: as before, for a new move none
    adding_must_live  refuse a target that adds a dead broker (a target from ZooKeeper waits for the broker instead)
    even_uncleanly    cancel as if the topic allowed unclean election
    """
    partition = view.get(topic, index)
    current = _hidden_partition(view.cluster, topic, index) if partition is None else partition
    to: Reassigned | None = None
    if target is not None:
        to = None if current is None else reassign(current, target, target_change.retained(current, target))
        error = _invalid_target(view.cluster, target, current, to, adding_must_live=adding_must_live)
        if error is not None:
            return error, []
    elif current is None or not current.is_moving:
        return _unexpected(partition, expected) or NoReassignmentInProgress(), []
    if partition is None:
        return UnknownTopicOrPartition("The partition does not exist."), []
    error = _unexpected(partition, expected)
    if error is not None:
        return error, []
    if target is None or to is None:
        return _with_assignment(
            view.cluster, topic, index, partition, cancel(partition), to_cancel=True, even_uncleanly=even_uncleanly
        )
    if not allow_replication_factor_change and len(target) != len(partition.target):
        return InvalidReplicationFactor(
            f"The replication factor is changed from {len(partition.target)} to {len(target)}"
        ), []
    if not partition.is_moving and partition.replicas == target:
        return None, []
    error = target_change.refusal(view.cluster, topic, index, partition, target)
    if error is not None:
        return error, []
    return _with_assignment(
        view.cluster, topic, index, partition, to, to_cancel=False, route=route, reason=reason, throttle=throttle
    )


def _hidden_partition(cluster: Cluster, topic: str, index: int) -> Partition | None:
    """A partition that commands do not find because its topic is in deletion. ZooKeeper mode checks a target against it
    before it answers that the partition does not exist."""
    known = cluster.topics.get(topic)
    return None if known is None else known.partitions.get(index)


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


def _with_assignment(
    cluster: Cluster,
    topic: str,
    index: int,
    partition: Partition,
    to: Reassigned,
    *,
    to_cancel: bool,
    route: str = RPC,
    reason: str = "",
    throttle: int = AS_IT_IS,
    even_uncleanly: bool = False,
) -> Decision:
    """The partition with the replica sets `to`; refused where that would need an unclean election."""
    isr = among(partition.isr, to.replicas)
    leader, recovery = _leader_after(cluster, partition, to.replicas, isr), partition.leader_recovery_state
    if _is_unclean(cluster, partition, isr):
        live = first_live(cluster, partition, to.replicas)
        may = even_uncleanly or allows_unclean(cluster, topic)
        if not may or (live is None and _any_online(cluster, partition, partition.isr)):
            return _unclean_election_refused(topic, index, to_cancel=to_cancel), []
        leader, isr, recovery = (NO_LEADER, to.replicas[:1], recovery) if live is None else (live, (live,), RECOVERING)
    value = replace(
        partition,
        replicas=to.replicas,
        adding=to.adding,
        removing=to.removing,
        pending_deletion=pending_deletion_after(partition, to.removed_at_once, to.replicas),
        leader=leader,
        isr=isr or partition.isr,
        leader_epoch=partition.leader_epoch + 1,
        leader_recovery_state=recovery,
        move=_move_record(partition, to, route, reason, throttle),
    )
    done = completed(cluster, value)
    if done is not None:  # one step for observers: the leader epoch rises once
        value = replace(done, leader_epoch=value.leader_epoch)
    return None, [PartitionChange(topic, index, value)]


def _move_record(partition: Partition, to: Reassigned, route: str, reason: str, throttle: int) -> MoveRecord | None:
    if not to.is_moving:
        return None
    target = to.replicas[: len(to.replicas) - len(to.removing)]
    if partition.move is not None and partition.is_moving:
        rate = partition.move.throttle if throttle == AS_IT_IS else throttle or NO_RATE
        return replace(
            partition.move,
            target=target,
            route=route,
            reason=reason,
            throttle=rate,
            retained=to.retained,
            legacy=False,
        )
    return MoveRecord(
        target=target, original=partition.origin, route=route, reason=reason, throttle=throttle or NO_RATE
    )


def _leader_after(cluster: Cluster, partition: Partition, replicas: Replicas, isr: Replicas) -> int:
    """The leader stays if it is in `replicas`. Otherwise the first live in-sync replica leads; there is no leader only
    where no such replica exists (Kafka's ZooKeeper mode leaves the partition without one, D08)."""
    if partition.leader in replicas:
        return partition.leader
    elected = first_electable(cluster, partition, replicas, isr)
    return NO_LEADER if elected is None else elected


def _is_unclean(cluster: Cluster, partition: Partition, isr: Replicas) -> bool:
    """Whether no staying replica is in sync, or only dead ones are while a live in-sync replica leaves."""
    if _any_online(cluster, partition, isr):
        return False
    return _any_online(cluster, partition, partition.isr) if isr else bool(partition.isr)


def _any_online(cluster: Cluster, partition: Partition, replicas: Replicas) -> bool:
    return any(cluster.is_online(replica, partition) for replica in replicas)


def _unclean_election_refused(topic: str, index: int, *, to_cancel: bool) -> KafkaError:
    what = "revert partition assignment" if to_cancel else "change the target of the reassignment"
    return InvalidReplicaAssignment(
        f"Unable to {what} for {topic}:{index} because it would require an unclean leader election."
    )
