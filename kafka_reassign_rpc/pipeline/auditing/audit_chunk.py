"""What snapshots show of some topics, or of pieces of them. docs/results.md has the columns.

A partition whose move is in flight or waits counts with its target. The rack rule ignores brokers without a rack.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.auditing.load_spread import RATE_MEASURES
from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    as_lists,
    counted_by,
    flat,
    in_some,
    inside,
    lists,
    looked_up,
    packed,
    repeated,
    sizes,
    whole,
)
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import RATES

_IDS, _TEXTS = pa.list_(pa.int32()), pa.list_(pa.string())
_PARTITION = [("topic", pa.string()), ("partition", pa.int32())]
_REQUEST = [("when", pa.int64()), ("who", pa.string()), ("route", pa.string()), ("reason", pa.string())]
_RATE = pa.decimal128(24, 6)
"""Of fractions exact sums are possible too."""
_OF_REPLICAS = {"produce": "produce_rate", "potential_out": "fetch_rate"}
_OF_LEADERS = {"fetch": "fetch_rate", "bytes_in": "produce_rate", "messages_in": "message_rate", "cpu": "cpu_rate"}
SUMS = ("bytes", "replicas", "leaders", "unknown", "comes")

DRIFT = pa.schema([
    *_PARTITION, ("before", pa.int32()), ("after", pa.int32()), ("seen_before", pa.int64()), ("seen", pa.int64()),
    *_REQUEST,
])  # fmt: skip
FACTORS = pa.schema([
    ("topic", pa.string()), ("least", pa.int32()), ("most", pa.int32()), ("partitions", pa.int64())
])  # fmt: skip
RACK_VIOLATIONS = pa.schema([
    *_PARTITION, ("replicas", _IDS), ("racks", _TEXTS), ("on_racks", pa.int64()), ("possible", pa.int64()),
    ("in_one", pa.int32()), ("needed", pa.int32()),
])  # fmt: skip
UNDER_REPLICATED = pa.schema([
    *_PARTITION, ("replicas", _IDS), ("isr", _IDS), ("missing", _IDS), ("since", pa.int64())
])  # fmt: skip


class AuditFacts(NamedTuple):
    """Of the last snapshot.

    racks        of its brokers that have one
    live_racks   racks with live brokers
    rooms        the most replicas of a partition that live racks hold with 1, 2, … in each
    """

    last: int
    racks: Mapping[int, str]
    live_racks: int
    rooms: Sequence[int]


class Audited(NamedTuple):
    """`twice`: partitions that stand twice in a snapshot, each with its time. `loads`: sums by time and broker."""

    twice: list[tuple[int, str, int]]
    loads: pa.Table
    drift: pa.Table
    factors: pa.Table
    rack_violations: pa.Table
    under_replicated: pa.Table


def audited(tables: Sequence[pa.Table], facts: AuditFacts) -> Audited:
    """`tables`: partitions and replicas, with the times of their snapshots, and requests for moves."""
    partitions, replicas, requests = tables
    found = _Partitions(partitions, facts)
    return Audited(
        found.twice(),
        found.loads(replicas),
        found.drift(requests),
        found.factors(),
        found.rack_violations(),
        found.under_replicated(),
    )


class _Partitions:
    def __init__(self, table: pa.Table, facts: AuditFacts) -> None:
        self._facts = facts
        self._table = table = table.sort_by([(name, "ascending") for name in ("topic", "partition", "at")])
        self._at, self._number = whole(table["at"]), whole(table["partition"])
        self._names = pc.unique(table["topic"])
        self._topic = self._code(table["topic"])
        self._adding = lists(table["adding"])
        joined = np.concatenate([lists(table["replicas"]), self._adding], axis=1)
        self._held = packed(np.where(repeated(joined) | inside(joined, lists(table["removing"])), NOBODY, joined))
        self._factor = sizes(self._held)
        same = (self._topic[1:] == self._topic[:-1]) & (self._number[1:] == self._number[:-1])
        self._goes_on: Mask = np.concatenate([np.zeros(1, bool), same])[: len(table)]
        """By row: whether it is of the partition of the row before it."""
        self._last = np.flatnonzero(self._at == facts.last)

    def _code(self, names: pa.ChunkedArray) -> Ints:
        return whole(pc.index_in(names, self._names))

    def _rows(self, rows: Ints, schema: pa.Schema, **more: Any) -> pa.Table:
        table = self._table.take(pa.array(rows))
        columns = [more.get(name, table[name] if name in table.column_names else None) for name in schema.names]
        return pa.table([_as_array(one, field.type) for one, field in zip(columns, schema, strict=True)], schema=schema)

    def twice(self) -> list[tuple[int, str, int]]:
        rows = np.flatnonzero(self._goes_on)
        rows = rows[self._at[rows] == self._at[rows - 1]]
        names = self._table["topic"].take(pa.array(rows)).to_pylist()
        return sorted(zip(self._at[rows].tolist(), names, self._number[rows].tolist(), strict=True))[:1]

    # -- loads ---------------------------------------------------------------------------------------------------------

    def loads(self, replicas: pa.Table) -> pa.Table:
        broker, _, row = flat(self._held, np.arange(len(self._held)))
        table, size = self._table, self._sizes(replicas, broker, row)
        bytes_of_leader, leads = whole(table["bytes"])[row], whole(table["leader"])[row] == broker
        comes = inside(broker[:, None], self._adding[row])[:, 0] & (size == NOBODY) & (bytes_of_leader != NOBODY)
        size = np.where(size == NOBODY, bytes_of_leader, size)
        known = size != NOBODY
        rates = {name: table[name].cast(_RATE).take(pa.array(row)).combine_chunks() for name in RATES}
        nothing = pa.scalar(None, _RATE)
        measures = {name: rates[rate] for name, rate in _OF_REPLICAS.items()} | {
            name: pc.if_else(pa.array(leads), rates[rate], nothing) for name, rate in _OF_LEADERS.items()
        }
        held = pa.table({
            "at": self._at[row],
            "broker": broker,
            "bytes": np.where(known, size, 0),
            "replicas": np.ones(len(row), np.int64),
            "leaders": leads.astype(np.int64),
            "unknown": (~known).astype(np.int64),
            "comes": np.where(comes, bytes_of_leader, 0),
            **measures,
        })  # fmt: skip
        return summed(held)

    def _sizes(self, replicas: pa.Table, broker: Ints, row: Ints) -> Ints:
        """Of these replicas; NOBODY: no broker tells it."""
        keys = ["at", "topic", "partition", "broker"]
        there = replicas.filter(pc.invert(replicas["future"]))
        told = pa.table({
            "at": there["at"],
            "topic": self._code(there["topic"]),
            "partition": there["partition"].cast(pa.int64()),
            "broker": there["broker"].cast(pa.int64()),
            "bytes": there["bytes"],
        })  # fmt: skip
        largest = told.group_by(keys).aggregate([("bytes", "max")])
        columns = (self._at[row], self._topic[row], self._number[row], broker, np.arange(len(row)))
        wanted = pa.table(dict(zip([*keys, "place"], columns, strict=True)))
        joined = wanted.join(largest, keys, join_type="inner")
        found = np.full(len(row), NOBODY, np.int64)
        found[whole(joined["place"])] = whole(joined["bytes_max"])
        return found

    # -- what is found -------------------------------------------------------------------------------------------------

    def drift(self, requests: pa.Table) -> pa.Table:
        rows = np.flatnonzero(self._goes_on)
        rows = rows[self._factor[rows] != self._factor[rows - 1]]
        before, after, seen_before = self._factor[rows - 1], self._factor[rows], self._at[rows - 1]
        asked = _Requests(requests)
        names = self._table["topic"].take(pa.array(rows)).to_pylist()
        numbers, seen = self._number[rows].tolist(), self._at[rows].tolist()
        changes = zip(names, numbers, after.tolist(), seen_before.tolist(), seen, strict=True)
        found = [asked.last(*one) for one in changes]
        of_request = {name: [one[place] for one in found] for place, (name, _) in enumerate(_REQUEST)}
        more = {"before": before, "after": after, "seen_before": seen_before, "seen": self._at[rows]}
        return self._rows(rows, DRIFT, **more, **of_request)

    def factors(self) -> pa.Table:
        columns = self._table["topic"].take(pa.array(self._last)), self._factor[self._last]
        return merged_factors(self._factor_rows(*columns))

    def _factor_rows(self, topics: pa.ChunkedArray, factors: Ints) -> pa.Table:
        of_all = [topics, factors, factors, np.ones(len(factors), np.int64)]
        return pa.table(
            [_as_array(one, field.type) for one, field in zip(of_all, FACTORS, strict=True)], schema=FACTORS
        )

    def rack_violations(self) -> pa.Table:
        facts, held, factor = self._facts, self._held[self._last], self._factor[self._last]
        names = sorted(set(facts.racks.values()))
        codes = looked_up(held, {broker: names.index(rack) for broker, rack in facts.racks.items()})
        without = in_some((held != NOBODY) & (codes == NOBODY))
        counts = counted_by(codes, len(names))
        on_racks, in_one = (counts > 0).sum(axis=1), counts.max(axis=1, initial=0)
        possible = np.minimum(factor, facts.live_racks)
        needed = 1 + np.searchsorted(facts.rooms, factor, side="left")
        rows = np.flatnonzero(~without & (factor > 0) & ((on_racks < possible) | (in_one > needed)))
        return self._rows(
            self._last[rows],
            RACK_VIOLATIONS,
            replicas=as_lists(held[rows]),
            racks=as_lists(codes[rows], lambda places: pa.array(names, pa.string()).take(pa.array(places))),
            on_racks=on_racks[rows],
            possible=possible[rows],
            in_one=in_one[rows],
            needed=needed[rows],
        )

    def under_replicated(self) -> pa.Table:
        """`since`: the first of the snapshots in a row that show it. An adding replica may be outside the ISR."""
        isr, held = lists(self._table["isr"]), self._held
        missing = packed(np.where(inside(held, self._adding) | inside(held, isr), NOBODY, held))
        behind = missing[:, 0] != NOBODY
        begins = behind & ~(self._goes_on & np.concatenate([np.zeros(1, bool), behind[:-1]])[: len(behind)])
        since = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
        rows = self._last[behind[self._last]]
        more = {"replicas": as_lists(held[rows]), "missing": as_lists(missing[rows]), "since": self._at[since[rows]]}
        return self._rows(rows, UNDER_REPLICATED, **more)


def summed(loads: pa.Table) -> pa.Table:
    """By time and broker; the sum of rates of which none is known is not known."""
    names = (*SUMS, *RATE_MEASURES)
    found = loads.group_by(["at", "broker"]).aggregate([(name, "sum") for name in names])
    return found.select(["at", "broker", *(f"{name}_sum" for name in names)]).rename_columns(["at", "broker", *names])


def merged_factors(rows: pa.Table) -> pa.Table:
    wanted = [("least", "min"), ("most", "max"), ("partitions", "sum")]
    found = rows.group_by("topic").aggregate(wanted)
    return found.select(["topic", *(f"{name}_{how}" for name, how in wanted)]).rename_columns(FACTORS.names)


class _Requests:
    """For a replication factor, by partition."""

    def __init__(self, events: pa.Table) -> None:
        self._rows: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
        for row in events.to_pylist():
            self._rows.setdefault((row["topic"], row["partition"], len(row["target"])), []).append(row)

    def last(self, topic: str, partition: int, factor: int, after: int, until: int) -> tuple[Any, ...]:
        """`_REQUEST` of the last one between these times."""
        rows = [row for row in self._rows.get((topic, partition, factor), ()) if after <= row["at"] <= until]
        if not rows:
            return (None,) * len(_REQUEST)
        row = max(rows, key=lambda row: [row[name] for name in event_files.ORDER])
        return row["at"], row["who"], row["route"], row["reason"]


def _as_array(values: Any, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    return values.cast(kind) if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, kind)
