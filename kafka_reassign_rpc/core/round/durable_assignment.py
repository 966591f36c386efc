"""A partition's entry in the topic znode."""

from collections.abc import Container

from msgspec.structs import replace

from kafka_reassign_rpc.core.state.partition import Partition

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
