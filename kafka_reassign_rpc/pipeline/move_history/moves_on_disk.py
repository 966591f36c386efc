"""Moves that tasks have found, in files that this process maps: it holds only their places in an order."""

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.reports.result_tables import SortedRows

_HELD_ROWS = 20_000
"""Over all files, while they are merged."""


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
        return pa.concat_tables([one.select(names) for one in (self._schema.empty_table(), *self._parts)])

    def batches(self, *names: str) -> Iterator[list[Any]]:
        """Columns of some rows at a time."""
        for part in self._parts:
            for batch in part.select(names).to_batches(_HELD_ROWS):
                yield [column.to_pylist() for column in batch.columns]

    def sorted(self, names: Sequence[str], which: Callable[[pa.Table], pa.Array] | None, *order: str) -> SortedRows:
        """`which`: a mask, None: all; `order`: names of columns, with a minus the largest first; nulls are last."""
        keys = [(name.lstrip("-"), "descending" if name[0] == "-" else "ascending") for name in order]
        places = [_places(part, which, keys) for part in self._parts]
        schema = pa.schema([self._schema.field(name) for name in names])
        at_once = max(50, _HELD_ROWS // max(1, len(self._parts)))

        def rows() -> Iterator[tuple[Any, ...]]:
            streams = [_keyed(part, at, names, keys, at_once) for part, at in zip(self._parts, places, strict=True)]
            return map(itemgetter(1), merge(*streams, key=itemgetter(0)))

        return SortedRows(schema, sum(map(len, places)), rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._parts.clear()
        self._directory.cleanup()


def _places(part: pa.Table, which: Callable[[pa.Table], pa.Array] | None, keys: list[tuple[str, str]]) -> pa.Array:
    """Row numbers, in order."""
    sorted_by = part.select([name for name, _ in keys]).append_column("row", pa.array(np.arange(len(part))))
    chosen = sorted_by if which is None else sorted_by.filter(which(part))
    return chosen.sort_by(keys)["row"].combine_chunks()


def _keyed(
    part: pa.Table, places: pa.Array, names: Sequence[str], keys: list[tuple[str, str]], at_once: int
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """(what sorts it as Arrow does, row)."""
    for first in range(0, len(places), at_once):
        some = part.take(places.slice(first, at_once))
        values = [_key(some[name].to_pylist(), order) for name, order in keys]
        rows = zip(*(some[name].to_pylist() for name in names), strict=True)
        yield from zip(zip(*values, strict=True), rows, strict=True)


def _key(values: list[Any], order: str) -> list[tuple[bool, Any]]:
    if order == "descending":
        return [(one is None, 0 if one is None else -one) for one in values]
    return [(one is None, 0 if one is None else one) for one in values]
