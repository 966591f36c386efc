"""AlterPartitionReassignments for one partition: its checks, and what follows once they let it through:

partition    given            result
at rest      another order    the new order, leader epoch +1
at rest      other replicas   adding and removing replicas, a move record, leader epoch +1; a shrink ends at once
moving       another target   the same, from the same origin; `core.reassignment_algebra` says what leaves at once
moving       cancel           the original replicas in their order; if the leader leaves, a live in-sync one leads

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

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import RECOVERING, allows_unclean, first_electable, first_live
from kafka_reassign_rpc.core.reassignment_algebra import (
    Reassigned,
    Replicas,
    among,
    cancelled,
    completed,
    pending_deletion_after,
    reassign,
    retained,
    target_refusal,
)
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
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
