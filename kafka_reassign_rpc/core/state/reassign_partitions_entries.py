"""The batch: entries of `/admin/reassign_partitions`, and its cancel znode, as values.

`core.znode_routes.reassign_partitions` decides what happens to each entry.
"""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class BatchEntry(msgspec.Struct, frozen=True):
    """One entry: the target of one partition.

    original        the replica set before the move; the controller writes it before anything moves
    not_cancelled   why a cancel of the batch did not cancel this entry
    """

    target: tuple[int, ...]
    original: tuple[int, ...] | None = None
    not_cancelled: str | None = None


class BatchZnode(msgspec.Struct, frozen=True):
    """The znode `/admin/reassign_partitions`, as last read or written.

    version     its zkVersion
    changed     its mzxid: of two readings the one with the higher mzxid is newer, even if the znode was created anew
    unreadable  it cannot be decoded, and stays as it is: only its author knows what it was to be
    flawed      some of its content became no entry, so that the controller writes it anew
    occupied    it has children of somebody else: ZooKeeper does not delete it
    stripped    entries whose original replicas somebody has taken out during the move
    waiting     number of entries that wait because reassignments are disabled
    crowded     entries wait because their original replicas would not fit into the znode
    room        bytes that may be added to it
    """

    entries: Mapping[TopicPartition, BatchEntry] = {}
    version: int = -1
    changed: int = -1
    unreadable: bool = False
    flawed: bool = False
    occupied: bool = False
    stripped: frozenset[TopicPartition] = frozenset()
    waiting: int = 0
    crowded: bool = False
    room: int = 1 << 20


class CancelAll(msgspec.Struct, frozen=True):
    """`/admin/cancel_reassignment_in_progress` exists. `id`: its czxid; `occupied`: it has children, and stays."""

    id: int
    occupied: bool = False


class BatchChanges:
    """What a round does to the batch. "First" is durable before anything moves, "last" comes at the end.

    started     first: entries with their original replicas
    withdrawn   first: entries of partitions to which a client gave another target, or whose move a client cancelled
    ended       last: entries that are completed, rolled back or refused
    noted       last: entries that stay, with a note
    rewrite     the znode has invalid content: the controller writes it even if no entry changes
    cancelled   last of all: the cancel znode that was carried out
    waiting, crowded    see `BatchZnode`; None: as before
    """

    def __init__(self) -> None:
        self.started: dict[TopicPartition, BatchEntry] = {}
        self.withdrawn: dict[TopicPartition, None] = {}
        self.ended: dict[TopicPartition, None] = {}
        self.noted: dict[TopicPartition, BatchEntry] = {}
        self.rewrite = False
        self.cancelled: CancelAll | None = None
        self.waiting: int | None = None
        self.crowded: bool | None = None
