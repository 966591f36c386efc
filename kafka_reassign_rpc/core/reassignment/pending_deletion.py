"""Brokers confirm that they have deleted replicas that left the assignment."""

from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView, assignment_write


def confirm_stopped(
    view: RoundView, topic: str, index: int, brokers: Collection[int], *, leader_epoch: int
) -> list[Change]:
    """`brokers` have deleted their pending replicas, or are gone.

    A confirmation of a StopReplica with an older leader epoch does not count: the replica may have been added and
    retired again since. Only the last confirmation writes the topic znode: after a failover the deletion is repeated.
    """
    partition = view.get(topic, index)
    if partition is None or leader_epoch < partition.leader_epoch:
        return []
    if not any(broker in partition.pending_deletion for broker in brokers):
        return []
    left = tuple(broker for broker in partition.pending_deletion if broker not in brokers)
    value = replace(partition, pending_deletion=left)
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]
