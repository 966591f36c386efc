"""The batch in `/admin/reassign_partitions`, as values; what is decided about it stands in
`core.znode_routes.reassign_partitions`."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class BatchEntry(msgspec.Struct, frozen=True):
    """What the batch wants of one partition.

    original        the replica set that stood before its move, which the controller adds before anything moves
    not_cancelled   why a cancel of the batch has left this entry alone
    """

    target: tuple[int, ...]
    original: tuple[int, ...] | None = None
    not_cancelled: str | None = None


class BatchZnode(msgspec.Struct, frozen=True):
    """The znode as it was last read or written.

    version     its zkVersion
    changed     its mzxid: tells which of two readings is the newer one, whether it was made anew or changed
    unreadable  it is no batch at all, and stays as it is: only whoever wrote it knows what it was to be
    flawed      it says something that no entry stands for, and is to be written anew
    occupied    somebody has put znodes under it: it cannot be deleted
    stripped    entries whose original replicas somebody has taken out while the partition was moving
    waiting     how many entries wait for the guard
    crowded     entries wait because their original replicas would not fit into the znode beside the others'
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


class CancelAll(msgspec.Struct, frozen=True):
    """`/admin/cancel_reassignment_in_progress` is there. `id`: its czxid; `occupied`: it cannot be deleted."""

    id: int
    occupied: bool = False


class BatchChanges:
    """What a round does to the batch. What comes first is durable before anything moves; the rest comes last.

    started     first: entries with their original replicas
    withdrawn   first: entries whose partitions were given another target, or cancelled, by a client
    ended       last: entries that are done, rolled back, or refused
    noted       last: entries that stay, with a note
    rewrite     the znode holds what it should not, and is to hold what is left even if that has not changed
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
