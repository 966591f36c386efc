"""What a task finds in the partitions of a plan: broken rules, entries of batch or rollback files that do not fit, and
sums for limits and figures. Executors import this module, so it needs only the standard
library.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from operator import add
from typing import Any, NamedTuple

from kafka_reassign_rpc.pipeline.planning.verify_left_out import (
    LeftOutRow,
    faults_of_left_out,
    finds_room,
    is_forced,
    is_on_its_way,
    lacks_room,
)
from kafka_reassign_rpc.pipeline.planning.verify_rules import (
    NAMED_ROWS,
    MovedPartition,
    PlanFacts,
    broken_rules,
    rack_losses,
)


class TableMove(NamedTuple):
    original: Sequence[int]
    target: Sequence[int]
    leader: int
    copied: int
    batch: int
    priority: int
    first_leader: int | None
    start: int | None = None
    reason: str = "unsaid"


class FileEntry(NamedTuple):
    """number      of the file
    topic_id    what the file says
    place       in the file, from 0 on, in start order
    """

    number: int
    replicas: Sequence[int]
    expected: Sequence[int]
    first_leader: int | None
    topic_id: str | None = None
    place: int | None = None


class PlannedPartition(NamedTuple):
    """A partition that the plan names or should name. A list is None if the plan does not name it.

    moves           its rows in the table of moves: values of `TableMove`
    forward, back   its entries in batch and rollback files: values of `FileEntry`
    left_out        its rows in the table of partitions left out: values of `LeftOutRow`
    concerned       the goal forces a change, or a balancing plan must name it, since it cannot move
    destination     of its reassignment
    produce, fetch  whole bytes/s; messages: per second; cpu: µs/s
    topic_id        in the snapshot; None: unknown
    """

    topic: str
    partition: int
    moves: Sequence[Sequence[Any]] | None
    forward: Sequence[Sequence[Any]] | None
    back: Sequence[Sequence[Any]] | None
    left_out: Sequence[Sequence[Any]] | None
    concerned: bool | None
    replicas: Sequence[int] | None
    leader: int | None
    isr: Sequence[int] | None
    in_flight: bool | None
    size: int | None
    destination: Sequence[int] | None = None
    produce: int | None = 0
    fetch: int | None = 0
    topic_id: str | None = None
    messages: int | None = 0
    cpu: int | None = 0


@dataclass(slots=True)
class BatchSums:
    """`first`, `last`: priorities."""

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
    """Of one batch."""

    receives: int = 0
    got: int = 0
    sends: int = 0
    sent: int = 0

    def add(self, other: "BrokerSums") -> None:
        self.receives += other.receives
        self.got += other.got
        self.sends += other.sends
        self.sent += other.sent


class BrokerDelta(NamedTuple):
    """`bytes` lacks the `unknown` replicas."""

    bytes: int = 0
    replicas: int = 0
    leaders: int = 0
    produce: int = 0
    fetch: int = 0
    bytes_in: int = 0
    potential_out: int = 0
    messages_in: int = 0
    cpu: int = 0
    unknown: int = 0


@dataclass(slots=True)
class LeftOutSums:
    """`staying`: by broker that the plan empties, with known bytes."""

    partitions: int = 0
    first: list[tuple[str, int]] = field(default_factory=list)
    bytes: int = 0
    staying: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: "LeftOutSums") -> None:
        self.partitions += other.partitions
        self.first = sorted([*self.first, *other.first])[:NAMED_ROWS]
        self.bytes += other.bytes
        for broker, (replicas, size) in other.staying.items():
            known = self.staying.get(broker, (0, 0))
            self.staying[broker] = known[0] + replicas, known[1] + size


@dataclass(slots=True)
class CheckedRows:
    """named       by rule: the first partitions that break it, each with a detail
    counts      by rule: how many break it
    brokers     by batch number and broker id
    arriving    by broker: the known sizes of replicas that come
    impact      by name of `ImpactFigures`: how many moves count
    missed      left out, though the goal forces a change and no reassignment brings it
    no_room     left out for lack of room
    deltas      by broker: what moves bring and take
    undone      of a searched plan: by move that copies, what its brokers would hold more without it
    """

    named: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    batches: dict[int, BatchSums] = field(default_factory=dict)
    brokers: dict[tuple[int, int], BrokerSums] = field(default_factory=dict)
    arriving: dict[int, list[int]] = field(default_factory=dict)
    impact: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOutSums] = field(default_factory=dict)
    missed: int = 0
    no_room: int = 0
    deltas: dict[int, BrokerDelta] = field(default_factory=dict)
    undone: dict[tuple[str, int], dict[int, BrokerDelta]] = field(default_factory=dict)

    def add(self, other: "CheckedRows") -> None:
        for rule, rows in other.named.items():
            self.named[rule] = list(islice(merge(self.named.get(rule, ()), rows), NAMED_ROWS))
        self.counts.update(other.counts)
        for batch, sums in other.batches.items():
            self.batches.setdefault(batch, BatchSums(sums.first, sums.last)).add(sums)
        for key, loads in other.brokers.items():
            self.brokers.setdefault(key, BrokerSums()).add(loads)
        for broker, sizes in other.arriving.items():
            self.arriving.setdefault(broker, []).extend(sizes)
        self.impact.update(other.impact)
        for reason, left_out in other.left_out.items():
            self.left_out.setdefault(reason, LeftOutSums()).add(left_out)
        self.missed += other.missed
        self.no_room += other.no_room
        self.undone.update(other.undone)
        for broker, delta in other.deltas.items():
            self.change(broker, delta)

    def name(self, rule: str, partition: tuple[str, int], detail: str) -> None:
        self.counts[rule] += 1
        self.named[rule] = sorted([*self.named.get(rule, ()), (*partition, detail)])[:NAMED_ROWS]

    def count(self, one: PlannedPartition, move: TableMove, facts: PlanFacts) -> None:
        _count(self, move, one.size)
        undone: dict[int, BrokerDelta] = {}
        self.impact.update(_impact(one.topic, move, facts))
        self.impact["bytes_across_racks"] += _across_racks(move, facts)
        for replicas, sign in ((move.original, -1), (move.target, 1)):
            for place, broker in enumerate(dict.fromkeys(replicas)):
                size, produce, fetch = one.size or 0, one.produce or 0, one.fetch or 0
                leads, unknown = int(place == 0), int(one.size is None)
                of_leader = (fetch * leads, produce * leads)
                also_of_leader = ((one.messages or 0) * leads, (one.cpu or 0) * leads)
                delta = (size, 1, leads, produce, *of_leader, fetch, *also_of_leader, unknown)
                self.change(broker, BrokerDelta._make(sign * value for value in delta))
                less = BrokerDelta._make(-sign * value for value in delta)
                undone[broker] = BrokerDelta._make(map(add, undone.get(broker, BrokerDelta()), less))
        makes_even = any(rack_losses(move.target, move.original, facts))  # without the move, racks were less even
        if facts.searched and move.copied and not makes_even:
            self.undone[one.topic, one.partition] = undone

    def count_left_out(self, one: PlannedPartition, reason: str, facts: PlanFacts) -> None:
        size = one.size or 0
        staying = {broker: (1, size) for broker in one.replicas or () if facts.empties(broker)}
        left_out = LeftOutSums(1, [(one.topic, one.partition)], size, staying)
        self.left_out.setdefault(reason, LeftOutSums()).add(left_out)
        self.missed += is_forced(one, facts) and not is_on_its_way(one, facts)
        self.no_room += lacks_room(reason)

    def change(self, broker: int, delta: BrokerDelta) -> None:
        known = self.deltas.get(broker, BrokerDelta())
        self.deltas[broker] = BrokerDelta._make(map(add, known, delta))


def check_rows(rows: Iterable[Sequence[Any]], facts: PlanFacts) -> CheckedRows:
    """`rows`: values of `PlannedPartition`."""
    found = CheckedRows()
    for row in rows:
        one = PlannedPartition(*row)
        moves = [TableMove(*values) for values in one.moves or ()]
        left_out = [LeftOutRow(*values) for values in one.left_out or ()]
        for rule, detail in _broken_rules(one, moves, left_out, facts).items():
            found.name(rule, (one.topic, one.partition), detail)
        for move in moves:
            found.count(one, move, facts)
        for named in left_out:
            found.count_left_out(one, named.reason, facts)
    return found


def check_room(rows: Iterable[Sequence[Any]], facts: PlanFacts, rooms: Mapping[int, int | None]) -> CheckedRows:
    """Partitions left out for lack of room that was there all the time. `rooms`: as in `finds_room`."""
    found = CheckedRows()
    for row in rows:
        one = PlannedPartition(*row)
        lack = any(lacks_room(LeftOutRow(*values).reason) for values in one.left_out or ())
        if lack and (target := finds_room(one, facts, rooms)):
            found.name("left-out", (one.topic, one.partition), f"there is room for {target}")
    return found


def _broken_rules(
    one: PlannedPartition, moves: Sequence[TableMove], left_out: Sequence[LeftOutRow], facts: PlanFacts
) -> dict[str, str]:
    broken = {
        rule: f"{list(move.original)} to {list(move.target)}"
        for move in moves
        for rule in broken_rules(_moved(one, move), facts)
    }
    if one.concerned and not moves and not one.left_out:
        broken["forgotten"] = f"{one.replicas}"
    if len(moves) > 1:
        broken["moved-twice"] = f"{len(moves)} rows"
    if "reason" in broken:
        broken["reason"] = "; ".join(move.reason for move in moves) or "it has none"
    if faults := [*faults_of_left_out(one, left_out, facts), *(["it also moves"] if moves and left_out else [])]:
        broken["left-out"] = "; ".join(faults)
    first = moves[0] if moves else None
    forward, back = _entries(one.forward), _entries(one.back)
    if _bare(forward) != ([_forward(first)] if first else []):
        broken["batches"] = _places(first, forward)
    if _bare(back) != ([_back(first)] if first else []):
        broken["rollback"] = _places(first, back)
    if any((entry.topic_id or None) != (one.topic_id or None) for entry in (*forward, *back)):
        broken["topic-id"] = f"{one.topic_id or 'unknown'} in the snapshot"
    if first and first.start is not None and (places := _other_places(first, (*forward, *back), facts)):
        broken["start"] = f"{first.start}, the files have it at {', '.join(map(str, places))}"
    return broken


def _other_places(move: TableMove, entries: Sequence[FileEntry], facts: PlanFacts) -> list[int]:
    """The move's places in the order of the files, except that of the table."""
    known = [(facts.first_places.get(entry.number), entry.place) for entry in entries]
    places = {first + place for first, place in known if first is not None and place is not None}
    return sorted(places - {move.start})


