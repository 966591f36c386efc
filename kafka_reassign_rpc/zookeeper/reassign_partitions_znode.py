"""`/admin/reassign_partitions`: Kafka's JSON (kafka.zk.ReassignPartitionsZNode), with KIP-236's original replicas.

    {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2,4],"original_replicas":[1,2,3]}]}

The queue has the same format, and more fields of the moves that the controller itself has queued: see docs/znodes.md.
What cannot be read there holds the move, or leaves it out.

People write this znode by hand as often as tools do. So an error is reported for its entry alone; BadZnode is raised
only where nothing can be understood, or where too many entries are malformed. A large znode is decoded in a thread.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.partition import BATCH, HEAL, QUEUE, REQUEST, RPC, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, Held, StoredName, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.zookeeper.transactions import MAX_STEP_BYTES
from kafka_reassign_rpc.zookeeper.znode_contents import LAST_MS
from kafka_reassign_rpc.zookeeper.znode_decoder import (
    MAX_INT32,
    MAX_INT64,
    BadZnode,
    EntryProblems,
    Id,
    StoredClient,
    Undecodable,
    decode_json,
    parse,
    stored_client,
)

VERSION = 1
MAX_BYTES = MAX_STEP_BYTES - 4096
"""How many bytes the batch may take. The rest is for the path and for the notes of a cancel."""


_Broker = Annotated[int, msgspec.Meta(ge=-(2**31), le=MAX_INT32)]
"""It may be a number that is no broker's id: the decision about the target reports that."""


EMPTY = b'{"version":1,"partitions":[]}'
"""The content of a queue's znode whose moves are in its parts."""

_ROUTES = frozenset((RPC, BATCH, QUEUE, REQUEST, HEAL))


class Reassignments(NamedTuple):
    entries: dict[TopicPartition, BatchEntry]
    problems: list[str]


class _Wanted(msgspec.Struct):
    topic: str
    partition: Id
    replicas: tuple[_Broker, ...]
    held: Any = None  # any value holds the move
    expected_replicas: tuple[_Broker, ...] | None = None
    unapproved_since: Any = None  # with any value the move needs approval


class _Entry(_Wanted):
    original_replicas: tuple[_Broker, ...] | None = None
    cancel_skipped: str | None = None
    route: str = QUEUE
    reason: str = ""
    throttle: Annotated[int, msgspec.Meta(le=MAX_INT64)] = -1
    moves_per_broker: Annotated[int, msgspec.Meta(le=MAX_INT32)] = -1
    lifts: bool = False
    client: Any = None  # a broken one costs the entry nothing else


class _WrittenMove(msgspec.Struct, omit_defaults=True, gc=False):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    route: str = QUEUE
    reason: str = ""
    throttle: int = -1
    moves_per_broker: int = -1
    client: int | None = None
    held: Held | None = None
    expected_replicas: tuple[int, ...] | None = None
    lifts: bool = False
    unapproved_since: int | None = None
    original_replicas: tuple[int, ...] | None = None
    cancel_skipped: str | None = None


class _Typed(msgspec.Struct):
    partitions: list[_Entry]
    version: int = VERSION
    clients: Any = None


class _Raw(msgspec.Struct):
    partitions: list[msgspec.Raw]
    version: int = VERSION
    clients: Any = None


_typed = msgspec.json.Decoder(_Typed)
_raw = msgspec.json.Decoder(_Raw)
_entry = msgspec.json.Decoder(_Entry)
_wanted = msgspec.json.Decoder(_Wanted)
_json = msgspec.json.Encoder()


def decode_reassignments(data: bytes, path: str) -> Reassignments:
    """Of two entries for the same partition the later one counts, as in Kafka."""
    problems = EntryProblems(path)
    entries: dict[TopicPartition, BatchEntry] = {}
    for found in _read(data, path, problems).entries:
        name = TopicPartition(found.topic, found.partition)
        if name in entries:
            del entries[name]
            problems.add(f"{shortened(found.topic)}-{found.partition} is there twice: the later entry counts")
        entries[name] = BatchEntry(found.replicas, found.original_replicas, found.cancel_skipped)
    return Reassignments(entries, problems.texts())


class _Contents(NamedTuple):
    entries: Iterable[_Entry]
    clients: object


def _read(data: bytes, path: str, problems: EntryProblems) -> _Contents:
    try:
        typed = parse(_typed, data)
    except Undecodable:
        raw = decode_json(_raw, data, path)
        _check(raw.version, path)
        return _Contents(_one_by_one(raw.partitions, problems), raw.clients)
    _check(typed.version, path)
    return _Contents(typed.partitions, typed.clients)


