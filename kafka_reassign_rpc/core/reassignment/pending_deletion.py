"""Replicas that are pending deletion, until their brokers confirm that the log is deleted."""

from collections.abc import Collection

import msgspec

from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, Change, PartitionChange, RoundView


def confirm_stopped(view: RoundView, topic: str, index: int, brokers: Collection[int]) -> list[Change]:
    """`brokers` have deleted their replicas of the partition that were pending deletion (or are gone).

    The last confirmation clears the topic znode. Earlier ones need no write: with the znode as it is, a next controller
    repeats the deletion.
    """
    partition = view.get(topic, index)
    if partition is None or not any(broker in partition.pending_deletion for broker in brokers):
        return []
    left = tuple(broker for broker in partition.pending_deletion if broker not in brokers)
    return [
        PartitionChange(
            topic,
            index,
            msgspec.structs.replace(partition, pending_deletion=left),
            AssignmentWrite.LATER if left else AssignmentWrite.NOW,
        )
    ]
