"""What a plan and its snapshot say of some partitions (whole topics, or pieces of them), and the rules that hold for
them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    are_same,
    flat,
    grouped,
    inside,
    listed,
    lists,
    looked_up,
    repeated,
    sizes,
    told,
    whole,
    widened,
)
from kafka_reassign_rpc.pipeline.planning import verify_left_out, verify_rules, verify_texts
from kafka_reassign_rpc.pipeline.planning.verify_facts import NAMED_ROWS, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_files import entries_of
from kafka_reassign_rpc.pipeline.planning.verify_left_out import LeftOut, Texts
from kafka_reassign_rpc.pipeline.planning.verify_rules import Moves, empties
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import (
    NO_LEADER,
    SnapshotRows,
    copies_across_racks,
    rack_losses,
)
from kafka_reassign_rpc.pipeline.planning.verify_sums import (
    PIECE,
    BatchSums,
    BrokerDelta,
    BrokerSums,
    CheckedRows,
    LeftOutSums,
    loads_of,
    plus,
    topic_spread,
)
from kafka_reassign_rpc.pipeline.plans import plan_directory
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.plans.plan_writer import LEFT_OUT_SCHEMA, MOVES_SCHEMA
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import PARTITIONS
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import parquet_source

SENTENCES = {
    "forgotten": "what the goal concerns moves, or is left out with a reason",
    "moved-twice": "a partition moves once",
    "batches": "batch files have the moves of the table, each once, in batches by number, and no log dirs",
    "rollback": "rollback files lead back, move by move",
    "topic-id": "files have the topic ids of the snapshot, and none of other topics",
    "start": "the table has the moves in the order of the files",
    verify_left_out.RULE: verify_left_out.SENTENCE,
    **verify_texts.SENTENCES,
}


class Said(NamedTuple):
    """Tables of the same partitions, or their sources. `forward`, `back`: entries of batch and rollback files."""

    partitions: Any
    moves: Any
    left_out: Any
    forward: Any
    back: Any


SEARCHED = 10_000
"""Partitions for which room is searched at a time, on each broker."""


class Entries(NamedTuple):
    """Of files. NOBODY: null."""

    key: Ints
    number: Ints
    replicas: Ints
    expected: Ints
    first_leader: Ints
    place: Ints
    fits_topic: Mask

    def rows(self, chosen: Ints) -> Self:
        return type(self)._make(column[chosen] for column in self)


class Chunk:
    def __init__(self, said: Said, facts: PlanFacts) -> None:
        self._said, self._facts = said, facts
        topics = pc.unique(pa.chunked_array([one for table in said for one in table["topic"].chunks], pa.string()))
        self._topics = topics.take(pc.sort_indices(topics))
        self._snapshot = SnapshotRows(said.partitions)
        keys = self._keys(said.partitions)
        self._rows = np.argsort(keys, kind="stable")
        self._known = keys[self._rows]
        self._stood = self._snapshot.stood(facts)
        self.found = CheckedRows()

    def check(self) -> CheckedRows:
        moves, left_out = self.moves, self.left_out
        for rule, rows in verify_rules.broken_rules(moves, self._facts).items():
            self._name(rule, moves.key[rows], partial(self._way_of, rows))
        of_topics = topic_spread(*self._pieces(), self._facts.topic_shares).held
        reasons = verify_texts.broken_reasons(moves, self._facts, pieces_of(moves.key), of_topics)
        for rule, rows in reasons.items():
            self._name(rule, moves.key[rows], self._reasons_of)
        self._check_files()
        keys, counts = np.unique(moves.key, return_counts=True)
        self._name("moved-twice", keys[counts > 1], lambda key: f"{(moves.key == key).sum()} rows")
        concerned = self._known[self._stood.concerned[self._rows]]
        forgotten = np.setdiff1d(concerned, np.concatenate([moves.key, left_out.key]))
        self._name("forgotten", forgotten, lambda key: f"{listed(self._stood.replicas[self._row(key)])}")
        self._check_left_out()
        self._sum_moves(moves)
        self._sum_left_out(left_out)
        self._sum_topics()
        return self.found

    def check_room(self, rooms: Mapping[int, int | None]) -> CheckedRows:
        """Partitions left out for lack of room that was there all the time. `rooms`: as in `find_room`."""
        left = self.left_out
        lacking = np.nonzero(left.texts.lacks_room[left.reason] & left.stood.there)[0]
        found: dict[int, list[int]] = {}
        for first in range(0, len(lacking), SEARCHED):
            some = left.rows(lacking[first : first + SEARCHED])
            targets = verify_left_out.find_room(some.stood, self._facts, rooms)
            has_room = np.nonzero(sizes(targets) > 0)[0]
            found |= dict(zip(some.key[has_room].tolist(), map(listed, targets[has_room]), strict=True))
        self._name(verify_left_out.RULE, np.array([*found], np.int64), lambda key: f"there is room for {found[key]}")
        return self.found

    # -- columns -------------------------------------------------------------------------------------------------------

    def _keys(self, table: pa.Table) -> Ints:
        """In order of topics and partitions."""
        keys: Ints = whole(pc.index_in(table["topic"], self._topics)) << 32 | whole(table["partition"]) + 2**31
        return keys

    def _name_of(self, key: int) -> tuple[str, int]:
        return self._topics[key >> 32].as_py(), (key & 0xFFFFFFFF) - 2**31

    def _row(self, key: Any) -> Any:
        """Of the snapshot; -1: it does not have the partition."""
        if not len(self._known):
            return np.full(np.shape(key), -1)
        places = np.minimum(np.searchsorted(self._known, key), len(self._known) - 1)
        return np.where(self._known[places] == key, self._rows[places], -1)

    @cached_property
    def moves(self) -> Moves:
        """In order, also those of one partition: that of the rows in the table says nothing."""
        table = self._said.moves
        told = (table[name].fill_null("").combine_chunks() for name in ("reason", "rule"))
        texts, rules = (column.dictionary_encode() for column in told)
        key, before, after = self._keys(table), lists(table["from_replicas"]), lists(table["to_replicas"])
        names = ("bytes", "batch", "priority", "first_leader", "start")
        copied, batch, priority, first, start = (whole(table[name]) for name in names)
        leader = whole(table["leader"], NO_LEADER)
        order = np.argsort(key, kind="stable")
        if (key[order][1:] == key[order][:-1]).any():
            figures = (copied, leader, batch, priority, first, start)
            order = np.lexsort((*before.T, *after.T, *figures, key))
        stood, said = self._stood.at(self._row(key)), (whole(texts.indices), whole(rules.indices))
        columns = (key, before, after, copied, leader, batch, priority, first, start, *said)
        return Moves(*columns, stood, texts.dictionary.to_pylist(), rules.dictionary.to_pylist()).rows(order)

    @cached_property
    def left_out(self) -> LeftOut:
        table = self._said.left_out
        key = self._keys(table)
        order = np.argsort(key, kind="stable")
        texts = table["reason"].combine_chunks().dictionary_encode()
        columns = (lists(table["replicas"]), whole(texts.indices), whole(table["bytes"]))
        stood = self._stood.at(self._row(key))
        known = Texts(texts.dictionary.to_pylist(), self._facts.kind)
        return LeftOut(key, *columns, stood, known).rows(order)

    def _entries(self, table: pa.Table) -> Entries:
        ids = pa.array([self._facts.topic_ids.get(name, "") for name in self._topics.to_pylist()], pa.string())
        wanted = ids.take(pa.array(whole(pc.index_in(table["topic"], self._topics))))
        fits = np.asarray(pc.equal(pc.fill_null(table["topic_id"], ""), wanted)).astype(bool)
        replicas, expected = lists(table["replicas"]), lists(table["expected"])
        number, first_leader, place = (whole(table[name]) for name in ("number", "first_leader", "place"))
        return Entries(self._keys(table), number, replicas, expected, first_leader, place, fits)

    # -- rules of partitions -------------------------------------------------------------------------------------------

    def _name(self, rule: str, keys: Ints, detail: Callable[[int], str]) -> None:
        """Each partition once."""
        first = np.unique(keys)
        named = first[:NAMED_ROWS].tolist()
        self.found.name(rule, [self._name_of(key) for key in named], len(first), lambda place: detail(named[place]))

    def _first_of(self, key: int) -> int:
        return int(np.nonzero(self.moves.key == key)[0][0])

    def _way_of(self, rows: Ints, key: int) -> str:
        row = rows[self.moves.key[rows] == key][0]
        return f"{listed(self.moves.original[row])} to {listed(self.moves.target[row])}"

    def _reasons_of(self, key: int) -> str:
        rows = self.moves.rows(np.nonzero(self.moves.key == key)[0])
        told = zip(rows.reason.tolist(), rows.rule.tolist(), strict=True)
        return "; ".join(sorted(f"{rows.reasons[reason] or 'none'} ({rows.rules[rule]})" for reason, rule in told))

    def _check_files(self) -> None:
        moves = self.moves
        keys, first = np.unique(moves.key, return_index=True)
        of_move = moves.rows(first)
        forward, back = self._entries(self._said.forward), self._entries(self._said.back)
        wanted = {
            "batches": (forward, of_move.target, of_move.original, of_move.first_leader),
            "rollback": (back, of_move.original, of_move.target, np.full(len(keys), NOBODY)),
        }
        for rule, (entries, replicas, expected, first_leader) in wanted.items():
            named, row, counts = np.unique(entries.key, return_index=True, return_counts=True)
            one = entries.rows(row)
            place = np.minimum(np.searchsorted(keys, named), max(0, len(keys) - 1))
            fits = (keys[place] == named) & (counts == 1) if len(keys) else np.zeros(len(named), bool)
            rows = place[fits]
            one = one.rows(np.nonzero(fits)[0])
            same = are_same(one.replicas, replicas[rows]) & are_same(one.expected, expected[rows])
            same &= (one.first_leader == first_leader[rows]) & (one.number == of_move.batch[rows])
            fine = named[fits][same]
            broken = np.setdiff1d(np.union1d(keys, named), fine)
            self._name(rule, broken, partial(self._places, entries))
        both = [(entries.key, entries.fits_topic, self._starts(entries)) for entries in (forward, back)]
        key, fits_topic, starts = (np.concatenate(of) for of in zip(*both, strict=True))
        self._name("topic-id", key[~fits_topic], self._topic_id)
        if len(keys):
            row = first[np.minimum(np.searchsorted(keys, key), len(keys) - 1)]
            other = (moves.key[row] == key) & (starts != NOBODY) & (starts != moves.start[row])

            def detail(one: int) -> str:
                places = sorted(set(starts[other & (key == one)].tolist()))
                return f"{told(moves.start[self._first_of(one)])}, the files have it at {', '.join(map(str, places))}"

            self._name("start", key[other], detail)

    def _starts(self, entries: Entries) -> Ints:
        """In the order of all files; NOBODY: in no known batch."""
        first = looked_up(entries.number, self._facts.first_places)
        return np.where((first == NOBODY) | (entries.place == NOBODY), NOBODY, first + entries.place)

    def _places(self, entries: Entries, key: int) -> str:
        in_table = "not in the table"
        if (self.moves.key == key).any():
            in_table = f"batch {self.moves.batch[self._first_of(key)]} in the table"
        of_key = sorted(entries.number[entries.key == key].tolist())
        numbers = ", ".join(str(told(one)) for one in of_key)
        return f"{in_table}, {f'file {numbers}' if of_key else 'in no file'}"

    def _topic_id(self, key: int) -> str:
        return f"{self._facts.topic_ids.get(self._name_of(key)[0]) or 'unknown'} in the snapshot"

    def _check_left_out(self) -> None:
        left = self.left_out
        found = [*verify_left_out.faults(left, self._facts, np.isin(left.key, self.moves.key))]
        broken = np.any([fault.rows for fault in found], axis=0)

        def detail(key: int) -> str:
            rows = range(np.searchsorted(left.key, key), np.searchsorted(left.key, key, "right"))
            texts = (sorted(fault.text(row) for row in rows if fault.rows[row]) for fault in found)
            return "; ".join(dict.fromkeys(chain.from_iterable(texts)))

        self._name(verify_left_out.RULE, left.key[broken], detail)

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _sum_moves(self, moves: Moves) -> None:
        found, added = self.found, np.where(repeated(moves.target), NOBODY, moves.added)
        copies = sizes(added)
        each = moves.copied // np.maximum(copies, 1)
        sums = {"bytes": moves.copied, "copying": (moves.copied > 0).astype(np.int64)}
        for row in grouped({"batch": moves.batch, "priority": moves.priority}, sums):
            one = BatchSums(row["priority"], row["priority"], row["count"], row["bytes"], row["copying"])
            found.batches.setdefault(row["batch"], BatchSums(one.first, one.last)).add(one)
        broker, _, batch, got, size = flat(added, moves.batch, each, np.maximum(moves.size, 0))
        for row in grouped({"batch": batch, "broker": broker}, {"got": got}):
            found.brokers[row["batch"], row["broker"]] = BrokerSums(receives=row["count"], got=row["got"])
        sends = (copies > 0) & (moves.sender >= 0)
        sent = {"sent": moves.copied[sends]}
        for row in grouped({"batch": moves.batch[sends], "broker": moves.sender[sends]}, sent):
            key = row["batch"], row["broker"]
            sends_of = BrokerSums(sends=row["count"], sent=row["sent"])
            found.brokers[key] = plus(found.brokers.get(key, BrokerSums()), sends_of)
        order = np.argsort(broker[size > 0], kind="stable")
        ids, starts = np.unique(broker[size > 0][order], return_index=True)
        for one_broker, arriving in zip(ids.tolist(), np.split(size[size > 0][order], starts[1:]), strict=False):
            found.arriving[one_broker] = arriving.tolist()
        found.impact.update({name: int(count.sum()) for name, count in self._impact(moves) if count.any()})
        across = each * copies_across_racks(moves.sender, added, self._facts)
        found.impact["bytes_across_racks"] += sum(across.tolist())
        stood = moves.stood
        unknown = moves.size == NOBODY
        rates = [np.maximum(rate, 0) for rate in (stood.produce, stood.fetch, stood.messages, stood.cpu)]
        for replicas, sign in ((moves.original, -1), (moves.target, 1)):
            once = np.where(repeated(replicas), NOBODY, replicas)
            for one_broker, delta in loads_of(once, np.where(unknown, 0, moves.size), unknown, rates).items():
                found.change(one_broker, BrokerDelta._make(sign * value for value in delta))

    def _impact(self, moves: Moves) -> Iterator[tuple[str, Mask]]:
        """As the docstring of `ImpactFigures` defines."""
        facts, leads, first = self._facts, moves.sender, moves.target[:, 0]
        stays, min_isr = inside(leads[:, None], moves.target)[:, 0], self._min_isr(moves)
        live = among(moves.original, facts.live).sum(axis=1)
        lacking = live < sizes(moves.original)
        yield "leader_leaves", (leads >= 0) & ~stays
        yield "other_first", (leads >= 0) & stays & (first != leads) & (first != moves.original[:, 0])
        yield "led_first", moves.first_leader != NOBODY
        yield "lacking", lacking
        yield "single", lacking & (live == 1)
        yield "below_min_isr", lacking & (live < min_isr)
        yield "below_min_isr_after", sizes(moves.target) < min_isr
        yield from rack_losses(moves.original, moves.target, facts).items()

    def _min_isr(self, moves: Moves) -> Ints:
        least = np.array([self._facts.min_isr(name) for name in self._topics.to_pylist()], np.int64)
        found: Ints = least[moves.key >> 32]
        return found

    def _sum_left_out(self, left: LeftOut) -> None:
        found, stood, size = self.found, left.stood, np.maximum(left.stood.bytes, 0)
        leaves = empties(stood.replicas, self._facts) & ~repeated(stood.replicas)
        for code, reason in enumerate(left.texts.texts):
            rows = np.nonzero(left.reason == code)[0]
            broker, _, kept = flat(np.where(leaves, stood.replicas, NOBODY)[rows], size[rows])
            sums = grouped({"broker": broker}, {"kept": kept})
            staying = {row["broker"]: (row["count"], row["kept"]) for row in sums}
            first = [self._name_of(key) for key in left.key[rows[:NAMED_ROWS]].tolist()]
            found.left_out[reason] = LeftOutSums(len(rows), first, int(size[rows].sum()), staying)
        found.missed += int(verify_left_out.misses_goal(stood, self._facts).sum())
        found.no_room += int(left.texts.lacks_room[left.reason].sum())

    def _sum_topics(self) -> None:
        if not self._facts.topic_shares:
            return
        (pieces, replicas), keys = self._pieces(), self._known[self._chosen]
        self.found.topics_before.update(topic_spread(pieces, replicas, self._facts.topic_shares).above)
        moved, first = np.unique(self.moves.key, return_index=True)
        there = np.isin(keys, moved)
        targets = self.moves.target[first[np.searchsorted(moved, keys[there])]]
        width = max(targets.shape[1], replicas.shape[1])
        after = widened(replicas, width)
        after[there] = widened(targets, width)
        self.found.topics_after.update(topic_spread(pieces, after, self._facts.topic_shares).above)

    @cached_property
    def _chosen(self) -> Mask:
        return self._snapshot.of_topics(self._facts)[self._rows]

    def _pieces(self) -> tuple[Ints, Ints]:
        """Of the topics that were asked for, with the replicas."""
        return pieces_of(self._known[self._chosen]), self._snapshot.replicas[self._rows[self._chosen]]


def pieces_of(keys: Ints) -> Ints:
    """Of topics, as numbers."""
    found: Ints = keys >> 32 << 32 | ((keys & 0xFFFFFFFF) - 2**31) // PIECE
    return found


def sources_of(path: StorePath, plan: StorePath) -> Said:
    """Where `Said` comes from."""
    return Said(
        parquet_source(snapshot_files.table_path(path, "partitions"), PARTITIONS, again=True),
        parquet_source(plan / plan_directory.MOVES, MOVES_SCHEMA),
        parquet_source(plan / plan_directory.LEFT_OUT, LEFT_OUT_SCHEMA),
        entries_of(plan, BATCHES),
        entries_of(plan, ROLLBACK),
    )


def check_chunk(said: Sequence[pa.Table], facts: PlanFacts) -> CheckedRows:
    return Chunk(Said._make(said), facts).check()


def check_room(said: Sequence[pa.Table], given: tuple[PlanFacts, Mapping[int, int | None]]) -> CheckedRows:
    facts, rooms = given
    return Chunk(Said._make(said), facts).check_room(rooms)
