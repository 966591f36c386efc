"""What a topic znode says of a partition."""

from collections.abc import Container

from msgspec.structs import replace

from kafka_reassign_rpc.core.state.cluster import Partition

DurableAssignment = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The topic znode's entry for a partition, as in `LoadedAssignment`.

A plain tuple, since a topic has thousands, and each write of its znode needs all of them.
"""


def durable_assignment(partition: Partition) -> DurableAssignment:
    """The entry for a partition: pending deletions are listed as removing."""
    replicas, removing, pending_deletion = partition.replicas, partition.removing, partition.pending_deletion
    return (
        (replicas + pending_deletion, partition.adding, removing + pending_deletion)
        if pending_deletion
        else (replicas, partition.adding, removing)
    )


def durable_in_deletion(partition: Partition, live: Container[int]) -> DurableAssignment:
    """The entry for a partition of a topic in deletion: all replicas that have to be deleted, and none that moves.

    A stock controller that takes over would otherwise continue the move: it starts replicas that are deleted already.
    The controller that begins the deletion still lists the move, as a stock controller does. A replica that is pending
    deletion counts where its broker lives (see `topic_changes.replicas_to_delete`).
    """
    waited_for = tuple([broker for broker in partition.pending_deletion if broker in live])
    return partition.replicas + waited_for, (), ()


def with_known_completion(known: Partition, read: Partition) -> Partition:
    """The partition as read again, without the move that the topic znode still shows although it is complete.

    That znode keeps the entry of a completed move while replicas are pending deletion (see `AssignmentWrite.LATER`). A
    new controller cannot know that the brokers have learnt of the completion, and completes the move again. This one
    knows: it would raise the leader epoch each time that others write the znode.
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