def _one_by_one(partitions: Iterable[msgspec.Raw], problems: EntryProblems) -> Iterator[_Entry]:
    for position, one in enumerate(partitions):
        try:
            yield parse(_entry, one)
            continue
        except Undecodable as error:
            problems.add_wrong(f"entry {position}: {error}")
        try:
            wanted = parse(_wanted, one)
        except Undecodable:
            continue
        yield _Entry(**msgspec.structs.asdict(wanted))


def _check(version: int, path: str) -> None:
    if version != VERSION:
        raise BadZnode(path, f"unknown version {shown(version)}")


def encode_reassignments(entries: Mapping[TopicPartition, BatchEntry]) -> bytes:
    """`cancel_skipped` says why a cancel has not touched an entry, for the operator who reads it."""
    partitions = [
        _WrittenMove(*name, entry.target, original_replicas=entry.original, cancel_skipped=entry.not_cancelled)
        for name, entry in entries.items()
    ]
    return _json.encode({"version": VERSION, "partitions": partitions})


def room_beside(data: bytes) -> int:
    return MAX_BYTES - len(data)


# --------------------------------------------------------------------------------------------------------- the queue


class QueueEntries(NamedTuple):
    entries: dict[StoredName, WaitingMove]
    problems: list[str]


def decode_queue(data: bytes, path: str) -> QueueEntries:
    """Raises BadZnode if nothing can be decoded."""
    problems = EntryProblems(path)
    entries: dict[StoredName, WaitingMove] = {}
    contents = _read(data, path, problems)
    clients = _clients(contents.clients, problems)
    for found in contents.entries:
        name = (found.topic, found.partition)
        if entries.pop(name, None) is not None:
            problems.add(f"{shortened(found.topic)}-{found.partition} is there twice: the later entry counts")
        route = found.route if found.route in _ROUTES else QUEUE
        cap = found.moves_per_broker if found.moves_per_broker > 0 else None
        by = None
        if found.client is not None:
            by = clients.get(found.client) if isinstance(found.client, int) else None
            if by is None:
                problems.add(f"{shortened(found.topic)}-{found.partition}: there is no client {shown(found.client)}")
        held = None if found.held is None else _held(found.held, name, problems)
        expected = found.expected_replicas
        throttle = found.throttle if found.throttle >= 0 else None
        unapproved = None if found.unapproved_since is None else _time(found.unapproved_since)
        terms = MoveTerms(found.replicas, route, found.reason, throttle, found.lifts, cap, expected, by)
        entries[name] = WaitingMove(terms, held, unapproved, found.original_replicas)
    return QueueEntries(entries, problems.texts())


def _held(found: object, name: StoredName, problems: EntryProblems) -> Held:
    try:
        held = msgspec.convert(found, Held)
        wrong = "" if 0 <= held.since <= LAST_MS else f"the time {shown(held.since)}"
    except msgspec.ValidationError as error:
        wrong = str(error)
    if not wrong:
        return held
    problems.add(f"{shortened(name[0])}-{name[1]} is held, and not known since when and by whom: {wrong}")
    return Held()


def _time(found: object) -> int:
    """Ms since the epoch; 0: not known."""
    return found if isinstance(found, int) and 0 <= found <= LAST_MS else 0


def _clients(found: object, problems: EntryProblems) -> dict[int, Requester]:
    clients: dict[int, Requester] = {}
    if found is not None and not isinstance(found, list):
        problems.add("its clients are no list")
    for place, one in enumerate(found if isinstance(found, list) else ()):
        try:
            clients[place] = msgspec.convert(one, StoredClient).requester()
        except msgspec.ValidationError as error:
            problems.add_wrong(f"client {place}: {error}")
    return clients


class QueuePartContent:
    """`size`: its approximate bytes."""

    def __init__(self) -> None:
        self._moves: list[bytes] = []
        self._clients: dict[Requester, int] = {}
        self.size = 0

    def add(self, name: StoredName, move: WaitingMove) -> None:
        terms = move.terms
        written = _WrittenMove(
            name[0],
            name[1],
            terms.target,
            terms.route,
            terms.reason,
            -1 if terms.throttle is None else terms.throttle,
            -1 if terms.moves_per_broker is None else terms.moves_per_broker,
            None if terms.by is None else self._place(terms.by),
            move.held,
            terms.expected,
            terms.lifts,
            move.unapproved,
            move.origin,
        )
        one = _json.encode(written)
        self._moves.append(one)
        self.size += len(one)

    def _place(self, by: Requester) -> int:
        if by not in self._clients:
            self._clients[by] = len(self._clients)
            self.size += len(_json.encode(stored_client(by)))
        return self._clients[by]

    def encode(self) -> bytes:
        clients = b""
        if self._clients:
            clients = b'"clients":%b,' % _json.encode([stored_client(by) for by in self._clients])
        return b'{"version":%d,%b"partitions":[%b]}' % (VERSION, clients, b",".join(self._moves))
