"""The algebra of a reassignment (KIP-455, kafka.controller.ReplicaAssignment), whichever brokers are alive; and a
partition as its znodes show it, in the midst of one.

RS  replicas    the full replica set; during a move: the target, then the replicas to be removed
AR  adding      replicas of RS that the move adds
RR  removing    replicas of RS that leave at completion, last and in their present order, as in ZooKeeper mode
ORS origin      RS - AR, without the retained replicas
TRS target      RS - RR

A new target keeps the origin. Adding replicas that only the former target needed are removed at once, unless they are
`retained`. For example

    at rest                       [1,2,3]
    target [4,2,5]                RS [4,2,5,1,3]  AR [4,5]  RR [1,3]
    then target [6,2,3]           RS [6,2,3,1]    AR [6]    RR [1]    removed at once: [4,5]
    then cancelled                RS [1,2,3]                          removed at once: [6]
"""

from collections.abc import Collection, Container, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, Partition

Replicas = tuple[int, ...]
MIN_INSYNC_REPLICAS = "min.insync.replicas"


class Reassigned(NamedTuple):
    """After a decision. `removed_at_once`: in none of the new sets; `retained`: part of `removing`."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas
    removed_at_once: Replicas
    retained: Replicas = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)


def reassign(partition: Partition, target: Replicas, retained: Replicas = ()) -> Reassigned:
    origin = partition.origin
    removing = without(origin, target) + retained
    replicas = target + removing
    removed_at_once = without(partition.replicas, replicas) if partition.is_moving else ()
    return Reassigned(replicas, without(target, origin), removing, removed_at_once, retained)


def cancelled(partition: Partition) -> Reassigned:
    back = partition.original
    return Reassigned(back, adding=(), removing=(), removed_at_once=without(partition.replicas, back))


def without(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    return tuple([replica for replica in replicas if replica not in others])  # a list is twice as fast


def among(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    return tuple([replica for replica in replicas if replica in others])


def pending_deletion_after(partition: Partition, removed_at_once: Replicas, replicas: Replicas) -> Replicas:
    """The replicas that are pending deletion once `removed_at_once` have left.

    Those on dead brokers count: the topic znode still lists them as removing, so that a next controller propagates the
    change if this one dies first. One that the partition gets back does not: its broker first gets the pending
    StopReplica, so that the replica starts with an empty log.
    """
    if not partition.pending_deletion and not removed_at_once:
        return ()
    return without((*partition.pending_deletion, *without(removed_at_once, partition.pending_deletion)), replicas)


def added_for_former_target(partition: Partition, target: Replicas) -> Replicas:
    """Adding replicas that the new target does not need."""
    return without(partition.replicas, (*partition.origin, *target)) if partition.is_moving else ()


def retained(partition: Partition, target: Replicas) -> Replicas:
    """Those of `added_for_former_target` that stay until the new target is in sync; they count as removing.

    KIP-236's rule, with two additions: docs/decisions/0004 has it, why, and examples.
    """
    leaving = added_for_former_target(partition, target)
    if not leaving:
        return ()
    # Out-of-sync replicas would come next, staying ones first. Since at least `top` replicas stay anyway, no
    # out-of-sync replica of `leaving` can be among the first `top`.
    leader = (partition.leader,) if partition.leader in partition.replicas else ()
    existing = dict.fromkeys((*leader, *without(partition.isr, leaving), *partition.isr))
    top = max(len(partition.origin), 1)
    return among(leaving, list(existing)[:top])


def target_refusal(
    cluster: Cluster, topic: str, index: int, partition: Partition, target: Replicas
) -> KafkaError | None:
    """Refuses a target if fewer original replicas than min.insync.replicas would block producers (docs/decisions/0004).
    The original replicas amount to a cancel.
    """
    leaving = added_for_former_target(partition, target)
    if not leaving or target == partition.target or set(target) == set(partition.origin):
        return None
    top, needed = len(partition.origin), min_insync_replicas(cluster, topic)
    if top >= needed:
        return None
    return InvalidReplicaAssignment(
        f"Unable to change the target of the reassignment for {topic}:{index}: it began with {top} replica(s), fewer"
        f" than {MIN_INSYNC_REPLICAS}={needed}, so that dropping {list(leaving)} could cut producers off."
        " Cancel it first, or leave them in the target."
    )


def min_insync_replicas(cluster: Cluster, topic: str) -> int:
    """Of the topic, else the cluster's dynamic default, else (also if that is invalid) the brokers' static value."""
    found = number(cluster.topic_config(topic, MIN_INSYNC_REPLICAS, ""), 0, INT32)
    return cluster.soft.broker_settings.min_insync_replicas if found is None else found


def is_complete(cluster: Cluster, partition: Partition) -> bool:
    """Whether a move is over (KIP-455, phase B): one of these rules holds, and a live replica of the target can lead
    (or no live replica is in the ISR at all).

    - Kafka's in ZooKeeper mode: every target replica is in the ISR (KafkaController.isReassignmentComplete).
    - KAFKA-19975: every adding replica is in the ISR, and at least as many have joined the ISR as leave it now. So one
      sick staying replica does not block every move of its partitions: [1,2,3] -> [1,2,4] with 2 out of sync is
      complete at ISR [1,3,4]. A shrink ends at once if the removed replicas were out of sync; it waits if it would take
      in-sync replicas away while a staying one is out of sync.
    """
    if not partition.is_moving:
        return False
    isr = partition.isr
    target = partition.target
    staying = among(isr, target)
    if not staying:
        return False
    if len(staying) < len(target):
        leaving = len(isr) - len(staying)
        if len(partition.adding) < leaving or not set(partition.adding).issubset(isr):
            return False
    # The controller handles a dead broker partition by partition: before it comes to this one, the ISR may name it.
    return any(cluster.is_online(replica, partition) for replica in staying) or not any(
        cluster.is_online(replica, partition) for replica in isr
    )


def completed(cluster: Cluster, partition: Partition) -> Partition | None:
    """The partition after its move, None if that is not complete.

    A live leader in the target stays (behaviour G01), else the first live in-sync target replica leads (G02), else a
    leader in controlled shutdown stays until it is gone, if it is in the target and the ISR: Kafka's election fails
    then, which leaves the leader.
    """
    if not is_complete(cluster, partition):
        return None
    target = partition.target
    isr = among(partition.isr, target)
    leader = partition.leader
    if leader not in target or not cluster.is_online(leader, partition):
        online = (replica for replica in target if replica in isr and cluster.is_online(replica, partition))
        may_stay = leader in isr and leader in cluster.brokers and leader not in partition.offline
        leader = next(online, leader if may_stay else NO_LEADER)
    return replace(
        partition,
        replicas=target,
        adding=(),
        removing=(),
        pending_deletion=pending_deletion_after(partition, partition.removing, target),
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        move=None,
    )


DurableAssignment = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Replicas, adding, removing. A plain tuple: a topic has thousands, and each write of its znode needs all."""


