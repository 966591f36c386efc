"""What a target or a cancel makes of one partition, once `core.reassignment.alter_checks` has let it through.

partition    given            result
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

from kafka_reassign_rpc.core.leadership.elections import RECOVERING, first_electable, first_live
from kafka_reassign_rpc.core.reassignment_algebra.assignment import (
    Reassigned,
    Replicas,
    among,
    pending_deletion_after,
)
from kafka_reassign_rpc.core.reassignment_algebra.completion import completed
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, RPC, Cluster, MoveRecord, Partition
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE

AS_IT_IS = -1
"""Throttle of a request that names none: the move keeps the one that it has."""


def altered(
    cluster: Cluster, partition: Partition, to: Reassigned, route: str = RPC, reason: str = "", throttle: int = AS_IT_IS
) -> Partition:
    """The partition with the replica sets `to`. The other arguments: of the move, see `core.reassignment.alter`."""
    isr = among(partition.isr, to.replicas)
    leader, recovery = _leader_after(cluster, partition, to.replicas, isr), partition.leader_recovery_state
    if is_unclean(cluster, partition, isr):
        live = first_live(cluster, partition, to.replicas)
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
    # One step for observers: the leader epoch rises once.
    return value if done is None else replace(done, leader_epoch=value.leader_epoch)


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


def is_unclean(cluster: Cluster, partition: Partition, isr: Replicas) -> bool:
    """Whether no staying replica is in sync, or only dead ones are while a live in-sync replica leaves."""
    leader = partition.leader
    if (leader in isr and cluster.is_online(leader, partition)) or any_online(cluster, partition, isr):
        return False  # the leader is asked first: mostly it stays, and a request may be about thousands of partitions
    return any_online(cluster, partition, partition.isr) if isr else bool(partition.isr)


def any_online(cluster: Cluster, partition: Partition, replicas: Replicas) -> bool:
    return any(cluster.is_online(replica, partition) for replica in replicas)
