"""Who calls the functions of the verifier: this process with one chunk of all partitions (`--master none`), or tasks of
Spark with a chunk each. Nothing else differs.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.arrow_tasks import answer_row, cells_of, collected, mapped, tasks_for
from kafka_reassign_rpc.pipeline.planning.verify_chunk import SCHEMAS, Said
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_files import decoded, read_files
from kafka_reassign_rpc.pipeline.planning.verify_topics import PIECE
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
A = TypeVar("A")


class VerifyCaller(Protocol):
    """Both give the answers of all chunks."""

    def of_snapshot(self, function: Callable[[pa.Table], T]) -> list[T]: ...

    def of_all(self, function: Callable[[Said, A], T], given: A) -> list[T]: ...

    def odd_files(self) -> list[RuleViolation]: ...


class SaidHere:
    def __init__(self, path: StorePath, plan: StorePath) -> None:
        moves = parquet_files.read(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA)
        self._files = [read_files(plan, directory) for directory in (BATCHES, ROLLBACK)]
        tables = snapshot_files.read(path, "partitions"), moves, plan_writer.read_left_out(plan)
        self._said = Said(*tables, *(one.entries for one in self._files))

    def of_snapshot(self, function: Callable[[pa.Table], T]) -> list[T]:
        return [function(self._said.partitions)]

    def of_all(self, function: Callable[[Said, A], T], given: A) -> list[T]:
        return [function(self._said, given)]

    def odd_files(self) -> list[RuleViolation]:
        return [fault for one in self._files for fault in one.odd]


class SaidOnSpark:
    def __init__(self, spark: "SparkSession", path: StorePath, plan: StorePath, rows: int) -> None:
        self._partitions = snapshot_files.data_frame(spark, path, "partitions")
        self._tasks = tasks_for(spark, rows)
        self._files = {one: parquet_files.whole_files(spark, spark_uri(plan / one)) for one in (BATCHES, ROLLBACK)}
        moves, left_out = (
            parquet_files.spark_reader(spark).schema(parquet_files.spark_schema(schema)).parquet(spark_uri(plan / name))
            for name, schema in ((plan_directory.MOVES, SCHEMAS.moves), (plan_directory.LEFT_OUT, SCHEMAS.left_out))
        )
        entries = (_entries(files, directory) for directory, files in self._files.items())
        self._said = Said(self._partitions, moves, left_out, *entries)

    def of_snapshot(self, function: Callable[[pa.Table], T]) -> list[T]:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if read := list(batches):
                yield answer_row(function(pa.Table.from_batches(read).cast(SCHEMAS.partitions)))

        return collected(mapped(self._partitions, of_task))

    def of_all(self, function: Callable[[Said, A], T], given: A) -> list[T]:
        """Each task gets whole pieces of topics."""
        from pyspark.sql import functions as f

        tables = [table.withColumn("said", f.lit(place)) for place, table in enumerate(self._said)]
        rows = reduce(_joined, tables)
        piece = f.floor(f.col("partition") / PIECE)
        divided = rows.coalesce(1) if self._tasks == 1 else rows.repartition(self._tasks, "topic", piece)

        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if read := list(batches):
                yield answer_row(function(_divided(pa.Table.from_batches(read)), given))

        return collected(mapped(divided, of_task))

    def odd_files(self) -> list[RuleViolation]:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for name, content in _contents(batches):
                yield answer_row((name, decoded(name, content, "").odd))

        found = []
        for files in self._files.values():
            found += sorted(collected(mapped(files, of_task)))
        return [fault for _, odd in found for fault in odd]


def _joined(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other, allowMissingColumns=True)


def _contents(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
    for path, content in cells_of(batches):
        yield path.rpartition("/")[2], content


def _entries(files: "DataFrame", directory: str) -> "DataFrame":
    def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for name, content in _contents(batches):
            yield from decoded(name, content, directory).entries.to_batches()

    return mapped(files, of_task, parquet_files.spark_schema(SCHEMAS.forward))


def _divided(rows: pa.Table) -> Said:
    of_rows = rows["said"].to_numpy()
    tables = (rows.filter(pa.array(of_rows == place)) for place in range(len(SCHEMAS)))
    return Said._make(one.select(schema.names).cast(schema) for one, schema in zip(tables, SCHEMAS, strict=True))
