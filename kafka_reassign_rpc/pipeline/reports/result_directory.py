"""A directory with the results of a job. The driver writes all of it row by row: it cannot read what executors of a
remote master write to their own disks. The files are the same with every master.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.output_directory import output_directory
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter, Row
from kafka_reassign_rpc.pipeline.reports.result_tables import EXCERPT_ROWS, ShowStatus, TableExcerpt, quiet
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file

REPORT = "report.html"
"""Written last: without it a directory of results is incomplete."""


class ResultDirectory:
    """The directory appears or replaces the old one as a whole; a block that fails leaves the old one.

        with ResultDirectory(Path("out")) as results:
            shown = results.write_tables(frames)
            results.write_page("report.html", …)

    `at`: the time of the newest rows that were read. The end of the block frees what Spark keeps of the tables.
    """

    def __init__(self, path: StorePath, at: int | None = None) -> None:
        self._directory = output_directory(path, last=REPORT)
        self._hidden, self._at = self._directory.hidden, at
        self._frames: list[DataFrame] = []
        self._schemas: dict[str, pa.Schema] = {}

    def write_tables(self, frames: Mapping[str, DataFrame], show_status: ShowStatus = quiet) -> dict[str, TableExcerpt]:
        """Computes each once."""
        self._frames += frames.values()
        shown = {}
        for number, (name, frame) in enumerate(frames.items(), 1):
            show_status(f"writing table {number} of {len(frames)}: {name.replace('_', ' ')}")
            rows = frame.toLocalIterator(prefetchPartitions=True)
            shown[name] = self.write_rows(name, to_arrow_schema(_nullable(frame.schema)), rows)
        return shown

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
            for frame in self._frames:
                frame.unpersist()


def _nullable(schema: StructType) -> StructType:
    """Lets each value be null, so that the files do not depend on who has read their source."""
    text = schema.json()
    for attribute in ("nullable", "containsNull"):
        text = text.replace(f'"{attribute}":false', f'"{attribute}":true')
    return StructType.fromJson(json.loads(text))
