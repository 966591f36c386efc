"""The result tables of a job as text and as JSON, and how texts and pages write their cells.

A directory with the results of a job. The driver writes all of it: it cannot read what executors of a remote master
write to their own disks. The files are the same with every master.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.output_directory import output_directory
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter, Row
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file
from kafka_reassign_rpc.support.bounded_text import abridged, printable
from kafka_reassign_rpc.support.human_units import duration, size, utc_time
from kafka_reassign_rpc.support.text_table import table as text_table

EXCERPT_ROWS = 20
"""Text, JSON and pages show so many rows; Parquet has all."""


LONGEST_CELL = 40
"""In characters: a reason may have a thousand."""


class TableExcerpt(NamedTuple):
    """The first rows of a table, and its number of rows."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    total: int


class SortedRows(NamedTuple):
    """A table that nothing holds as a whole."""

    schema: pa.Schema
    total: int
    rows: Callable[[], Iterator[tuple[Any, ...]]]

    def __len__(self) -> int:
        return self.total


def rows_of(table: pa.Table | SortedRows) -> Iterator[tuple[Any, ...]]:
    if isinstance(table, SortedRows):
        yield from table.rows()
        return
    for batch in table.to_batches(10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def excerpt(table: pa.Table | SortedRows, rows: int = EXCERPT_ROWS) -> TableExcerpt:
    return TableExcerpt(table.schema.names, [*islice(rows_of(table), rows)], len(table))


def first_rows(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> TableExcerpt:
    return TableExcerpt(columns, rows[:EXCERPT_ROWS], len(rows))


def text_lines(name: str, table: TableExcerpt, *, empty: str, width: int | None = None) -> list[str]:
    """`width`: that of a terminal."""
    if not table.total:
        return [f"{name}: {empty}"]
    lines = [f"{name} ({table.total}):"]
    cells = [[column_title(column).upper() for column in table.columns]]
    cells += [[abridged(printable(text), LONGEST_CELL) for text in row_texts(table.columns, row)] for row in table.rows]
    lines += [f"  {line}" for line in text_table(cells, width and width - 2)]
    if table.total > len(table.rows):
        lines.append(f"  … and {table.total - len(table.rows)} more")
    return lines


def json_document(table: TableExcerpt) -> dict[str, Any]:
    """Sizes are in bytes, times in seconds."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {"rows": rows, "total": table.total}


def json_line(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


SIZE_COLUMNS = frozenset({"bytes", "capacity", "free", "even_bytes"})
RATE_COLUMNS = frozenset(
    {
        *("rate", "bytes_per_second", "median_bytes_per_second"),
        *("produce", "fetch", "bytes_in", "potential_out"),
    }
)
TIME_COLUMNS = frozenset({"at", "seen", "seen_before", "when", "since", "started", "ended"})


SECONDS, IN_SECONDS = "seconds", "_seconds"
"""The name of a column of durations, and the ending of others."""
TITLES = {SECONDS: "took", "efficiency": "received of rate"}
OF_MEASURE = frozenset({"least", "most", "mean", "target"})
"""The row's `measure` decides the unit of these columns."""


def column_title(column: str) -> str:
    """Leaves out seconds, which cells show."""
    return TITLES.get(column, column.removesuffix(IN_SECONDS)).replace("_", " ")


def row_texts(columns: Sequence[str], row: Sequence[Any]) -> list[str]:
    measure = row[list(columns).index("measure")] if "measure" in columns else ""
    in_bytes = measure in SIZE_COLUMNS or measure in RATE_COLUMNS
    return [
        cell_text(measure if in_bytes and column in OF_MEASURE else column, value)
        for column, value in zip(columns, row, strict=True)
    ]


def cell_text(column: str, value: Any) -> str:
    """The column's name says whether it is a time, a duration, a size or a rate."""
    if value is None:
        return "-"
    if column in TIME_COLUMNS:
        return utc_time(value)
    if column in SIZE_COLUMNS:
        return size(value)
    if column in RATE_COLUMNS:
        return f"{size(value)}/s"
    if column == SECONDS or column.endswith(IN_SECONDS):
        return f"{value:.3g} s" if value < 60 else duration(value)
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


REPORT = "report.html"
"""Written last: without it a directory of results is incomplete."""


class ResultDirectory:
    """The directory appears or replaces the old one as a whole; a block that fails leaves the old one.

        with ResultDirectory(Path("out")) as results:
            shown = results.write_tables(tables)
            results.write_page("report.html", …)

    `at`: the time of the newest rows that were read.
    """

    def __init__(self, path: StorePath, at: int | None = None) -> None:
        self._directory = output_directory(path, last=REPORT)
        self._hidden, self._at = self._directory.hidden, at
        self._schemas: dict[str, pa.Schema] = {}

    def write_tables(self, tables: Mapping[str, pa.Table | SortedRows]) -> dict[str, TableExcerpt]:
        return {name: self.write_rows(name, table.schema, rows_of(table)) for name, table in tables.items()}

    def write_rows(self, name: str, schema: pa.Schema, rows: Iterable[Row]) -> TableExcerpt:
        self._schemas[name] = schema
        writer = DirectoryWriter(self._path_of(name), schema, at=self._at)
        rows = iter(rows)
        try:
            first = list(islice(rows, EXCERPT_ROWS))
            writer.extend(first)
            writer.extend(rows)
            writer.close()
        except BaseException:
            writer.discard()
            raise
        return TableExcerpt(schema.names, [tuple(row) for row in first], writer.rows)

    def read_table(self, name: str) -> pa.Table:
        return parquet_files.read(self._path_of(name), self._schemas[name])

    def _path_of(self, name: str) -> StorePath:
        return self._hidden / f"{name}.parquet"

    def write_page(self, name: str, content: str) -> None:
        write_file(self._hidden / name, content.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._directory.replace()
        finally:
            self._directory.discard()
