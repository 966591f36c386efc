"""Spark's tasks over Arrow: rows whose columns are cells of bytes, and answers, which are pickled.

Tasks can do without the search for garbage in cycles: again and again it visits millions of tuples that are in use,
which takes a sixth of a large plan.
"""

import gc
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """What is in no cycle goes at once, as always; what is in one, after the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

ROWS_IN_CHUNK = 200_000
"""Partitions of one task."""
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
"""To a third: that takes less time than Java takes to copy the rest."""


def tasks_for(spark: "SparkSession", rows: int) -> int:
    """One for a few rows; else as many as there are cores, or more."""
    if rows <= ROWS_IN_CHUNK // 4:
        return 1
    cores: int = spark.sparkContext.defaultParallelism
    return max(cores, -(-rows // ROWS_IN_CHUNK))


def mapped(
    table: "DataFrame", function: Callable[..., Any], schema: "StructType | str" = "answer binary"
) -> "DataFrame":
    """As `DataFrame.mapInArrow`, which asks for pandas and does not need it."""
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import _create_udf
    from pyspark.util import PythonEvalType

    def without_search(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with no_search_for_cycles():
            yield from function(batches)

    called = _create_udf(without_search, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = called(*(table[name] for name in table.columns))
    return DataFrame(table._jdf.mapInArrow(column._jc, False, None), table.sparkSession)


def rows_to_cell(rows: pa.Table | pa.RecordBatch) -> bytes:
    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as writer:
            writer.write(rows)
        packed: bytes = sink.getvalue().to_pybytes()
    return packed


def to_table(cell: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(cell)) as reader:
        return reader.read_all()


def cell(content: bytes) -> pa.Array:
    return pa.array([content], pa.binary())


def cells_of(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def collected(table: "DataFrame") -> list[Any]:
    return [unpickled(row[0]) for row in table.collect()]


def streamed(table: "DataFrame") -> Iterator[Any]:
    """Large answers: neither Java nor this process holds more than one."""
    from pyspark import StorageLevel

    kept = table.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()  # all tasks at once: an iterator asks for one after the other
        for row in kept.toLocalIterator():
            yield unpickled(row[0])
    finally:
        kept.unpersist()


def pickled(answer: Any) -> bytes:
    return pickle.dumps(answer, 5)


def unpickled(answer: bytes) -> Any:
    return pickle.loads(answer)  # noqa: S301 (a task of this job has written it)


def answer_row(answer: Any) -> pa.RecordBatch:
    return pa.record_batch({"answer": cell(pickled(answer))})
