"""AlterPartitionReassignments for one partition: start, change of target, cancel.

Checks come in the order of ZooKeeper mode and carry its texts (KafkaController.validateReplicas,
maybeBuildReassignment, maybeTriggerPartitionReassignment), with three additions and one difference:

- `expected` (an assignment that has to stand) and the replication factor rule (KIP-860) refuse a target;
- another target for a partition that moves is refused where what it drops could cut producers off (KIP-236);
- whatever would leave a partition leaderless that has a live in-sync replica is refused, where Kafka's ZooKeeper
  mode does it and the partition stays offline. KRaft refuses such a cancel; here a new target is held to the same.
  Where the topic allows unclean election, it is done if a live replica can lead then.

What a target or a cancel does to a partition:

    what stands              is given         then
    not moving               what stands      nothing at all
    not moving               same replicas    the new order, leader epoch +1
    not moving               other replicas   adding and removing replicas, leader epoch +1, a move record; where the
                                              move is over at once (a shrink), it is completed in the same step
    moving                   another target   the same, from the same origin; replicas that only the former target
                                              needed leave assignment and ISR and are pending_deletion, but for those
                                              whom the
                                              ISR or leadership cannot do without yet
                                              (`core.reassignment_algebra.target_change`)
    moving                   cancel           the original replicas in their original order; all others leave
                                              assignment and ISR; a leader among them is replaced by a live in-sync
                                              replica
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
    reassign,
    retire,
)
from kafka_reassign_rpc.core.reassignment_algebra.completion import finished
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, RPC, Cluster, MoveRecord, Partition
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE

Decision = tuple[KafkaError | None, list[PartitionChange]]
"""Why not, or None; what should stand: one value at most."""

AS_IT_IS = -1
"""Of a throttle: whatever the move has."""


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

    route, reason     by which the target came, and why: recorded with the move
    throttle          bytes/s of the move's lease; 0: it has none; AS_IT_IS: what it had, a new one none
    adding_must_live  brokers that are down may not be added (a target that came through ZooKeeper waits for them)
    even_uncleanly    cancel as for a topic that allows unclean election
    """
    partition = view.get(topic, index)
    standing = _out_of_reach(view.cluster, topic, index) if partition is None else partition
    to: Reassigned | None = None
    if target is not None:
        to = None if standing is None else reassign(standing, target, target_change.retained(standing, target))
        error = _invalid(view.cluster, target, to, adding_must_live=adding_must_live)
        if error is not None:
            return error, []
    elif standing is None or not standing.is_moving:
        return NoReassignmentInProgress(), []
    if partition is None:
        return UnknownTopicOrPartition("The partition does not exist."), []
    if expected is not None and partition.replicas != expected:
        return InvalidReplicaAssignment(
            f"The assignment is not the expected one: expected {list(expected)}, found {list(partition.replicas)}"
        ), []
    if target is None or to is None:
        return _move(
            view.cluster, topic, index, partition, cancel(partition), to_cancel=True, even_uncleanly=even_uncleanly
        )
    if not allow_replication_factor_change and len(target) != len(partition.target):
        return InvalidReplicationFactor(
            f"The replication factor is changed from {len(partition.target)} to {len(target)}"
        ), []
    if not partition.is_moving and partition.replicas == target:
        return None, []
    error = target_change.refused(view.cluster, topic, index, partition, target)
    if error is not None:
        return error, []
    return _move(
        view.cluster, topic, index, partition, to, to_cancel=False, route=route, reason=reason, throttle=throttle
    )


def _out_of_reach(cluster: Cluster, topic: str, index: int) -> Partition | None:
    """What stands for a partition that no command finds (its topic is being deleted): ZooKeeper mode still checks
    against it."""
    known = cluster.topics.get(topic)
    return None if known is None else known.partitions.get(index)


