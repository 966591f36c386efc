"""The history job: tables from the events of moves. docs/results.md has the columns."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.move_history.history_chunk import MOVES, Told, told
from kafka_reassign_rpc.pipeline.move_history.moves_on_disk import MovesOnDisk
from kafka_reassign_rpc.pipeline.reports.result_tables import SortedRows
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import PARTITIONS
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller, Source, parquet_source

_MOVE = ("topic", "partition", "number")
_BRIEF_COLUMNS = (*_MOVE[:2], "original", "target", "outcome", "started", "waited_seconds", "seconds", "bytes")
_OF_OUTCOMES = ("outcome", "route", "seconds", "bytes_per_second", "waited_ms", "bytes")
_DRAWN = ("outcome", "started", "ended", "seconds")
_REQUESTER = ("who", "principal", "reason")
"""In lists of moves; `moves` has all."""
OUTCOMES = pa.schema([
    ("outcome", pa.string()), ("route", pa.string()), ("moves", pa.int64()),
    *((name, pa.float64()) for name in ("median_seconds", "p95_seconds", "longest_seconds", "mean_waited_seconds")),
    ("bytes", pa.int64()), ("median_bytes_per_second", pa.float64()),
])  # fmt: skip
THROTTLES = pa.schema([
    ("broker", pa.int32()), ("started", pa.int64()), ("ended", pa.int64()), ("rate", pa.int64()), ("bytes", pa.int64()),
    ("bytes_per_second", pa.float64()), ("efficiency", pa.float64()),
])  # fmt: skip
REFUSALS = pa.schema([("event", pa.string()), ("reason", pa.string()), ("events", pa.int64()), ("when", pa.int64())])


class History(NamedTuple):
    """moves     a row for each move, with what the page draws
    newest    the time of the last event
    """

    tables: Mapping[str, pa.Table | SortedRows]
    moves: pa.Table
    newest: int | None


@contextmanager
def history(call: PieceCaller, events: StorePath, snapshot: StorePath | None) -> Iterator[History]:
    """What it finds is there for the time of the block. Raises BadInput for a partition that stands twice in the
    snapshot: its moves would count twice.
    """
    if snapshot is None:
        sizes = Source([], PARTITIONS, [])
    else:
        snapshot_files.check(snapshot)
        sizes = parquet_source(snapshot_files.table_path(snapshot, "partitions"), PARTITIONS)
    parts = list[Told]()
    with MovesOnDisk(MOVES) as moves:
        for part in call.each([parquet_source(events, event_files.EVENTS), sizes], told, None):
            moves.add(part.moves)
            parts.append(part._replace(moves=MOVES.empty_table()))
        for topic, partition in sorted(one for part in parts for one in part.twice)[:1]:
            raise BadInput(f"{sizes.places[0]}: {topic}-{partition} occurs twice: export the snapshot again")
        newest = max((part.newest for part in parts if part.newest is not None), default=None)
        yield History(
            {
                "outcomes": _outcomes(moves.columns(*_OF_OUTCOMES)),
                "slowest": moves.sorted(
                    [*_BRIEF_COLUMNS, "bytes_per_second", *_REQUESTER], _is_ended, "-seconds", *_MOVE
                ),
                "stalled": moves.sorted(
                    [*_BRIEF_COLUMNS, "stalls", "stalled_seconds", *_REQUESTER],
                    lambda part: pc.greater(part["stalls"], 0),
                    *("-is_stalled", "-stalled_seconds", *_MOVE),
                ),
                "throttles": _throttles(parts, moves, newest),
                "refusals": _refusals(parts),
                "moves": moves.sorted(
                    [name for name in MOVES.names if name not in ("number", "waited_ms")],
                    None,
                    *("is_started", "started", *_MOVE),
                ),
            },
            moves.columns(*_DRAWN),
            newest,
        )


def _is_ended(moves: pa.Table) -> pa.Array:
    return pc.is_in(moves["outcome"], pa.array(["completed", "cancelled"]))


def _outcomes(moves: pa.Table) -> pa.Table:
    """`moves`: their columns of `_OF_OUTCOMES`."""
    route = moves["route"].fill_null("unknown")
    kinds = pa.table([moves["outcome"], route], ["outcome", "route"]).group_by(["outcome", "route"]).aggregate([])
    rows = []
    for outcome, by in sorted(zip(kinds["outcome"].to_pylist(), kinds["route"].to_pylist(), strict=True)):
        is_one = pc.and_(pc.equal(moves["outcome"], outcome), pc.equal(route, by))
        rows.append(_outcome(outcome, by, moves.filter(is_one)))
    return pa.Table.from_pylist(rows, OUTCOMES)


def _outcome(outcome: str, route: str, moves: pa.Table) -> dict[str, Any]:
    seconds, rates, waited = (
        np.sort(np.asarray(moves[name].drop_null())) for name in ("seconds", "bytes_per_second", "waited_ms")
    )
    return {
        "outcome": outcome,
        "route": route,
        "moves": len(moves),
        "median_seconds": _percentile(seconds, 0.5),
        "p95_seconds": _percentile(seconds, 0.95),
        "longest_seconds": seconds[-1] if len(seconds) else None,
        "mean_waited_seconds": int(waited.sum()) / len(waited) / 1000 if len(waited) else None,
        "bytes": pc.sum(moves["bytes"]).as_py(),
        "median_bytes_per_second": _percentile(rates, 0.5),
    }


def _percentile(ordered: Any, share: float) -> float | None:
    """Between the two nearest values, in proportion."""
    if not len(ordered):
        return None
    place = share * (len(ordered) - 1)
    low, high = ordered[int(np.floor(place))], ordered[int(np.ceil(place))]
    return float(low if low == high else (np.ceil(place) - place) * low + (place - np.floor(place)) * high)


def _throttles(parts: Sequence[Told], moves: MovesOnDisk, newest: int | None) -> pa.Table:
    """A row for each rate of a broker until its next change. `efficiency` is the share of the rate that moves to it
    used; of a rate of 0 there is none.
    """
    changes = sorted((one for part in parts for one in part.throttles), key=itemgetter("broker", *event_files.ORDER))
    arriving = _arriving(moves, {one["broker"] for one in changes})
    rows = []
    for broker, of_broker in groupby(changes, key=itemgetter("broker")):
        own = list(of_broker)
        for one, ended in zip(own, [*(following["at"] for following in own[1:]), newest], strict=True):
            if one["event"] == catalogue.THROTTLE_SET and one["bytes"] is not None and ended > one["at"]:
                rows.append(_throttle(broker, one["at"], ended, one["bytes"], arriving[broker]))
    rows.sort(key=itemgetter("started", "broker", "ended", "rate"))
    return pa.Table.from_pylist(rows, THROTTLES)


class _Arriving(NamedTuple):
    """Copies to a broker, as columns. `ended`, `share` and `bytes`: NaN where not known."""

    started: Any
    ended: Any
    bytes: Any


def _arriving(moves: MovesOnDisk, brokers: set[int]) -> Mapping[int, _Arriving]:
    found = defaultdict[int, list[tuple[int, float, float]]](list)
    names = ("started", "ended", "bytes", "original", "target")
    unknown = float("nan")
    rows = (row for columns in moves.batches(*names) for row in zip(*columns, strict=True)) if brokers else ()
    for started, ended, copied, original, target in rows:
        if started is None or original is None or target is None:
            continue
        added = {*target} - {*original}
        for broker in brokers & added:
            size = unknown if copied is None else copied / len(added)
            found[broker].append((started, unknown if ended is None else ended, size))
    nothing = np.zeros((0, 3))
    return {one: _Arriving(*np.array(found[one] if found[one] else nothing, np.float64).T) for one in brokers}


def _throttle(broker: int, started: int, ended: int, rate: int, arriving: _Arriving) -> dict[str, Any]:
    """Bytes count for the rate in force while they came. An event tells only the total that a move has copied, so the
    sum is unknown where a move began before the rate was set, went on afterwards, or has no known total.
    """
    until = np.fmin(arriving.ended, ended)
    overlaps = until - np.maximum(arriving.started, started) > 0
    is_within = (arriving.started >= started) & (arriving.ended <= ended)
    is_known = (is_within & ~np.isnan(arriving.bytes)) | (arriving.bytes == 0)
    known = bool((is_known | ~overlaps).all())
    # Whole bytes: the sum of fractions depends on the order in which tasks end
    copied = int(np.floor(arriving.bytes[overlaps] + 0.5).astype(np.int64).sum()) if known else None
    used = None if copied is None else copied / ((ended - started) / 1000)
    return {
        "broker": broker,
        "started": started,
        "ended": ended,
        "rate": rate,
        "bytes": copied,
        "bytes_per_second": used,
        "efficiency": used / rate if used is not None and rate > 0 else None,
    }


def _refusals(parts: Sequence[Told]) -> pa.Table:
    counts, last = Counter[tuple[str, str | None]](), dict[tuple[str, str | None], int]()
    for part in parts:
        for key, (count, at) in part.refusals.items():
            counts[key] += count
            last[key] = max(at, last.get(key, at))
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0][0], one[0][1] or ""))
    rows = [{"event": key[0], "reason": key[1], "events": count, "when": last[key]} for key, count in ordered]
    return pa.Table.from_pylist(rows, REFUSALS)