def durable_assignment(partition: Partition) -> DurableAssignment:
    """Lists pending deletions as removing."""
    replicas, removing, pending_deletion = partition.replicas, partition.removing, partition.pending_deletion
    return (
        (replicas + pending_deletion, partition.adding, removing + pending_deletion)
        if pending_deletion
        else (replicas, partition.adding, removing)
    )


def durable_in_deletion(partition: Partition, live: Container[int]) -> DurableAssignment:
    """While its topic is deleted: all replicas to delete, and no move, which a stock controller that takes over would
    continue, starting deleted replicas. One that is pending deletion counts while its broker lives
    (`topic_deletion.replicas_to_delete`).
    """
    waited_for = tuple([broker for broker in partition.pending_deletion if broker in live])
    return partition.replicas + waited_for, (), ()


def with_known_completion(known: Partition, read: Partition) -> Partition:
    """Drops a move that the topic znode still shows although it is complete.

    The znode keeps it while replicas are pending deletion (`AssignmentWrite.LATER`). A new controller completes it
    again, since brokers may not know; this one would raise the leader epoch whenever others write the znode.
    """
    pending_deletion = known.pending_deletion
    if (
        not pending_deletion
        or known.is_moving
        or read.move is not None
        or read.target != known.replicas
        or read.created != known.created
        or not set(pending_deletion).issubset(read.removing)
        or not set(read.isr).issubset(known.replicas)
    ):
        return read
    return replace(read, replicas=known.replicas, adding=(), removing=(), pending_deletion=pending_deletion)


class LoadedAssignment(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class LoadedState(NamedTuple):
    """`version`: its zkVersion, `created`: its czxid."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int
    leader_recovery_state: int = 0
    created: int = -1


NO_STATE = LoadedState(leader=NO_LEADER, leader_epoch=0, isr=(), controller_epoch=0, version=-1)


def partition_of(
    assigned: LoadedAssignment, state: LoadedState | None, move: MoveRecord | None, *, is_latest: bool = False
) -> Partition:
    """Combines the znodes of a partition.

    If the record fits the assignment, removing replicas that are neither original nor retained are pending deletion. A
    record without a move stays; a controller failover removes it.

    is_latest   the record is newer than the topic znode: a change of target was interrupted between the two
    """
    pending_deletion: tuple[int, ...] = ()
    origin = without(assigned.replicas, assigned.adding)
    if move is not None and _fits(assigned, origin, move, is_latest=is_latest):
        pending_deletion = without(among(assigned.replicas, assigned.removing), (*move.original, *move.retained))
    state = state or NO_STATE
    return Partition(
        replicas=without(assigned.replicas, pending_deletion) if pending_deletion else assigned.replicas,
        adding=assigned.adding,
        removing=without(assigned.removing, pending_deletion) if pending_deletion else assigned.removing,
        pending_deletion=pending_deletion,
        move=move,
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )


def _fits(assigned: LoadedAssignment, origin: tuple[int, ...], move: MoveRecord, *, is_latest: bool) -> bool:
    """Whether the record is about the move in the znode.

    A stock controller leaves the record behind and may have moved the partition again. Then the replicas to remove are
    not pending deletion: they may be all that is in sync.
    """
    return (
        set(move.original) <= set(origin)
        and set(origin) - set(move.original) <= set(assigned.removing)
        and (is_latest or without(assigned.replicas, assigned.removing) in (move.terms.target, move.original))
    )
