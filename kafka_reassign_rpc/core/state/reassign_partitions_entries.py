"""`/admin/reassign_partitions` (the batch) and its entries, as values; and what a round does to them."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.state.partition import BATCH, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class BatchEntry(msgspec.Struct, frozen=True):
    """original        the replica set before the move; the controller writes it before anything moves
    not_cancelled   why a cancel of the batch has skipped this entry
    """

    target: tuple[int, ...]
    original: tuple[int, ...] | None = None
    not_cancelled: str | None = None

    @property
    def terms(self) -> MoveTerms:
        return MoveTerms(self.target, BATCH)


class BatchZnode(msgspec.Struct, frozen=True):
    """`/admin/reassign_partitions`, as last read or written.

    changed         its mzxid: the higher one is the newer reading, even if the znode was deleted and created in between
    version         its zkVersion
    unreadable      it stays as it is: only its author knows what it should be
    needs_rewrite   some of its content is invalid, so the controller rewrites it
    has_children    ZooKeeper does not delete it, since it has children that others made
    stripped        entries whose original replicas others have removed during the move
    waiting         number of entries that wait because reassignments are disabled
    lacks_room      entries wait because their original replicas would not fit into the znode
    room            bytes that may be added to it
    """

    entries: Mapping[TopicPartition, BatchEntry] = {}
    version: int = -1
    changed: int = -1
    unreadable: bool = False
    needs_rewrite: bool = False
    has_children: bool = False
    stripped: frozenset[TopicPartition] = frozenset()
    waiting: int = 0
    lacks_room: bool = False
    room: int = 1 << 20


class CancelAll(msgspec.Struct, frozen=True):
    """`/admin/cancel_reassignment_in_progress`. `id`: its czxid; with children it stays."""

    id: int
    has_children: bool = False


class BatchChanges:
    """What a round does to the batch. "First" is durable before anything moves, "last" comes at the end.

    started               first: entries with their original replicas
    withdrawn             first: entries of partitions whose target or move a client has changed or cancelled
    ended                 last: entries that are completed, rolled back or refused
    noted                 last: entries that stay, with a note
    rewrite               the controller writes the znode even if no entry changes, since its content is invalid
    cancelled             last of all: the cancel znode that was carried out
    waiting, lacks_room   see `BatchZnode`; None if unchanged
    """

    def __init__(self) -> None:
        self.started: dict[TopicPartition, BatchEntry] = {}
        self.withdrawn: dict[TopicPartition, None] = {}
        self.ended: dict[TopicPartition, None] = {}
        self.noted: dict[TopicPartition, BatchEntry] = {}
        self.rewrite = False
        self.cancelled: CancelAll | None = None
        self.waiting: int | None = None
        self.lacks_room: bool | None = None
