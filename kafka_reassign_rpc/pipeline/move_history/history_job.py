"""The history job: tables from the events of moves. docs/results.md has the columns.

Moves that tasks have found, in files that this process maps: it holds only their places in an order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.move_history.history_chunk import MOVES, Told, told
from kafka_reassign_rpc.pipeline.reports.result_tables import SortedRows
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import PARTITIONS
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller, Source, parquet_source

_HELD_ROWS = 20_000
"""While they are shown."""


class MovesOnDisk:
    """With `is_started` and `is_stalled`, 0 or 1, to sort by."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        for name in ("is_started", "is_stalled"):
            self._schema = self._schema.append(pa.field(name, pa.int8()))
        self._directory = TemporaryDirectory(prefix="kafka-reassign-history-")
        self._parts: list[pa.Table] = []

    def add(self, moves: pa.Table) -> None:
        """Raises JobFailed where the temporary folder is full or gone."""
        if not len(moves):
            return
        stalled = pc.fill_null(pc.equal(moves["outcome"], "stalled"), False)
        for flags in (pc.is_valid(moves["started"]), stalled):
            moves = moves.append_column(self._schema.field(moves.num_columns), flags.cast(pa.int8()))
        path = str(Path(self._directory.name) / f"part-{len(self._parts)}.arrow")
        try:
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, self._schema) as writer:
                writer.write_table(moves.combine_chunks())
        except OSError as error:  # of which PyArrow does not always name the file
            raise JobFailed(f"{path} cannot be written: {error}. TMPDIR names another folder for it") from None
        self._parts.append(pa.ipc.open_file(pa.memory_map(path)).read_all())

    def columns(self, *names: str) -> pa.Table:
        return pa.concat_tables([self._schema.empty_table(), *self._parts]).select(names)

    def batches(self, *names: str) -> Iterator[list[Any]]:
        """Columns of some rows at a time."""
        for part in self._parts:
            for batch in part.select(names).to_batches(_HELD_ROWS):
                yield [column.to_pylist() for column in batch.columns]

    def sorted(self, names: Sequence[str], which: Callable[[pa.Table], pa.Array] | None, *order: str) -> SortedRows:
        """`which`: a mask, None: all; `order`: names of columns, with a minus the largest first; nulls are last."""
        keys = [(name.lstrip("-"), "descending" if name[0] == "-" else "ascending") for name in order]
        shown, places = self.columns(*names), pc.sort_indices(self.columns(*(name for name, _ in keys)), sort_keys=keys)
        if which is not None:
            places = places.filter(which(self.columns(*self._schema.names)).combine_chunks().take(places))

        def rows() -> Iterator[tuple[Any, ...]]:
            for first in range(0, len(places), _HELD_ROWS):
                some = shown.take(places.slice(first, _HELD_ROWS))
                yield from zip(*(column.to_pylist() for column in some.columns), strict=True)

        return SortedRows(shown.schema, len(places), rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._parts.clear()
        self._directory.cleanup()


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
        np.asarray(moves[name].drop_null()) for name in ("seconds", "bytes_per_second", "waited_ms")
    )
    return {
        "outcome": outcome,
        "route": route,
        "moves": len(moves),
        "median_seconds": _percentile(seconds, 0.5),
        "p95_seconds": _percentile(seconds, 0.95),
        "longest_seconds": pc.max(moves["seconds"]).as_py(),
        "mean_waited_seconds": int(waited.sum()) / len(waited) / 1000 if len(waited) else None,
        "bytes": pc.sum(moves["bytes"]).as_py(),
        "median_bytes_per_second": _percentile(rates, 0.5),
    }


def _percentile(values: Any, share: float) -> float | None:
    """Between the two nearest values, in proportion."""
    return float(np.quantile(values, share)) if len(values) else None


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
