"""AlterPartitionReassignments for one partition, once `alter_checks` lets it through:

partition    given            result
at rest      another order    the new order, leader epoch +1
at rest      other replicas   adding and removing replicas, a move record, leader epoch +1; a shrink ends at once
moving       another target   the same, from the same origin; `core.reassignment_algebra` says what leaves at once
moving       cancel           the original replicas in their order; if the leader leaves, a live in-sync one leads
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.leadership.elections import RECOVERING, first_electable, first_live
from kafka_reassign_rpc.core.reassignment.alter_checks import is_unclean, refusal
from kafka_reassign_rpc.core.reassignment_algebra import (
    Reassigned,
    Replicas,
    among,
    cancel,
    completed,
    pending_deletion_after,
    reassign,
    retained,
)
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, RPC, MoveRecord, Partition
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.unknown_partitions import not_found

AS_IT_IS = -1
"""Throttle of a request that names none: the move keeps its own."""

Decision = tuple[KafkaError | None, list[PartitionChange]]
"""The error or None, and at most one change."""


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
    lifts: bool = False,
    adding_must_live: bool = True,
    even_uncleanly: bool = False,
) -> Decision:
    """`target` None: cancels the move.

    expected          the assignment that the client expects; any other refuses the request
    throttle          bytes/s of the throttle lease; 0: no lease; AS_IT_IS: keep it, and none for a new move
    lifts             the lease of `throttle` replaces a stricter standing rate
    adding_must_live  refuse to add a dead broker; a target from ZooKeeper waits for the broker instead
    even_uncleanly    cancel as if the topic allowed unclean election
    """
    partition = view.get(topic, index)
    if view.cluster.why_unreadable(topic, index) is not None:
        return not_found(view.cluster, topic, index), []
    current = _hidden_partition(view.cluster, topic, index) if partition is None else partition
    to = None if current is None else _replica_sets(current, target)
    error = refusal(
        view.cluster,
        topic,
        index,
        target,
        partition,
        current,
        to,
        allow_replication_factor_change=allow_replication_factor_change,
        expected=expected,
        adding_must_live=adding_must_live,
        even_uncleanly=even_uncleanly,
    )
    if error is not None or partition is None or to is None:
        return error, []
    if target == partition.replicas and not partition.is_moving:
        return None, []
    value = _altered(view.cluster, partition, to, route, reason, throttle, lifts, view.by)
    return None, [PartitionChange(topic, index, value)]


def _replica_sets(current: Partition, target: Replicas | None) -> Reassigned | None:
    """None if there is no move to cancel."""
    if target is not None:
        return reassign(current, target, retained(current, target))
    return cancel(current) if current.is_moving else None


def _hidden_partition(cluster: Cluster, topic: str, index: int) -> Partition | None:
    """Of a topic in deletion too: ZooKeeper mode checks the target before it answers that the partition is unknown."""
    known = cluster.topics.get(topic)
    return None if known is None else known.partitions.get(index)


def _altered(
    cluster: Cluster,
    partition: Partition,
    to: Reassigned,
    route: str,
    reason: str,
    throttle: int,
    lifts: bool,
    by: Requester,
) -> Partition:
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
        move=_move_record(partition, to, route, reason, throttle, lifts, None if by == CONTROLLER else by),
    )
    done = completed(cluster, value)
    # One step for observers: the leader epoch rises once.
    return value if done is None else replace(done, leader_epoch=value.leader_epoch)


def _move_record(
    partition: Partition, to: Reassigned, route: str, reason: str, throttle: int, lifts: bool, by: Requester | None
) -> MoveRecord | None:
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
            by=by,
            lifts=partition.move.lifts if throttle == AS_IT_IS else lifts,
        )
    return MoveRecord(
        target=target,
        original=partition.origin,
        route=route,
        reason=reason,
        throttle=throttle or NO_RATE,
        by=by,
        lifts=lifts,
    )


def _leader_after(cluster: Cluster, partition: Partition, replicas: Replicas, isr: Replicas) -> int:
    """Kafka's ZooKeeper mode elects none (D08)."""
    if partition.leader in replicas:
        return partition.leader
    elected = first_electable(cluster, partition, replicas, isr)
    return NO_LEADER if elected is None else elected
