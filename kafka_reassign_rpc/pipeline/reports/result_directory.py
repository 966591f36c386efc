"""A directory with the results of a job: tables as Parquet, pages as HTML."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame

from kafka_reassign_rpc.support.atomic_files import AtomicDirectory


class ResultDirectory:
    """Writes tables and pages into a directory, which appears or replaces the old one as a whole.

        with ResultDirectory(Path("out")) as results:
            frames = results.write_tables(frames)       # computes them once: the frames returned read Parquet
            results.write_page("report.html", …)

    A block that fails leaves the old directory as it was.
    """

    def __init__(self, path: Path) -> None:
        self._directory = AtomicDirectory(path)
        self._hidden = self._directory.hidden

    def write_tables(self, frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        written = {}
        for name, frame in frames.items():
            file = str(self._hidden / f"{name}.parquet")
            frame.coalesce(1).write.parquet(file)
            written[name] = frame.sparkSession.read.schema(frame.schema).parquet(file)
        return written

    def write_page(self, name: str, content: str) -> None:
        (self._hidden / name).write_text(content, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._directory.replace()
        self._directory.discard()
