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
from kafka_reassign_rpc.core.reassignment.alter_checks import Found, alter_refusal, cancel_refusal, is_unclean
from kafka_reassign_rpc.core.reassignment_algebra import (
    Reassigned,
    Replicas,
    among,
    cancelled,
    completed,
    pending_deletion_after,
    reassign,
    retained,
)
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

Decision = tuple[KafkaError | None, list[PartitionChange]]
"""The error or None, and at most one change."""


def alter(
    view: RoundView,
    name: TopicPartition,
    terms: MoveTerms,
    *,
    allow_replication_factor_change: bool = True,
    adding_must_live: bool = True,
) -> Decision:
    """Starts a move, or gives the move in flight another target. Without `terms.by` the round's requester asks.

    adding_must_live  refuse to add a dead broker; a target from ZooKeeper waits for the broker instead
    """
    found = _found(view, name)
    if isinstance(found, KafkaError):
        return found, []
    target = terms.target
    to = None if found.current is None else reassign(found.current, target, retained(found.current, target))
    error = alter_refusal(
        found,
        to,
        terms,
        allow_replication_factor_change=allow_replication_factor_change,
        adding_must_live=adding_must_live,
    )
    if error is not None or found.partition is None or to is None:
        return error, []
    if target == found.partition.replicas and not found.partition.is_moving and not found.partition.goes_back:
        return view.stays(name), []
    kept = _kept(found.partition, terms, terms.by or view.by)
    record = _record(found.partition, to, kept) if to.is_moving else None
    return _unless_refused(view, _changed(view.cluster, name, found.partition, to, record, kept))


def cancel(
    view: RoundView, name: TopicPartition, *, expected: Replicas | None = None, even_uncleanly: bool = False
) -> Decision:
    """Takes the original replicas back.

    expected          the only replicas from which the client wants it
    even_uncleanly    as if the topic allowed unclean election
    """
    found = _found(view, name)
    if isinstance(found, KafkaError):
        return found, []
    to = cancelled(found.current) if found.current is not None and _may_go_back(found.current) else None
    error = cancel_refusal(found, to, expected, even_uncleanly=even_uncleanly)
    if error is not None or found.partition is None or to is None:
        return error, []
    return _unless_refused(view, _changed(view.cluster, name, found.partition, to))


def _may_go_back(partition: Partition) -> bool:
    """Another order is shown as if the cluster had it, in front of KRaft, before the cluster has been told."""
    if partition.is_moving or partition.move is None:
        return partition.is_moving
    return partition.move.phase is Phase.START and partition.replicas != partition.original


def _unless_refused(view: RoundView, change: PartitionChange) -> Decision:
    error = view.refusal(change)
    return (None, [change]) if error is None else (error, [])


def _found(view: RoundView, name: TopicPartition) -> Found | KafkaError:
    if view.cluster.why_unreadable(*name) is not None:
        return view.cluster.not_found(*name)
    partition = view.get(*name)
    return Found(view.cluster, name, partition, partition or _hidden_partition(view.cluster, name))


def _hidden_partition(cluster: Cluster, name: TopicPartition) -> Partition | None:
    """Of a topic in deletion too: ZooKeeper mode checks the target before it answers that the partition is unknown."""
    known = cluster.topics.get(name.topic)
    return None if known is None else known.partitions.get(name.partition)


def _changed(
    cluster: Cluster,
    name: TopicPartition,
    partition: Partition,
    to: Reassigned,
    record: MoveRecord | None = None,
    asked: MoveTerms | None = None,
) -> PartitionChange:
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
        move=record,
    )
    done = completed(cluster, value)
    # One step for observers: the leader epoch rises once.
    value = value if done is None else replace(done, leader_epoch=value.leader_epoch)
    return PartitionChange(name.topic, name.partition, value, asked=asked)


def _kept(partition: Partition, terms: MoveTerms, by: Requester) -> MoveTerms:
    """Without what only says when the move may start, with the lease that a move in flight has already."""
    before = partition.move if partition.is_moving else None
    throttle, lifts = terms.throttle, terms.lifts
    if throttle is None and before is not None:
        throttle, lifts = before.terms.throttle, before.terms.lifts
    return replace(
        terms,
        throttle=throttle or None,
        lifts=lifts,
        moves_per_broker=None,
        expected=None,
        by=None if by == CONTROLLER else by,
    )


def _record(partition: Partition, to: Reassigned, kept: MoveTerms) -> MoveRecord:
    if partition.move is None or not partition.is_moving:
        return MoveRecord(kept, partition.origin)
    return replace(partition.move, terms=kept, retained=to.retained, legacy=False)


def _leader_after(cluster: Cluster, partition: Partition, replicas: Replicas, isr: Replicas) -> int:
    """Kafka's ZooKeeper mode elects none, and the partition stays without a leader (behaviour D08)."""
    if partition.leader in replicas:
        return partition.leader
    elected = first_electable(cluster, partition, replicas, isr)
    return NO_LEADER if elected is None else elected
