"""What a job has found: tables as Parquet in a directory, as text, as one JSON document."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from pyspark.sql import DataFrame

from kafka_reassign_rpc.client.text_format import size, table
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.support.atomic_files import AtomicDirectory

SHOWN = 20
"""Rows of a table that are shown; Parquet has all of them."""


class Shown(NamedTuple):
    """A table as far as it is shown, and how many rows it has."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    total: int


def show(frame: DataFrame, rows: int = SHOWN) -> Shown:
    """Look at a table: one more row than is shown tells whether a count is worth it."""
    first = [tuple(row) for row in frame.limit(rows + 1).collect()]
    count = len(first) if len(first) <= rows else frame.count()
    return Shown(frame.columns, first[:rows], count)


def text(name: str, shown: Shown, *, empty: str) -> list[str]:
    """Lines: a heading, the rows, what is left out."""
    if not shown.total:
        return [f"{name}: {empty}"]
    lines = [f"{name} ({shown.total}):"]
    cells = [[column.replace("_", " ").upper() for column in shown.columns]]
    cells += [[cell(column, value) for column, value in zip(shown.columns, row, strict=True)] for row in shown.rows]
    lines += [f"  {line}" for line in table(cells)]
    if shown.total > len(shown.rows):
        lines.append(f"  … and {shown.total - len(shown.rows)} more")
    return lines


def document(shown: Shown) -> dict[str, Any]:
    """For --json."""
    rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    return {"rows": rows, "total": shown.total}


def json_line(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def time_of(at: int) -> str:
    """ms since 1970 began, for people: UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


SIZES = frozenset({"bytes"})
RATES = frozenset({"rate", "bytes_per_second", "median_bytes_per_second"})
TIMES = frozenset({"at", "seen", "seen_before", "when", "since", "started", "ended"})


def cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column in TIMES:
        return time_of(value)
    if column in SIZES:
        return size(value)
    if column in RATES:
        return f"{size(value)}/s"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def require_free(path: Path) -> None:
    """Raises BadInput where results would overwrite something that is not there to be replaced."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(f"{path}: is there already; give a directory that does not exist or is empty")


class ResultWriter:
    """Puts tables and pages into a directory that appears, or takes the place of the old one, as a whole.

        with ResultWriter(Path("out")) as writer:
            frames = writer.tables(frames)          # computed once: what comes back is read from Parquet
            writer.page("report.html", …)

    A block that fails leaves what was there before.
    """

    def __init__(self, path: Path) -> None:
        self._directory = AtomicDirectory(path)
        self._hidden = self._directory.hidden

    def tables(self, frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        written = {}
        for name, frame in frames.items():
            file = str(self._hidden / f"{name}.parquet")
            frame.coalesce(1).write.parquet(file)
            written[name] = frame.sparkSession.read.schema(frame.schema).parquet(file)
        return written

    def page(self, name: str, content: str) -> None:
        (self._hidden / name).write_text(content, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._directory.replace()
        self._directory.discard()
