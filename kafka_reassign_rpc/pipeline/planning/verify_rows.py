"""What a task finds in the partitions of a plan: the rules that each breaks by itself, and sums for the limits.

It shares nothing with the planner. Executors import this module, so it needs the standard library alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from kafka_reassign_rpc.pipeline.planning.plan_rules import MovedPartition, PlanFacts, broken_rules

NAMED_ROWS = 20
"""Rows that are named of those that break a rule."""


class TableMove(NamedTuple):
    """A row of the table of moves, without its partition."""

    original: Sequence[int]
    target: Sequence[int]
    leader: int
    copied: int
    batch: int
    priority: int
    first_leader: int | None


class FileEntry(NamedTuple):
    """An entry of a batch file or of a rollback file, without its partition. number: of the file."""

    number: int
    replicas: Sequence[int]
    expected: Sequence[int]
    first_leader: int | None


class PlannedPartition(NamedTuple):
    """A partition that the plan names or should name.

    moves           its rows in the table of moves: the values of a `TableMove` each
    forward, back   its entries in the batch files and in those of the rollback: the values of a `FileEntry` each
    left_out        its rows in the table of what is left out for a reason
    concerned       the goal forces a change of it
    others          as in `MovedPartition`

    None instead of a list where the plan does not name it.
    """

    topic: str
    partition: int
    moves: Sequence[Sequence[Any]] | None
    forward: Sequence[Sequence[Any]] | None
    back: Sequence[Sequence[Any]] | None
    left_out: Sequence[bool] | None
    concerned: bool | None
    replicas: Sequence[int] | None
    leader: int | None
    isr: Sequence[int] | None
    in_flight: bool | None
    size: int | None


@dataclass(slots=True)
class BatchSums:
    """Of a batch: its moves, the bytes that they copy, how many of them copy, and its first and last priority."""

    first: int
    last: int
    moves: int = 0
    bytes: int = 0
    copying: int = 0

    def add(self, other: "BatchSums") -> None:
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.moves += other.moves
        self.bytes += other.bytes
        self.copying += other.copying


@dataclass(slots=True)
class BrokerSums:
    """Of a broker in a batch: how many moves bring it replicas and are sent by it, and their bytes."""

    receives: int = 0
    got: int = 0
    sends: int = 0
    sent: int = 0

    def add(self, other: "BrokerSums") -> None:
        self.receives += other.receives
        self.got += other.got
        self.sends += other.sends
        self.sent += other.sent


@dataclass(slots=True)
class CheckedRows:
    """What was found in some rows.

    named       by rule: the first partitions that break it, each with a detail
    batches     by number
    brokers     by number of a batch and id of a broker
    arriving    by broker: the sizes of the replicas that come to it, as far as the snapshot knows them
    """

    named: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    batches: dict[int, BatchSums] = field(default_factory=dict)
    brokers: dict[tuple[int, int], BrokerSums] = field(default_factory=dict)
    arriving: dict[int, list[int]] = field(default_factory=dict)

    def add(self, other: "CheckedRows") -> None:
        for rule, rows in other.named.items():
            self.named[rule] = list(islice(merge(self.named.get(rule, ()), rows), NAMED_ROWS))
        for batch, sums in other.batches.items():
            self.batches.setdefault(batch, BatchSums(sums.first, sums.last)).add(sums)
        for key, loads in other.brokers.items():
            self.brokers.setdefault(key, BrokerSums()).add(loads)
        for broker, sizes in other.arriving.items():
            self.arriving.setdefault(broker, []).extend(sizes)


def check_rows(rows: Iterable[Sequence[Any]], facts: PlanFacts) -> CheckedRows:
    """rows: the values of a `PlannedPartition` each."""
    found = CheckedRows()
    for row in rows:
        one = PlannedPartition(*row)
        moves = [TableMove(*values) for values in one.moves or ()]
        for rule, detail in _broken_rules(one, moves, facts).items():
            named = [*found.named.get(rule, ()), (one.topic, one.partition, detail)]
            found.named[rule] = sorted(named)[:NAMED_ROWS]
        for move in moves:
            _count(found, move, one.size)
    return found


def _broken_rules(one: PlannedPartition, moves: Sequence[TableMove], facts: PlanFacts) -> dict[str, str]:
    """The rules that the partition breaks, each with a detail."""
    broken = {
        rule: f"{list(move.original)} to {list(move.target)}"
        for move in moves
        for rule in broken_rules(_moved(one, move), facts)
    }
    if one.concerned and not moves and not one.left_out:
        broken["forgotten"] = f"{one.replicas}"
    if len(moves) > 1:
        broken["moved-twice"] = f"{len(moves)} rows"
    first = moves[0] if moves else None
    if (entries := _entries(one.forward)) != ([_forward(first)] if first else []):
        broken["batches"] = _places(first, entries)
    if (entries := _entries(one.back)) != ([_back(first)] if first else []):
        broken["rollback"] = _places(first, entries)
    return broken


def _places(move: TableMove | None, entries: Sequence[FileEntry]) -> str:
    in_table = f"batch {move.batch} in the table" if move else "not in the table"
    numbers = ", ".join(str(entry.number) for entry in entries)
    return f"{in_table}, {f'file {numbers}' if entries else 'in no file'}"


def _moved(one: PlannedPartition, move: TableMove) -> MovedPartition:
    says = (one.topic, one.partition, move.original, move.target, move.copied)
    return MovedPartition(*says, one.replicas, one.leader, one.isr, one.in_flight, one.size, move.first_leader)


def _forward(move: TableMove) -> FileEntry:
    return FileEntry(move.batch, move.target, move.original, move.first_leader)


def _back(move: TableMove) -> FileEntry:
    return FileEntry(move.batch, move.original, move.target, None)


def _entries(rows: Sequence[Sequence[Any]] | None) -> list[FileEntry]:
    return [FileEntry(*row) for row in rows or ()]


def _count(found: CheckedRows, move: TableMove, size: int | None) -> None:
    copies = move.copied > 0
    batch = BatchSums(move.priority, move.priority, 1, move.copied, int(copies))
    found.batches.setdefault(move.batch, BatchSums(batch.first, batch.last)).add(batch)
    added = [broker for broker in dict.fromkeys(move.target) if broker not in move.original]
    for broker in added:
        load = BrokerSums(receives=1, got=move.copied // len(added))
        found.brokers.setdefault((move.batch, broker), BrokerSums()).add(load)
        if size:
            found.arriving.setdefault(broker, []).append(size)
    sender = move.leader if move.first_leader is None else move.first_leader
    if added and sender >= 0:
        load = BrokerSums(sends=1, sent=move.copied)
        found.brokers.setdefault((move.batch, sender), BrokerSums()).add(load)
