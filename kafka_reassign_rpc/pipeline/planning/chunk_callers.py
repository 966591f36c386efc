"""Who calls the functions of a plan: this process with one chunk of all partitions (`--master none`), or tasks of Spark
with a chunk each. Nothing else differs. See `ChunkCaller`.

Tables as cells of Spark; and a chunk between two rounds: its rows, its odd rows, and what it proposed.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.arrow_tasks import (
    answer_row,
    cell,
    cells_of,
    collected,
    mapped,
    pickled,
    rows_to_cell,
    to_table,
    unpickled,
)
from kafka_reassign_rpc.pipeline.parquet_files import table_of
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import TABLES
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark, parquet_source
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals, RoundProposals
from kafka_reassign_rpc.planner.columns.partition_chunk import ChunkState, OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import Numbers, PartitionColumns
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal

_NUMBERS = ("number", "leader", "bytes", "produce", "fetch", "messages", "cpu", "min_isr")
_LISTS = ("replicas", "isr")
_BROKERS, _SINGLE = b"brokers", b"single"
_ODD = pa.schema([
    ("row", pa.int64()), ("moving", pa.bool_()), ("destination", pa.list_(pa.int32())), ("fault", pa.string())
])  # fmt: skip


class ChunkCells(NamedTuple):
    """Each an Arrow stream of one table. No step changes `rows` and `odd`."""

    rows: bytes
    odd: bytes
    state: bytes
    proposals: bytes


def to_cells(chunk: PartitionChunk) -> ChunkCells:
    return _after(chunk, _packed_rows(chunk), _packed_odd(chunk.odd))


def after_a_step(chunk: PartitionChunk, before: Sequence[bytes]) -> ChunkCells:
    """`before`: the chunk's cells before it."""
    return _after(chunk, *before[:2])


def _after(chunk: PartitionChunk, rows: bytes, odd: bytes) -> ChunkCells:
    state = chunk.state
    columns = {
        "now": _lists(state.now),
        "why": pa.array(state.why),
        "priority": pa.array(state.priority),
        "first_leader": pa.array(state.first_leader),
    }
    meta = {b"reasons": msgspec.msgpack.encode(list(state.reasons))}
    return ChunkCells(rows, odd, _packed(columns, meta), proposals_to_cell(chunk.proposals))


def _packed_rows(chunk: PartitionChunk) -> bytes:
    columns = chunk.columns
    named = pa.DictionaryArray.from_arrays(pa.array(columns.topic), pa.array(columns.names, pa.string()))
    rows = {
        "topic": named,
        **{name: pa.array(getattr(columns, name)) for name in _NUMBERS},
        **{name: _lists(getattr(columns, name)) for name in _LISTS},
        "piece": pa.array(chunk.pieces),
    }
    return _packed(rows, {_BROKERS: columns.brokers.tobytes()})


def to_chunk(cells: Sequence[bytes]) -> PartitionChunk:
    rows, odd = _unpacked(cells[0]), to_table(cells[1]).to_pylist()
    named, meta = rows["topic"], rows.schema.metadata
    columns = PartitionColumns(
        brokers=np.frombuffer(meta[_BROKERS], np.int64),
        names=named.dictionary.to_pylist(),
        topic=named.indices.to_numpy(),
        **{name: _numbers(rows, name) for name in _NUMBERS},
        **{name: _places(rows, name) for name in _LISTS},
    )
    of_odd = {one["row"]: OddRow(one["moving"], tuple(one["destination"]), one["fault"]) for one in odd}
    return PartitionChunk(columns, _numbers(rows, "piece"), of_odd, _state(cells[2]), to_proposals(cells[3]))


def _state(cell: bytes) -> ChunkState:
    batch = _unpacked(cell)
    reasons = msgspec.msgpack.decode(batch.schema.metadata[b"reasons"], type=list[tuple[str, str]])
    why, priority, first_leader = (_numbers(batch, name).copy() for name in ("why", "priority", "first_leader"))
    return ChunkState(
        _places(batch, "now").copy(), why, priority, first_leader, {one: at for at, one in enumerate(reasons)}
    )


def proposals_to_cell(found: RoundProposals) -> bytes:
    scored = {} if found.scored is None else found.scored._asdict()
    columns = {name: pa.array(column) for name, column in scored.items()}
    single = msgspec.msgpack.encode(found.single)
    return _packed(columns, {_BROKERS: np.array(found.brokers, np.int64).tobytes(), _SINGLE: single})


def to_proposals(cell: bytes) -> RoundProposals:
    batch = _unpacked(cell)
    meta = batch.schema.metadata
    brokers = np.frombuffer(meta[_BROKERS], np.int64).tolist()
    single = msgspec.msgpack.decode(meta[_SINGLE], type=list[ChangeProposal])
    if not batch.num_columns:
        return RoundProposals(brokers, single=single)
    return RoundProposals(brokers, ColumnProposals(*(_numbers(batch, name) for name in ColumnProposals._fields)))


def _packed_odd(odd: Any) -> bytes:
    return rows_to_cell(table_of([(row, *one) for row, one in odd.items()], _ODD))


def _packed(columns: dict[str, pa.Array], meta: dict[bytes, bytes]) -> bytes:
    batch = pa.record_batch(list(columns.values()), list(columns)).replace_schema_metadata(meta)
    return rows_to_cell(batch)


def _unpacked(cell: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(cell)) as reader:
        return reader.read_next_batch()


def _lists(places: Numbers) -> pa.Array:
    flat = np.ascontiguousarray(places).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), places.shape[1])


def _places(batch: pa.RecordBatch, name: str) -> Numbers:
    column = batch[name]
    places: Numbers = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return places


def _numbers(batch: pa.RecordBatch, name: str) -> Numbers:
    numbers: Numbers = batch[name].to_numpy(zero_copy_only=False)
    return numbers


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
