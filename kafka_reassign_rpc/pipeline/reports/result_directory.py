"""A directory with the results of a job: tables as Parquet, pages as HTML.

The driver writes all of it, row by row: what executors of a remote master write to their own disks is lost to it. So
the files are the same with every master.
"""

from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_reassign_rpc.pipeline.output_directory import output_directory
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file

REPORT = "report.html"
"""Written last: a directory of results without it is not complete."""


class ResultDirectory:
    """Writes tables and pages into a directory, which appears or replaces the old one as a whole.

        with ResultDirectory(Path("out")) as results:
            frames = results.write_tables(frames)       # computes them once
            results.write_page("report.html", …)

    A block that fails leaves the old directory as it was.
    """

    def __init__(self, path: StorePath) -> None:
        self._directory = output_directory(path, last=REPORT)
        self._hidden = self._directory.hidden
        self._persisted: list[DataFrame] = []

    def write_tables(self, frames: dict[str, DataFrame]) -> dict[str, DataFrame]:
        """The tables as Spark keeps them until the end of the block."""
        for name, frame in frames.items():
            self._persisted.append(frame.persist())
            writer = DirectoryWriter(self._hidden / f"{name}.parquet", to_arrow_schema(frame.schema))
            try:
                writer.extend(frame.toLocalIterator(prefetchPartitions=True))
                writer.close()
            except BaseException:
                writer.discard()
                raise
        return frames

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
            for frame in self._persisted:
                frame.unpersist()
