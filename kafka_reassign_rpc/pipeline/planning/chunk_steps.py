"""What `--master none` calls in this process, and Spark in tasks: one step of a plan on one chunk, or on what it has
proposed. Answers of chunks are sums, except of what the driver writes.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_reassign_rpc.planner.columns.partition_chunk import Applied, PartitionChunk
from kafka_reassign_rpc.planner.columns.round_proposals import RoundProposals
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys, start_chance

_IDS = pa.list_(pa.int32())
MOVES = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("original", _IDS), ("target", _IDS), ("leader", pa.int32()),
    ("bytes", pa.int64()), ("priority", pa.int8()), ("reason", pa.string()), ("rule", pa.string()),
    ("first_leader", pa.int32()), ("start_key", pa.float64()), ("chance", pa.int64()),
])  # fmt: skip
LEFT_OUT = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("replicas", _IDS), ("reason", pa.string()),
    ("missed", pa.bool_()), ("bytes", pa.int64()),
])  # fmt: skip
_START_ORDER = [(name, "ascending") for name in ("priority", "chance", "topic", "partition")]
_START_ORDER.insert(1, ("start_key", "descending"))

Round = tuple[RoundParameters, Applied | None]
"""A step applies the round before it first."""


class FoundTables(NamedTuple):
    """By MOVES and LEFT_OUT."""

    moves: pa.Table
    left_out: pa.Table


class FoundMoves(NamedTuple):
    """`moves` are in start order, `left_out` by topic and partition."""

    moves: Iterator[PlannedMove]
    left_out: Iterator[LeftOut]


def propose(chunk: PartitionChunk, of: Round) -> ProposedSums:
    chunk.propose(*of)
    return chunk.proposals.sums()


def accept(proposals: RoundProposals, thresholds: Thresholds) -> AcceptedSums:
    return proposals.accepted_sums(thresholds)


def queues(chunk: PartitionChunk, of: Round) -> QueueSums:
    params, applied = of
    chunk.apply(applied)
    sums = QueueSums()
    for one in chunk.found(params):
        if isinstance(one, PlannedMove):
            sums.add(one)
    return sums


def found(chunk: PartitionChunk, of: tuple[RoundParameters, StartKeys]) -> FoundTables:
    params, keys = of
    moves, left_out = list[tuple[Any, ...]](), list[LeftOut]()
    for one in chunk.found(params):
        if isinstance(one, PlannedMove):
            chance = start_chance(one)
            moves.append((*one, keys.start_key(one, chance), chance))
        else:
            left_out.append(one)
    return FoundTables(_table(moves, MOVES), _table(left_out, LEFT_OUT))


def in_order(tables: list[FoundTables]) -> FoundMoves:
    """Of all chunks. No two rows are equal in what orders them, so the order of the chunks is of no account."""
    moves = pa.concat_tables([MOVES.empty_table(), *(one.moves for one in tables)]).sort_by(_START_ORDER)
    left_out = pa.concat_tables([LEFT_OUT.empty_table(), *(one.left_out for one in tables)])
    left_out = left_out.sort_by([("topic", "ascending"), ("partition", "ascending")])
    return FoundMoves(_rows(moves.select(PlannedMove._fields), PlannedMove._make), _rows(left_out, LeftOut._make))


def _table(rows: list[Any], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _rows(table: pa.Table, make: Callable[[Any], Any]) -> Iterator[Any]:
    """A batch at a time."""
    for batch in table.to_batches(max_chunksize=10_000):
        yield from map(make, zip(*map(_values, batch.columns), strict=True))


def _values(column: pa.Array) -> list[Any]:
    if column.type != _IDS:
        return list(column.to_pylist())
    ids, offsets = column.flatten().to_pylist(), column.offsets.to_pylist()
    first = offsets[0]
    return [tuple(ids[one - first : other - first]) for one, other in pairwise(offsets)]
