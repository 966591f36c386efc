"""Who calls the functions of a plan: this process with one chunk of all partitions (`--master none`), or tasks of Spark
with a chunk each. Nothing else differs. See `ChunkCaller`.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.arrow_tasks import (
    answer_row,
    cell,
    cells_of,
    collected,
    mapped,
    pickled,
    to_table,
    unpickled,
)
from kafka_reassign_rpc.pipeline.planning.chunk_cells import (
    ChunkCells,
    after_a_step,
    to_cells,
    to_chunk,
    to_proposals,
)
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import TABLES
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark, parquet_source
from kafka_reassign_rpc.planner.columns.partition_chunk import PartitionChunk
from kafka_reassign_rpc.planner.columns.round_proposals import RoundProposals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")
A = TypeVar("A")

_ANSWERS_AT_ONCE = 64
"""Of more, tasks merge some before the driver does."""
_CELLS = ", ".join(f"{name} binary" for name in ChunkCells._fields)


class CallsHere:
    """In this process."""

    _chunk: PartitionChunk

    def __init__(self, path: StorePath) -> None:
        self._path = path

    def divide(self, build: Callable[[pa.Table, A], tuple[PartitionChunk, T]], given: A, _: object) -> T:
        self._chunk, answer = build(snapshot_files.read(self._path, "partitions"), given)
        return answer

    def copies(self, function: Callable[[pa.Table, A], T], given: A, merge: Callable[[T, T], T]) -> T:
        batches = snapshot_files.record_batches(self._path, "replicas")
        parts = (pa.Table.from_batches([batch]) for batch in batches)
        nothing = TABLES["replicas"].empty_table()
        return reduce(merge, (function(part, given) for part in parts), function(nothing, given))

    def change(self, step: Callable[[PartitionChunk, A], T], given: A, _: object) -> T:
        return step(self._chunk, given)

    def weigh(self, step: Callable[[RoundProposals, A], T], given: A, _: object) -> T:
        return step(self._chunk.proposals, given)

    def read(self, step: Callable[[PartitionChunk, A], T], given: A) -> list[T]:
        return [step(self._chunk, given)]

    def close(self) -> None:
        del self._chunk


class CallsOnSpark:
    """In tasks. Between rounds Spark keeps a row of Arrow cells for each chunk."""

    _chunks: "DataFrame"
    _nothing: PartitionChunk
    """A chunk of no rows."""

    def __init__(self, pieces: CallOnSpark, path: StorePath, forget: Callable[[str], None] | None) -> None:
        """`forget` deletes a directory. With it each round is kept in Spark's checkpoint directory until the next one
        is: that survives the loss of an executor.
        """
        self._pieces, self._path, self._forget = pieces, path, forget
        self._drop: Callable[[], None] = lambda: None

    def divide(
        self, build: Callable[[pa.Table, A], tuple[PartitionChunk, T]], given: A, merge: Callable[[T, T], T]
    ) -> T:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if read := [to_table(rows) for _, rows in cells_of(batches)]:
                chunk, answer = build(pa.concat_tables(read), given)
                yield _kept(to_cells(chunk), answer)

        source = parquet_source(snapshot_files.table_path(self._path, "partitions"), TABLES["partitions"], again=True)
        self._nothing, nothing = build(source.schema.empty_table(), given)
        return self._keep(self._pieces.in_pieces([source]), of_task, nothing, merge)

    def copies(self, function: Callable[[pa.Table, A], T], given: A, merge: Callable[[T, T], T]) -> T:
        source = parquet_source(snapshot_files.table_path(self._path, "replicas"), TABLES["replicas"])
        nothing = function(source.schema.empty_table(), given)

        def reading(read: Callable[[str, bytes], pa.Table]) -> "DataFrame":
            def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for content in cells_of(batches):
                    yield answer_row(function(read(*content), given))

            return mapped(parquet_files.whole_files(self._pieces.spark, [*map(spark_uri, source.places)]), of_task)

        answers = reduce(lambda one, other: one.union(other), map(reading, source.reads))
        return reduce(merge, self._answers(answers, merge), nothing)

    def change(self, step: Callable[[PartitionChunk, A], T], given: A, merge: Callable[[T, T], T]) -> T:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for cells in cells_of(batches):
                chunk = to_chunk(cells)
                answer = step(chunk, given)
                yield _kept(after_a_step(chunk, cells), answer)

        nothing = step(self._nothing, given)
        return self._keep(self._chunks.select(*ChunkCells._fields), of_task, nothing, merge)

    def weigh(self, step: Callable[[RoundProposals, A], T], given: A, merge: Callable[[T, T], T]) -> T:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for (proposals,) in cells_of(batches):
                yield answer_row(step(to_proposals(proposals), given))

        answers = mapped(self._chunks.select("proposals"), of_task)
        return reduce(merge, self._answers(answers, merge), step(self._nothing.proposals, given))

    def read(self, step: Callable[[PartitionChunk, A], T], given: A) -> list[T]:
        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for cells in cells_of(batches):
                yield answer_row(step(to_chunk(cells), given))

        made = mapped(self._chunks.select(*ChunkCells._fields), of_task)
        return collected(made)

    def close(self) -> None:
        self._drop()

    def _keep(self, table: "DataFrame", of_task: Callable[..., Any], nothing: T, merge: Callable[[T, T], T]) -> T:
        made, forget = mapped(table, of_task, f"{_CELLS}, answer binary"), self._forget
        if forget is None:
            kept = made.localCheckpoint(eager=False)  # Spark forgets what came before
        else:
            made.persist()  # without it Spark would run this step again for the checkpoint
            kept = made.checkpoint(eager=False)
        answer = reduce(merge, self._answers(kept.select("answer"), merge), nothing)
        self._drop()
        rdd: Any = kept._jdf.queryExecution().analyzed().rdd()

        def drop() -> None:
            rdd.unpersist(False)
            if forget is not None:
                forget(rdd.getCheckpointFile().get())

        if forget is not None:
            made.unpersist()
        self._chunks, self._drop = kept, drop
        return answer

    def _answers(self, table: "DataFrame", merge: Callable[[T, T], T]) -> list[T]:
        def of_some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if found := [unpickled(answer) for (answer,) in cells_of(batches)]:
                yield answer_row(reduce(merge, found))

        if self._pieces.tasks > _ANSWERS_AT_ONCE:
            table = mapped(table.repartition(self._pieces.tasks // 8), of_some)
        return collected(table)


def _kept(cells: ChunkCells, answer: Any) -> pa.RecordBatch:
    values = (*cells, pickled(answer))
    return pa.record_batch([cell(one) for one in values], [*ChunkCells._fields, "answer"])
