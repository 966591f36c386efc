"""What the state log says, replayed: the same for every server that reads it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import outcome_event
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, StoredName
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.kraft.round_records import MOST_MOVES, Memory, Move, RoundRecord, Setting, Waiting
from kafka_reassign_rpc.support.slices import pieces

ROOT = "state log"
"""Stands for the root of the queue: its parts are records of the log."""
JOINS = -1

Value = TypeVar("Value")


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
