"""Functions of what several tables say of the same partitions, and who calls them: this process with all rows at once
(`--master none`), or tasks of Spark with pieces of topics. Nothing else differs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from zlib import crc32

import numpy as np
import pyarrow as pa

from kafka_reassign_rpc.pipeline.arrow_tasks import (
    answer_row,
    cell,
    cells_of,
    collected,
    mapped,
    rows_to_cell,
    streamed,
    tasks_for,
    to_table,
)
from kafka_reassign_rpc.pipeline.parquet_files import shares_of, table_in, whole_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath, matching, spark_uri
from kafka_reassign_rpc.planner.deterministic_random import random_bits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
A = TypeVar("A")

_PARTS = "part int, rows binary"
PIECE_PARTITIONS = 5000
"""A larger topic is planned in such pieces. The spread of a topic over brokers (a soft goal) then holds for each."""


class Source(NamedTuple):
    """Files, in directories or by themselves. Each of `reads` makes some rows by `schema` of the name and the content
    of one, together they make all; rows have a topic and a partition. What is read `again` is kept in Spark.
    """

    places: Sequence[StorePath]
    schema: pa.Schema
    reads: Sequence[Callable[[str, bytes], pa.Table]]
    names: str = "*.parquet"
    again: bool = False


def parquet_source(path: StorePath, schema: pa.Schema, *, again: bool = False) -> Source:
    shares = shares_of(path)
    reads = [partial(table_in, schema=schema, share=one, shares=shares) for one in range(shares)]
    return Source([path], schema, reads, again=again)


class PieceCaller(Protocol):
    def __call__(
        self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A, /
    ) -> list[T]:
        """At least one answer, in any order. `function` gets a table for each source: all that they say of some
        topics, or of pieces of them.
        """

    def each(
        self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A, /
    ) -> Iterator[T]:
        """The same, for large answers."""

    def forget(self) -> None:
        """What was kept of sources that are read again."""


class CallHere:
    """Keeps what it has read."""

    def __init__(self) -> None:
        self._read: dict[tuple[tuple[StorePath, ...], str], pa.Table] = {}

    def __call__(self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A) -> list[T]:
        return [*self.each(sources, function, given)]

    def each(self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A) -> Iterator[T]:
        yield function([self._table(one) for one in sources], given)

    def forget(self) -> None:
        self._read.clear()

    def _table(self, source: Source) -> pa.Table:
        key = (tuple(source.places), source.schema.to_string())
        if key not in self._read:
            files = (file for place in source.places for file in _files(place, source.names))
            contents = ((str(file), file.read_bytes()) for file in files)
            made = (read(*content) for content in contents for read in source.reads)
            self._read[key] = pa.concat_tables([source.schema.empty_table(), *made])
        return self._read[key]


class CallOnSpark:
    def __init__(self, spark: "SparkSession", rows: int) -> None:
        self.spark, self.tasks = spark, tasks_for(spark, rows)
        self._kept: dict[tuple[StorePath, ...], list[DataFrame]] = {}

    def __call__(self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A) -> list[T]:
        return collected(self._answers(sources, function, given))

    def each(self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A) -> Iterator[T]:
        return streamed(self._answers(sources, function, given))

    def forget(self) -> None:
        for part in chain.from_iterable(self._kept.values()):
            part.unpersist()
        self._kept.clear()

    def _answers(
        self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], A], T], given: A
    ) -> "DataFrame":
        empty = [one.schema.empty_table() for one in sources]

        def of_piece(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            tables = [[one] for one in empty]
            for number, rows in cells_of(batches):
                tables[number].append(to_table(rows))
            yield answer_row(function([pa.concat_tables(of) for of in tables], given))

        return mapped(self.in_pieces(sources), of_piece)

    def in_pieces(self, sources: Sequence[Source]) -> "DataFrame":
        """Each task gets cells of rows, each with the number of its source."""
        from pyspark.sql.functions import lit

        made = [
            part.select("part", lit(number).alias("number"), "rows")
            for number, source in enumerate(sources)
            if source.places
            for part in self._parts(source)
        ]
        rows = reduce(lambda one, other: one.union(other), made)
        return (rows.repartitionById(self.tasks, "part") if self.tasks > 1 else rows.coalesce(1)).drop("part")

    def _parts(self, source: Source) -> "list[DataFrame]":
        key, tasks = tuple(source.places), self.tasks
        if key in self._kept:
            return self._kept[key]

        def by_part(read: Callable[[str, bytes], pa.Table]) -> "DataFrame":
            def of_file(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for name, content in cells_of(batches):
                    for part, rows in divided(read(name, content), tasks):
                        columns = [pa.array([part], pa.int32()), cell(rows_to_cell(rows))]
                        yield pa.record_batch(columns, ["part", "rows"])

            return mapped(whole_files(self.spark, [*map(spark_uri, source.places)], source.names), of_file, _PARTS)

        parts = [*map(by_part, source.reads)]
        if source.again:
            self._kept[key] = [one.persist() for one in parts]
        return parts


def _files(place: StorePath, names: str) -> Iterator[StorePath]:
    """As Spark lists them."""
    inside = [place] if place.is_file() else matching(place, names)
    return (file for file in inside if not file.name.startswith(("_", ".")))


def divided(table: pa.Table, parts: int) -> Iterator[tuple[int, pa.Table]]:
    """The part of each piece depends on its name alone, so that pieces of several files come together. What has no
    topic is a piece.
    """
    if not len(table):
        return
    encoded = table["topic"].fill_null("").combine_chunks().dictionary_encode()
    of_names = np.array([crc32(name.encode()) for name in encoded.dictionary.to_pylist()], np.uint64) << np.uint64(32)
    pieces = np.asarray(table["partition"].fill_null(-1)).astype(np.int64) // PIECE_PARTITIONS
    keys = of_names[np.asarray(encoded.indices)] | (pieces.astype(np.uint64) & np.uint64(2**32 - 1))
    chosen = (random_bits(keys, 0) % np.uint64(parts)).astype(np.int64)
    rows = np.argsort(chosen, kind="stable")
    taken, bounds = table.take(pa.array(rows)), np.searchsorted(chosen[rows], np.arange(parts + 1)).tolist()
    for part, (first, end) in enumerate(pairwise(bounds)):
        if end > first:
            yield part, taken.slice(first, end - first)
