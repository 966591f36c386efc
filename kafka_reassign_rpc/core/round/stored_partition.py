"""A partition as its znodes show it, and its entry in the topic znode."""

from collections.abc import Container
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import among, without
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, Partition

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
