"""A directory with the results of a job. The driver writes all of it: it cannot read what executors of a remote master
write to their own disks. The files are the same with every master.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from types import TracebackType
from typing import Self

import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.output_directory import output_directory
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter, Row
from kafka_reassign_rpc.pipeline.reports.result_tables import EXCERPT_ROWS, SortedRows, TableExcerpt, rows_of
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file

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
