"""`/admin/reassign_partitions`: Kafka's JSON (kafka.zk.ReassignPartitionsZNode), with KIP-236's original replicas.

    {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2,4],"original_replicas":[1,2,3]}]}

The queue has the same format. To the moves that the controller itself has queued it adds the `route` where it is not
the queue, the `reason`, the `throttle`, and `moves_per_broker`, its own cap.

People write this znode by hand as often as tools do. So an error is reported for its entry alone; BadZnode is raised
only where nothing can be understood, or where too many entries are malformed. A large znode is decoded in a thread.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.cluster import BATCH, HEAL, QUEUE, REQUEST, RPC, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import StoredName, WaitingMove
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchEntry
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.zookeeper.entry_problems import EntryProblems
from kafka_reassign_rpc.zookeeper.znode_contents import MAX_INT32, MAX_INT64, Id
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, Undecodable, decode_json, parse

VERSION = 1

_Broker = Annotated[int, msgspec.Meta(ge=-(2**31), le=MAX_INT32)]
"""May be a number that is no broker's id: the decision about the target reports that."""


EMPTY = b'{"version":1,"partitions":[]}'
"""The content of a queue's znode whose moves are in its parts."""

_ROUTES = frozenset((RPC, BATCH, QUEUE, REQUEST, HEAL))


class Reassignments(NamedTuple):
    """The entries in their order, and the errors of malformed ones."""

    entries: dict[TopicPartition, BatchEntry]
    problems: list[str]


class _Wanted(msgspec.Struct):
    topic: str
    partition: Id
    replicas: tuple[_Broker, ...]


class _Entry(_Wanted):
    original_replicas: tuple[_Broker, ...] | None = None
    cancel_skipped: str | None = None
    route: str = QUEUE
    reason: str = ""
    throttle: Annotated[int, msgspec.Meta(le=MAX_INT64)] = -1
    moves_per_broker: Annotated[int, msgspec.Meta(le=MAX_INT32)] = -1


class _Written(msgspec.Struct, omit_defaults=True, gc=False):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    original_replicas: tuple[int, ...] | None = None
    cancel_skipped: str | None = None


class _WrittenMove(msgspec.Struct, omit_defaults=True, gc=False):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    route: str = QUEUE
    reason: str = ""
    throttle: int = -1
    moves_per_broker: int = -1


class _Typed(msgspec.Struct):
    partitions: list[_Entry]
    version: int = VERSION


class _Raw(msgspec.Struct):
    partitions: list[msgspec.Raw]
    version: int = VERSION


_typed = msgspec.json.Decoder(_Typed)
_raw = msgspec.json.Decoder(_Raw)
_entry = msgspec.json.Decoder(_Entry)
_wanted = msgspec.json.Decoder(_Wanted)
_json = msgspec.json.Encoder()


def decode_reassignments(data: bytes, path: str) -> Reassignments:
    """The entries by partition. Of two entries for the same partition the later one counts, as in Kafka."""
    problems = EntryProblems(path)
    entries: dict[TopicPartition, BatchEntry] = {}
    for found in _entries(data, path, problems):
        name = TopicPartition(found.topic, found.partition)
        if name in entries:
            del entries[name]
            problems.add(f"{shortened(found.topic)}-{found.partition} stands there twice: the later entry counts")
        entries[name] = BatchEntry(found.replicas, found.original_replicas, found.cancel_skipped)
    return Reassignments(entries, problems.texts())


def _entries(data: bytes, path: str, problems: EntryProblems) -> Iterator[_Entry]:
    try:
        typed = parse(_typed, data)
    except Undecodable:
        yield from _one_by_one(data, path, problems)
    else:
        _check(typed.version, path)
        yield from typed.partitions


def _one_by_one(data: bytes, path: str, problems: EntryProblems) -> Iterator[_Entry]:
    raw = decode_json(_raw, data, path)
    _check(raw.version, path)
    for position, one in enumerate(raw.partitions):
        try:
            yield parse(_entry, one)
            continue
        except Undecodable as error:
            problems.add_wrong(f"entry {position}: {error}")
        try:
            wanted = parse(_wanted, one)
        except Undecodable:
            continue
        yield _Entry(wanted.topic, wanted.partition, wanted.replicas)


def _check(version: int, path: str) -> None:
    if version != VERSION:
        raise BadZnode(path, f"unknown version {shown(version)}")


def encode_reassignments(entries: Mapping[TopicPartition, BatchEntry]) -> bytes:
    """Encodes the entries. `cancel_skipped` says why a cancel has left an entry alone, for the operator who
    reads it."""
    partitions = [
        _Written(name[0], name[1], entry.target, entry.original, entry.not_cancelled) for name, entry in entries.items()
    ]
    return _json.encode({"version": VERSION, "partitions": partitions})


# --------------------------------------------------------------------------------------------------------- the queue


class QueueEntries(NamedTuple):
    """The moves of one part in their order, and the errors of malformed entries."""

    entries: dict[StoredName, WaitingMove]
    problems: list[str]


def decode_queue(data: bytes, path: str) -> QueueEntries:
    """Decodes a part of the queue. Raises BadZnode where nothing can be understood."""
    problems = EntryProblems(path)
    entries: dict[StoredName, WaitingMove] = {}
    for found in _entries(data, path, problems):
        name = (found.topic, found.partition)
        if entries.pop(name, None) is not None:
            problems.add(f"{shortened(found.topic)}-{found.partition} stands there twice: the later entry counts")
        route = found.route if found.route in _ROUTES else QUEUE
        cap = found.moves_per_broker if found.moves_per_broker > 0 else -1
        entries[name] = WaitingMove(found.replicas, route, found.reason, max(found.throttle, -1), cap)
    return QueueEntries(entries, problems.texts())


def encode_waiting(name: StoredName, move: WaitingMove) -> bytes:
    """One move of a part."""
    return _json.encode(
        _WrittenMove(name[0], name[1], move.target, move.route, move.reason, move.throttle, move.moves_per_broker)
    )


def encode_queue(entries: Iterable[bytes]) -> bytes:
    """A part, made of the bytes that `encode_waiting` returns."""
    return b'{"version":%d,"partitions":[%b]}' % (VERSION, b",".join(entries))