def _invalid(cluster: Cluster, target: Replicas, to: Reassigned | None, *, adding_must_live: bool) -> KafkaError | None:
    """Why a target cannot be; `to` is what it would come to, None where no such partition stands."""
    if not target:
        return InvalidReplicaAssignment("Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        return InvalidReplicaAssignment(
            f"Duplicate replica ids in partition reassignment replica list: {_sequence(target)}"
        )
    if min(target) < 0:
        return InvalidReplicaAssignment(f"Invalid broker id in replica list: {_sequence(target)}")
    # Only adding replicas have to be alive: what is there already may be kept, reordered or removed while down (B10).
    adding = target if to is None else to.adding
    if adding_must_live and not all(map(cluster.is_live, adding)):
        live = sorted(filter(cluster.is_live, cluster.brokers))
        return InvalidReplicaAssignment(
            "Replica assignment has brokers that are not alive."
            f" Replica list: {_sequence(adding)}, live broker list: {_set(live)}"
        )
    return None


def _sequence(replicas: Replicas) -> str:
    """As Kafka's message shows a list of replicas: scripts compare these texts."""
    return f"ArrayBuffer({', '.join(map(str, replicas))})"


def _set(brokers: list[int]) -> str:
    return f"{'Set' if len(brokers) <= 4 else 'HashSet'}({', '.join(map(str, brokers))})"


def _move(
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
    isr = among(partition.isr, to.replicas)
    leader, recovery = _leader(cluster, partition, to.replicas, isr), partition.leader_recovery_state
    if _is_unclean(cluster, partition, isr):
        live = first_live(cluster, to.replicas)
        may = even_uncleanly or allows_unclean(cluster, topic)
        if not may or (live is None and any(map(cluster.is_live, partition.isr))):
            return _refused(topic, index, to_cancel=to_cancel), []
        leader, isr, recovery = (NO_LEADER, to.replicas[:1], recovery) if live is None else (live, (live,), RECOVERING)
    value = replace(
        partition,
        replicas=to.replicas,
        adding=to.adding,
        removing=to.removing,
        pending_deletion=retire(partition, to.removed_at_once, to.replicas),
        leader=leader,
        isr=isr or partition.isr,
        leader_epoch=partition.leader_epoch + 1,
        leader_recovery_state=recovery,
        move=_record(partition, to, route, reason, throttle),
    )
    done = finished(cluster, value)
    if done is not None:  # one step for those who watch: the epoch rises once
        value = replace(done, leader_epoch=value.leader_epoch)
    return None, [PartitionChange(topic, index, value)]


def _record(partition: Partition, to: Reassigned, route: str, reason: str, throttle: int) -> MoveRecord | None:
    if not to.is_moving:
        return None
    target = to.replicas[: len(to.replicas) - len(to.removing)]
    if partition.move is not None and partition.is_moving:
        rate = partition.move.throttle if throttle == AS_IT_IS else throttle or NO_RATE
        return replace(partition.move, target=target, route=route, reason=reason, throttle=rate, retained=to.retained)
    return MoveRecord(
        target=target, original=partition.origin, route=route, reason=reason, throttle=throttle or NO_RATE
    )


def _leader(cluster: Cluster, partition: Partition, replicas: Replicas, isr: Replicas) -> int:
    """The leader stays unless it is dropped: then a live in-sync replica takes over, and it is never nobody
    while there is one (Kafka's ZooKeeper mode leaves the partition leaderless, D08)."""
    if partition.leader in replicas:
        return partition.leader
    elected = first_electable(cluster, replicas, isr)
    return NO_LEADER if elected is None else elected


def _is_unclean(cluster: Cluster, partition: Partition, isr: Replicas) -> bool:
    """Whether nobody who stays has all records, or nobody alive among them while somebody alive leaves."""
    if any(map(cluster.is_live, isr)):
        return False
    return any(map(cluster.is_live, partition.isr)) if isr else bool(partition.isr)


def _refused(topic: str, index: int, *, to_cancel: bool) -> KafkaError:
    what = "revert partition assignment" if to_cancel else "change the target of the reassignment"
    return InvalidReplicaAssignment(
        f"Unable to {what} for {topic}:{index} because it would require an unclean leader election."
    )
