"""Tables as cells of Spark; and a chunk between two rounds: its rows, its odd rows, and what it proposed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from kafka_reassign_rpc.pipeline.arrow_tasks import rows_to_cell
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_chunk import ChunkState, OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import PartitionColumns
from kafka_reassign_rpc.planner.columns.round_proposals import RoundProposals
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
    rows, odd = _unpacked(cells[0]), _unpacked(cells[1]).to_pylist()
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
    rows = [(row, *one) for row, one in odd.items()]
    columns = zip(*rows, strict=True) if rows else [()] * len(_ODD)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ODD, strict=True)]
    return _packed(dict(zip(_ODD.names, arrays, strict=True)), {})


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
