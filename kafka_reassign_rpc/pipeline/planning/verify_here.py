"""What the verifier reads in this process. Moves that certainly keep the rules stay columns; other partitions that the
plan names or should name become objects for `verify_rows`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.planning.verify_arrays import NOBODY, Ints, Mask, flat, grouped, lists, whole, widened
from kafka_reassign_rpc.pipeline.planning.verify_concerned import SnapshotRows
from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums
from kafka_reassign_rpc.pipeline.planning.verify_files import read_files
from kafka_reassign_rpc.pipeline.planning.verify_plain_moves import (
    FileColumns,
    MoveColumns,
    keep_rules,
    reasons,
    sums_of_moves,
)
from kafka_reassign_rpc.pipeline.planning.verify_rows import CheckedRows, PlannedPartition, check_room, check_rows
from kafka_reassign_rpc.pipeline.planning.verify_rules import ListedBroker, PlanFacts, RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_topics import PIECE, TopicHeld
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_OF_MOVE = ("from_replicas", "to_replicas", "leader", "bytes", "batch", "priority", "first_leader", "start", "reason")
_OF_ENTRY = ("number", "replicas", "expected", "first_leader", "topic_id", "place")
_OF_LEFT_OUT = ("replicas", "reason", "bytes")
OBJECTS = 20_000
"""Partitions that are objects at a time, each of some 4 kB."""
_COLUMNS = {"moves": _OF_MOVE, "forward": _OF_ENTRY, "back": _OF_ENTRY, "left_out": _OF_LEFT_OUT}
_NOTHING: dict[str, Any] = dict.fromkeys(PlannedPartition._fields)
"""What is said of a partition that neither the plan nor the snapshot names."""


class _Keyed(NamedTuple):
    """`keys` are sorted; `rows` has the row of each."""

    table: pa.Table
    keys: Ints
    rows: Ints

    def once(self, wanted: Ints) -> Ints:
        """By key: the only row that has it; -1 if none or several have."""
        first, end = np.searchsorted(self.keys, wanted), np.searchsorted(self.keys, wanted, "right")
        rows = np.append(self.rows, -1)  # a key behind all others finds the last
        return np.where(end - first == 1, rows[first], -1)

    def has(self, wanted: Ints) -> Mask:
        found: Mask = np.searchsorted(self.keys, wanted, "right") > np.searchsorted(self.keys, wanted)
        return found

    def those_of(self, wanted: Ints) -> tuple[Ints, Ints]:
        """All rows with one of these keys, which are in order; and their keys."""
        if not len(wanted):
            return wanted, wanted
        between = slice(np.searchsorted(self.keys, wanted[0]), np.searchsorted(self.keys, wanted[-1], "right"))
        found = np.isin(self.keys[between], wanted)
        return self.rows[between][found], self.keys[between][found]


class TablesHere:
    def __init__(self, path: StorePath, plan: StorePath) -> None:
        self._path, self._plan = path, plan

    def sums(self) -> SnapshotSums:
        self._snapshot = SnapshotRows(snapshot_files.read(self._path, "partitions"))
        return self._snapshot.sums()

    def check(self, facts: PlanFacts, listed: Sequence[ListedBroker]) -> CheckedRows:
        self._read_plan()
        concerned = self._snapshot.concerned(facts, listed)
        named, moves = self._moved_once(concerned, facts)
        fine = keep_rules(moves, facts)
        plain = named[fine]
        of_plan = np.unique(np.concatenate([one.keys for one in self._named.values()]))
        should = self._known.keys[concerned[self._known.rows]]
        self._others, self._concerned = np.setdiff1d(np.union1d(of_plan, should), plain), concerned
        found = sums_of_moves(moves.rows(fine), facts)
        for rows in self._planned(self._others):
            found.add(check_rows(rows, facts))
        return found

    def check_room(self, facts: PlanFacts, rooms: Mapping[int, int | None]) -> CheckedRows:
        found, left_out = CheckedRows(), np.intersect1d(self._others, self._named["left_out"].keys)
        for rows in self._planned(left_out):
            found.add(check_room(rows, facts, rooms))
        return found

    def odd_files(self) -> Iterator[RuleViolation]:
        return iter(self._odd)

    def held_by_topic(self, facts: PlanFacts, *, after: bool) -> Iterator[TopicHeld]:
        chosen = self._snapshot.of_topics(facts)[self._known.rows]
        keys, replicas = self._known.keys[chosen], self._snapshot.replicas[self._known.rows[chosen]]
        if after:
            moves = self._named["moves"]
            stays, moved = ~moves.has(keys), np.isin(moves.keys, keys)
            targets = lists(moves.table["to_replicas"])[moves.rows[moved]]
            width = max(targets.shape[1], replicas.shape[1])
            replicas = np.concatenate([widened(replicas[stays], width), widened(targets, width)])
            keys = np.concatenate([keys[stays], moves.keys[moved]])
        broker, place, key = flat(replicas, keys)
        by = {"topic": key >> 32, "piece": (key & 0xFFFFFFFF) // PIECE, "broker": broker}
        found = grouped(by, {"leaders": (place == 0).astype(np.int64)})
        for row_ in sorted(found, key=lambda one: (one["topic"], one["piece"])):
            yield TopicHeld(str(row_["topic"]), row_["piece"], row_["broker"], row_["count"], row_["leaders"])

    def _read_plan(self) -> None:
        forward, back = (read_files(self._plan, directory) for directory in (BATCHES, ROLLBACK))
        self._odd = [*forward.odd, *back.odd]
        moves = parquet_files.read(self._plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA)
        left_out = plan_writer.read_left_out(self._plan)
        tables = {"moves": moves, "forward": forward.entries, "back": back.entries, "left_out": left_out}
        snapshot = self._snapshot.table
        chunks = chain.from_iterable(table["topic"].chunks for table in (snapshot, *tables.values()))
        self._topics = pc.unique(pa.chunked_array([*chunks], pa.string()))
        self._known, self._ids = self._keyed(snapshot), snapshot_files.topic_ids(self._path)
        self._named = {name: self._keyed(table) for name, table in tables.items()}

    def _keyed(self, table: pa.Table) -> _Keyed:
        """A key joins the topic's place in `_topics` and the partition's number."""
        keys = whole(pc.index_in(table["topic"], self._topics)) << 32 | whole(table["partition"]) & 0xFFFFFFFF
        rows = np.argsort(keys, kind="stable")
        return _Keyed(table, keys[rows], rows)

    def _moved_once(self, concerned: Mask, facts: PlanFacts) -> tuple[Ints, MoveColumns]:
        keys = np.unique(self._named["moves"].keys)
        places = [self._named[name].once(keys) for name in ("moves", "forward", "back")]
        places.append(self._known.once(keys))
        once = np.logical_and.reduce([rows >= 0 for rows in places]) & ~self._named["left_out"].has(keys)
        rows, forward, back, known = (place[once] for place in places)
        moves, stood = self._named["moves"].table.take(rows), self._snapshot
        topics, names = keys[once] >> 32, self._topics.to_pylist()
        min_isrs = np.array([facts.min_isr(name) for name in names], np.int64)
        of_topics = self._id_codes(pa.array([self._ids.get(name) for name in names], pa.string()))
        in_forward, in_back = (
            FileColumns(
                number=whole(entries["number"]),
                replicas=lists(entries["replicas"]),
                expected=lists(entries["expected"]),
                first_leader=whole(entries["first_leader"]),
                topic_id=self._id_codes(entries["topic_id"]),
                place=whole(entries["place"]),
            )
            for entries in (self._named["forward"].table.take(forward), self._named["back"].table.take(back))
        )
        produce, fetch, messages, cpu = (rate[known] for rate in stood.rates)
        named, named_as = reasons(moves["reason"])
        return keys[once], MoveColumns(
            original=lists(moves["from_replicas"]),
            target=lists(moves["to_replicas"]),
            copied=whole(moves["bytes"]),
            told_leader=whole(moves["leader"]),
            batch=whole(moves["batch"]),
            priority=whole(moves["priority"]),
            first_leader=whole(moves["first_leader"]),
            start=whole(moves["start"]),
            named=named,
            named_as=named_as,
            replicas=stood.replicas[known],
            leader=stood.leader[known],
            isr=stood.isr[known],
            in_flight=stood.in_flight[known],
            size=stood.bytes[known],
            produce=produce,
            fetch=fetch,
            messages=messages,
            cpu=cpu,
            concerned=concerned[known],
            usable=stood.usable[known],
            chosen=stood.of_topics(facts)[known],
            min_isr=min_isrs[topics],
            topic_id=of_topics[topics],
            forward=in_forward,
            back=in_back,
        )

    def _planned(self, keys: Ints) -> Iterator[list[PlannedPartition]]:
        """A few at a time: beside a snapshot that knows none of them, a plan has as many as moves."""
        for first in range(0, len(keys), OBJECTS):
            yield list(self._some_planned(keys[first : first + OBJECTS]))

    def _some_planned(self, keys: Ints) -> Iterator[PlannedPartition]:
        says: dict[int, dict[str, list[tuple[Any, ...]]]] = {key: {} for key in keys.tolist()}
        for name, named in self._named.items():
            rows, there = named.those_of(keys)
            chosen = named.table.take(rows)
            of_rows = zip(*(chosen[column].to_pylist() for column in _COLUMNS[name]), strict=True)
            for key, values in zip(there.tolist(), of_rows, strict=True):
                says[key].setdefault(name, []).append(values)
        known = self._stood(keys)
        topics = self._topics.to_pylist()
        for key, of_plan in says.items():
            partition = (key & 0xFFFFFFFF) - (key & 0x80000000) * 2
            lists_of_plan = {name: of_plan.get(name, []) for name in _COLUMNS}
            for stood in known.get(key, [{}]):
                fields = {"topic": topics[key >> 32], "partition": partition, **lists_of_plan, **stood}
                yield PlannedPartition(**_NOTHING | fields)

    def _stood(self, keys: Ints) -> dict[int, list[dict[str, Any]]]:
        stood, (rows, there) = self._snapshot, self._known.those_of(keys)
        columns = (stood.in_flight, *stood.rates, self._concerned)
        of_rows = zip(stood.table.take(rows).to_pylist(), *(column[rows].tolist() for column in columns), strict=True)
        found: dict[int, list[dict[str, Any]]] = {}
        for key, (row, in_flight, *rates, is_concerned) in zip(there.tolist(), of_rows, strict=True):
            produce, fetch, messages, cpu = rates
            union = dict.fromkeys((*row["replicas"], *row["adding"]))
            destination = [broker for broker in union if broker not in row["removing"]]
            says = {
                "concerned": is_concerned,
                "replicas": row["replicas"],
                "leader": row["leader"],
                "isr": row["isr"],
                "in_flight": in_flight,
                "size": row["bytes"],
                "destination": destination,
                "produce": produce,
                "fetch": fetch,
                "topic_id": self._ids.get(row["topic"]),
                "messages": messages,
                "cpu": cpu,
            }
            found.setdefault(key, []).append(says)
        return found

    def _id_codes(self, ids: pa.Array | pa.ChunkedArray) -> Ints:
        """The id's place among those of the snapshot; -1: none of them; NOBODY: null or empty."""
        places = whole(pc.index_in(ids, pa.array(sorted(set(self._ids.values())), pa.string())), -1)
        return np.where(np.asarray(pc.fill_null(pc.equal(ids, ""), True)), NOBODY, places)