def _impact(topic: str, move: TableMove, facts: PlanFacts) -> Iterator[str]:
    """As the docstring of `ImpactFigures` defines."""
    live = [broker for broker in move.original if broker in facts.live]
    leads = move.leader if move.first_leader is None else move.first_leader
    if leads >= 0 and leads not in move.target:
        yield "leader_leaves"
    elif leads >= 0 and move.target[0] not in (leads, move.original[0]):
        yield "other_first"
    if move.first_leader is not None:
        yield "led_first"
    if len(live) < len(move.original):
        yield "lacking"
        yield from ["single"] * (len(live) == 1)
        yield from ["below_min_isr"] * (len(live) < facts.min_isr(topic))
    if len(move.target) < facts.min_isr(topic):
        yield "below_min_isr_after"
    yield from rack_losses(move.original, move.target, facts)


def _across_racks(move: TableMove, facts: PlanFacts) -> int:
    """Bytes that the sender copies to brokers of another rack."""
    sender, new = move.leader if move.first_leader is None else move.first_leader, {*move.target} - {*move.original}
    if sender not in facts.live or not new:
        return 0
    elsewhere = sum([facts.racks.get(one) != facts.racks.get(sender) for one in new])
    return int(move.copied // len(new) * elsewhere)


def _places(move: TableMove | None, entries: Sequence[FileEntry]) -> str:
    in_table = f"batch {move.batch} in the table" if move else "not in the table"
    numbers = ", ".join(str(entry.number) for entry in entries)
    return f"{in_table}, {f'file {numbers}' if entries else 'in no file'}"


def _moved(one: PlannedPartition, move: TableMove) -> MovedPartition:
    says = (one.topic, one.partition, move.original, move.target, move.copied)
    known = (one.replicas, one.leader, one.isr, one.in_flight, one.size)
    return MovedPartition(*says, *known, move.first_leader, move.leader, move.priority, one.concerned, move.reason)


def _forward(move: TableMove) -> FileEntry:
    return FileEntry(move.batch, move.target, move.original, move.first_leader)


def _back(move: TableMove) -> FileEntry:
    return FileEntry(move.batch, move.original, move.target, None)


def _bare(entries: Iterable[FileEntry]) -> list[FileEntry]:
    return [entry._replace(topic_id=None, place=None) for entry in entries]


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
