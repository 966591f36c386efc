"""Moves, from the events of some partitions. docs/results.md has the columns.

A move starts with a partition's move.started (or when it joined the queue) and ends before the next one. Events are
ordered by controller epoch and sequence number, not by the servers' clocks.

`bytes` are those that a move has copied: from its last event if the controller had sampled it; else, for a completed
move, the partition's size in the snapshot for each added replica. Otherwise unknown: a cancelled move stops anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.event_logs import event_files

_IDS = pa.list_(pa.int32())
_START_EVENTS = frozenset({catalogue.MOVE_STARTED, catalogue.MOVE_WAITING, catalogue.MOVE_RETARGETED})
_END_EVENTS = frozenset({catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED})
_QUEUE_EVENTS = frozenset({catalogue.MOVE_WAITING, catalogue.MOVE_WITHDRAWN})
_STALL_EVENTS = frozenset({catalogue.MOVE_STALLED, catalogue.MOVE_RESUMED, *_END_EVENTS})
_REFUSALS = (catalogue.MOVE_REFUSED, catalogue.ENTRY_REFUSED)
_ROWS = 10_000
_THROTTLES = (catalogue.THROTTLE_SET, catalogue.THROTTLE_RESTORED)

MOVES = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("number", pa.int64()), ("id", pa.int64()),
    *((name, pa.string()) for name in ("route", "who", "principal", "reason")), ("original", _IDS), ("target", _IDS),
    ("outcome", pa.string()), ("started", pa.int64()), ("ended", pa.int64()), ("waited_ms", pa.int64()),
    ("waited_seconds", pa.float64()), ("seconds", pa.float64()), ("bytes", pa.int64()),
    ("bytes_per_second", pa.float64()), ("retargets", pa.int64()), ("stalls", pa.int64()),
    ("stalled_seconds", pa.float64()),
])  # fmt: skip
"""`number` counts the moves of a partition."""


class Told(NamedTuple):
    """What the events of some partitions tell; those of brokers are of no partition.

    throttles    events that set or end a rate
    refusals     by event and reason: how many, and the last time
    newest       the time of the last event
    """

    moves: pa.Table
    throttles: list[dict[str, Any]]
    refusals: dict[tuple[str, str | None], tuple[int, int]]
    newest: int | None
    twice: list[tuple[str, int]]


def told(tables: Sequence[pa.Table], _: None) -> Told:
    """`tables`: events, and partitions of a snapshot."""
    events, partitions = tables
    sizes = dict[tuple[str, int], int | None]()
    twice = []
    for topic, number, size in zip(*(partitions[name].to_pylist() for name in _SIZED), strict=True):
        if (topic, number) in sizes:
            twice.append((topic, number))
        sizes[topic, number] = size
    is_move = pc.and_(
        pc.starts_with(events["event"], catalogue.MOVE_PREFIX), pc.not_equal(events["event"], _REFUSALS[0])
    )
    named = pc.and_(pc.is_valid(events["topic"]), pc.is_valid(events["partition"]))
    rows = _rows(events.filter(pc.and_(is_move, named)), "topic", "partition", *event_files.ORDER)
    moves = (
        row
        for name, of_partition in groupby(rows, itemgetter("topic", "partition"))
        for row in _moves(name, list(of_partition), sizes.get(name))
    )
    of_brokers = pc.and_(pc.is_in(events["event"], pa.array(_THROTTLES)), pc.is_valid(events["broker"]))
    refused = events.filter(pc.is_in(events["event"], pa.array(_REFUSALS))).group_by(["event", "reason"])
    return Told(
        _table(moves),
        [*_rows(events.filter(of_brokers), "broker", *event_files.ORDER)],
        {
            (row["event"], row["reason"]): (row["at_count"], row["at_max"])
            for row in refused.aggregate([("at", "count"), ("at", "max")]).to_pylist()
        },
        pc.max(events["at"]).as_py(),
        sorted(twice)[:1],
    )


_SIZED = ("topic", "partition", "bytes")


def _table(moves: Iterator[dict[str, Any]]) -> pa.Table:
    """Rows become columns in parts: dictionaries take ten times the memory."""
    parts = [MOVES.empty_table()]
    while some := list(islice(moves, _ROWS)):
        parts.append(pa.Table.from_pylist(some, MOVES))
    return pa.concat_tables(parts)


def _rows(events: pa.Table, *order: str) -> Iterator[dict[str, Any]]:
    for batch in events.sort_by([(name, "ascending") for name in order]).to_batches(_ROWS):
        yield from batch.to_pylist()


def _moves(name: tuple[str, int], events: Sequence[Mapping[str, Any]], size: int | None) -> Iterator[dict[str, Any]]:
    """`events`: of one partition, in order."""
    by_number = dict[int, list[tuple[Mapping[str, Any], int]]]()
    starts, took = 0, _stalls(events)
    for place, one in enumerate(events):
        starts += one["event"] == catalogue.MOVE_STARTED
        number = starts + (one["event"] in _QUEUE_EVENTS)
        by_number.setdefault(number, []).append((one, took.get(place, 0)))
    for number, of_move in sorted(by_number.items()):
        yield {"topic": name[0], "partition": name[1], "number": number, **_move(of_move, size)}


def _stalls(events: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """By place of an event that tells a stall: how long it took, in ms. 0 where it lasts."""
    found: dict[int, int] = {}
    before: int | None = None
    for place, one in enumerate(events):
        if one["event"] not in _STALL_EVENTS:
            continue
        if before is not None:
            found[before] = one["at"] - events[before]["at"]
        before = place if one["event"] == catalogue.MOVE_STALLED else None
    return found


def _move(events: Sequence[tuple[Mapping[str, Any], int]], size: int | None) -> dict[str, Any]:
    """`events`: each with how long the stall took that it tells."""
    all_ = [one for one, _ in events]

    def of(*names: str) -> list[Mapping[str, Any]]:
        return [one for one in all_ if one["event"] in names]

    begun, over, stalls = of(*_START_EVENTS), of(*_END_EVENTS), of(catalogue.MOVE_STALLED)
    started, ended = _least(of(catalogue.MOVE_STARTED)), _most(over)
    waiting = _most(of(catalogue.MOVE_WAITING))
    original, target = _first(all_, "original"), _last(of(*_START_EVENTS, *_END_EVENTS), "target")
    ending = over[-1]["event"] if over else None
    copied = _last(over, "copied")
    if copied is None and ending == catalogue.MOVE_COMPLETED and size is not None and None not in (original, target):
        copied = size * len({*target} - {*original})
    waited = None if started is None or waiting is None else started - waiting
    seconds = None if started is None or ended is None else (ended - started) / 1000
    known = ending == catalogue.MOVE_COMPLETED and copied is not None and seconds is not None and seconds > 0
    return {
        "id": max((one["id"] for one in all_ if one["id"] is not None), default=None),
        **{name: _first(begun, name) for name in ("route", "who", "principal", "reason")},
        "original": original,
        "target": target,
        "outcome": _outcome(all_, ending, is_started=started is not None),
        "started": started,
        "ended": ended,
        "waited_ms": waited,
        "waited_seconds": None if waited is None else waited / 1000,
        "seconds": seconds,
        "bytes": copied,
        "bytes_per_second": copied / seconds if known else None,
        "retargets": len(of(catalogue.MOVE_RETARGETED)),
        "stalls": len(stalls),
        "stalled_seconds": sum(took for _, took in events) / 1000,
    }


def _outcome(events: Sequence[Mapping[str, Any]], ending: str | None, *, is_started: bool) -> str:
    if ending is not None:
        return ending.rpartition(".")[2]
    last_stall = next((one["event"] for one in reversed(events) if one["event"] in _STALL_EVENTS), None)
    if last_stall == catalogue.MOVE_STALLED:
        return "stalled"
    of_queue = [one["event"] for one in events if one["event"] in _QUEUE_EVENTS]
    if is_started or not of_queue:
        return "moving"
    if of_queue[-1] == catalogue.MOVE_WITHDRAWN:
        return "withdrawn"
    return "waiting" if catalogue.MOVE_WAITING in of_queue else "moving"


def _first(events: Iterable[Mapping[str, Any]], name: str) -> Any:
    return next((one[name] for one in events if one[name] is not None), None)


def _last(events: Sequence[Mapping[str, Any]], name: str) -> Any:
    return _first(reversed(events), name)


def _least(events: Iterable[Mapping[str, Any]]) -> int | None:
    return min((one["at"] for one in events), default=None)


def _most(events: Iterable[Mapping[str, Any]]) -> int | None:
    return max((one["at"] for one in events), default=None)
