"""What is durable of a round: a JSON document with its version, or several if it is large. Fields are left out where
they say nothing. And what the state log says by such documents, replayed: the same for every server that reads it.

A later version may add fields; it must read these. What it cannot do without, an earlier one must not read: then it
raises the version.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import INT32, TOPICS
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import Outcome, outcome_event
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, StoredName, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.slices import pieces

VERSION = 1
MOST_MOVES = 1_000
"""Partitions, or memories, in one document: it is written and read in one turn of the event loop."""
LARGEST = 1 << 20
"""Bytes of a document, unless it is about one partition, and of a commit of several: far less than one of the state log
may have."""
ROOT = "state log"
"""Stands for the root of the queue: its parts are records of the log."""
JOINS = -1

Value = TypeVar("Value")


class BadRound(Exception):
    """A document that this version does not understand."""


class Move(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`record`: None once the move is over. A new one has no id: the record's offset is its id."""

    topic: str
    partition: int
    record: MoveRecord | None = None


class Ended(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How the move of a partition has ended that was recorded before, with what `outcome_event` needs else."""

    topic: str
    partition: int
    outcome: Outcome
    replicas: tuple[int, ...] | None = None
    reason: str = ""


class Waiting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """In the part of the queue that the record at offset `part` has made; `move`: None once it has left."""

    part: int
    topic: str
    partition: int
    move: WaitingMove | None = None


class Memory(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What is remembered of configs that a lease has changed: of a topic, or of a broker.

    after  while they change: what is remembered afterwards
    """

    kind: str
    name: str
    topic: TopicMemory | None = None
    broker: BrokerMemory | None = None
    topic_after: TopicMemory | None = None
    broker_after: BrokerMemory | None = None


class Setting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A setting of all servers. `value`: None once it is deleted. `by`: who has given it this value, or deleted it."""

    name: str
    value: str | None = None
    by: Requester | None = None


class RoundRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """at        ms since the epoch, by the server's clock
    version   None until it is written
    ids       ids of topics that `moves` and `waiting` name
    waiting   `part` -1 joins the queue, in a part of its own; others change or leave
    failed    see `Cluster`; None: over
    server    who leads, by its name in its claim: in a snapshot, which has deleted that
    page      the address of its status page
    ended     moves that `moves` ends, or gives another record: each makes one outcome more
    recorded  so many outcomes, of all that there ever were, are in event logs; 0: nothing new
    outcomes  those that are not: in a snapshot, which has deleted their records
    settings  of all servers that change: one that this version does not know stays as a later one has written it
    imported  digests of files that were taken in (`importing`)
    """

    at: int
    version: int | None = None
    ids: dict[str, str] = {}
    moves: Sequence[Move] = ()
    waiting: Sequence[Waiting] = ()
    failed: dict[int, int | None] = {}
    log_dirs: dict[int, FailedLogDirs | None] = {}
    memories: Sequence[Memory] = ()
    server: str = ""
    page: str = ""
    ended: Sequence[Ended] = ()
    recorded: int = 0
    outcomes: Sequence[Event] = ()
    settings: Sequence[Setting] = ()
    imported: Sequence[str] = ()


class _Version(msgspec.Struct):
    version: int


_json = msgspec.json.Encoder()
_version = msgspec.json.Decoder(_Version)
_record = msgspec.json.Decoder(RoundRecord)


def encode(record: RoundRecord) -> bytes:
    return _json.encode(replace(record, version=VERSION))


class Document(NamedTuple):
    record: RoundRecord
    data: bytes


def documents(record: RoundRecord, most: int = MOST_MOVES) -> Iterator[Document]:
    """The record in documents that are not too large, each with all that it says of its partitions: they may become
    durable one by one. Moves join the queue in their order.
    """
    for piece in _pieces(record, most):
        data = encode(piece)
        if len(data) > LARGEST and most > 1:
            yield from documents(piece, most // 2)
        else:
            yield Document(piece, data)


def commits(record: RoundRecord) -> Iterator[list[Document]]:
    """The documents that become durable together."""
    some: list[Document] = []
    size = 0
    for one in documents(record):
        if some and size + len(one.data) > LARGEST:
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one.data)
    yield some


def _pieces(record: RoundRecord, most: int) -> Iterator[RoundRecord]:
    if len(record.moves) + len(record.waiting) + len(record.memories) <= most:
        yield record
        return
    by_name: dict[tuple[str, int], tuple[list[Waiting], list[Move], list[Ended]]] = {}
    for one in record.waiting:
        by_name.setdefault((one.topic, one.partition), ([], [], []))[0].append(one)
    for move in record.moves:
        by_name.setdefault((move.topic, move.partition), ([], [], []))[1].append(move)
    for end in record.ended:
        by_name.setdefault((end.topic, end.partition), ([], [], []))[2].append(end)
    moved = {move.topic for move in record.moves}
    others = {topic: id_ for topic, id_ in record.ids.items() if topic not in moved}
    rest = replace(record, ids=others, moves=(), waiting=(), memories=(), ended=())
    for some in pieces([*by_name.values()], most):
        moves = [move for _, of_one, _ in some for move in of_one]
        ended = [end for _, _, of_one in some for end in of_one]
        ids = {move.topic: record.ids[move.topic] for move in moves if move.topic in record.ids}
        waiting = [one for of_one, _, _ in some for one in of_one]
        yield replace(rest, ids={**rest.ids, **ids}, moves=moves, waiting=waiting, ended=ended)
        rest = RoundRecord(at=record.at)
    for memories in pieces(record.memories, most):
        yield replace(rest, memories=memories)
        rest = RoundRecord(at=record.at)


def decode(data: bytes) -> RoundRecord:
    """Raises BadRound."""
    try:
        version = _version.decode(data).version
        if version != VERSION:
            raise BadRound(f"version {version} of a round is not known to this release, which knows {VERSION}")
        record = _record.decode(data)
    except msgspec.MsgspecError as error:
        raise BadRound(f"a round cannot be read: {error}: {shown(data)}") from None
    named = [*(one.partition for one in record.moves), *(one.partition for one in record.waiting)]
    if any(not 0 <= partition <= INT32 for partition in named):
        raise BadRound("a round names a partition that cannot be")
    return record


class Remembered(NamedTuple):
    """`after`: while the configs change, what is remembered afterwards; None: they are not changing."""

    memory: TopicMemory | BrokerMemory
    after: TopicMemory | BrokerMemory | None = None


class Intents:
    """moves     of partitions
    ids       of their topics, and of those that moves wait for, "" if not known
    queue     parts by the offset of the record that has made them
    outcomes  of moves, as events that may be in no event log yet; `recorded`: so many before them are in one
    settings  of all servers, also those that were deleted: they tell by whom
    imported  digests of files that were taken in
    """

    def __init__(self) -> None:
        self.moves: dict[TopicPartition, MoveRecord] = {}
        self.ids: dict[str, str] = {}
        self.queue: dict[int, QueuePart] = {}
        self.failed: dict[int, int] = {}
        self.log_dirs: dict[int, FailedLogDirs] = {}
        self.memories: dict[Entity, Remembered] = {}
        self.outcomes: list[Event] = []
        self.recorded = 0
        self.settings: dict[str, Setting] = {}
        self.imported: set[str] = set()

    @property
    def set_now(self) -> dict[str, str]:
        """The settings of all servers."""
        return {name: one.value for name, one in self.settings.items() if one.value is not None}

    def apply(self, record: RoundRecord, offset: int) -> Iterator[int]:
        """Yields the parts of the queue that it has changed, and after each move."""
        self.ids |= record.ids
        self.imported.update(record.imported)
        if record.recorded:
            del self.outcomes[: max(0, record.recorded - self.recorded)]
            self.recorded = max(record.recorded, self.recorded)
        self.outcomes += record.outcomes
        for one in record.ended:
            name = TopicPartition(one.topic, one.partition)
            known = self.moves.get(name)
            if known is not None:
                self.outcomes.append(outcome_event(name, known, one.outcome, one.replicas, one.reason))
            yield JOINS
        for topic, partition, move in ((one.topic, one.partition, one.record) for one in record.moves):
            name = TopicPartition(topic, partition)
            if move is None:
                self.moves.pop(name, None)
            else:
                self.moves[name] = move if move.id is not None else replace(move, id=offset, started=record.at)
            yield JOINS
        yield from self._queue_after(record.waiting, offset)
        _put(self.failed, record.failed)
        _put(self.log_dirs, record.log_dirs)
        for memory in record.memories:
            self._remember(memory)
        self.settings |= {one.name: one for one in record.settings}

    def _queue_after(self, changes: Sequence[Waiting], offset: int) -> Iterator[int]:
        found: dict[int, dict[StoredName, Waiting]] = {}
        for one in changes:
            found.setdefault(offset if one.part == JOINS else one.part, {})[one.topic, one.partition] = one
        for part, moves in found.items():
            known = self.queue.get(part, QueuePart(ROOT, path_of(part), created=part))
            entries = dict(known.entries)
            for name, one in moves.items():
                if one.move is None:
                    entries.pop(name, None)
                else:
                    entries[name] = one.move
            if entries:
                self.queue[part] = replace(known, entries=entries, version=known.version + 1, changed=offset)
            else:
                self.queue.pop(part, None)
            yield part

    def _remember(self, one: Memory) -> None:
        entity = Entity(one.kind, one.name)
        memory, after = (
            (one.topic or TopicMemory(), one.topic_after)
            if one.kind == TOPICS
            else (one.broker or BrokerMemory(), one.broker_after)
        )
        if memory or after:
            self.memories[entity] = Remembered(memory, after)
        else:
            self.memories.pop(entity, None)

    def snapshot(self, at: int) -> Iterator[RoundRecord]:
        """Records that give the same intents, applied one after the other at any offset."""
        named = {name.topic for name in self.moves} | {name for part in self.queue.values() for name, _ in part.entries}
        self.ids = {topic: id_ for topic, id_ in self.ids.items() if topic in named}
        yield RoundRecord(
            at=at,
            ids=self.ids,
            failed=dict(self.failed),
            log_dirs=dict(self.log_dirs),
            memories=[memory_of(entity, one) for entity, one in self.memories.items()],
            recorded=self.recorded,
            settings=list(self.settings.values()),
            imported=sorted(self.imported),
        )
        for outcomes in pieces(self.outcomes, MOST_MOVES):
            yield RoundRecord(at=at, outcomes=outcomes)
        for some in pieces([Move(*name, move) for name, move in self.moves.items()], MOST_MOVES):
            yield RoundRecord(at=at, moves=some)
        for number, part in self.queue.items():
            for waiting in pieces([Waiting(number, *name, move) for name, move in part.entries.items()], MOST_MOVES):
                yield RoundRecord(at=at, waiting=waiting)


def path_of(part: int) -> str:
    return f"{ROOT} {part}"


def part_of(path: str) -> int:
    return int(path.removeprefix(f"{ROOT} "))


def memory_of(entity: Entity, one: Remembered) -> Memory:
    memory, after = one
    if isinstance(memory, TopicMemory):
        return Memory(*entity, topic=memory, topic_after=after if isinstance(after, TopicMemory) else None)
    return Memory(*entity, broker=memory, broker_after=after if isinstance(after, BrokerMemory) else None)


def _put(known: dict[int, Value], changes: Mapping[int, Value | None]) -> None:
    for key, value in changes.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
