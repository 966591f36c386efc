"""The rounds of a plan on the chunks of its snapshot; and what `--master none` calls in this process, and Spark in
tasks: a step on one chunk, or on what it has proposed. Answers of chunks are sums, except of what the driver writes.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from kafka_reassign_rpc.pipeline.parquet_files import table_of
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import (
    Arriving,
    Coming,
    arriving,
    copied,
    merge_copied,
    wanted_replicas,
)
from kafka_reassign_rpc.planner.chunk_round import accepted_of
from kafka_reassign_rpc.planner.columns.column_proposals import RoundProposals
from kafka_reassign_rpc.planner.columns.partition_chunk import Applied, PartitionChunk
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys, start_chance

T = TypeVar("T")
A = TypeVar("A")

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


class ChunkCaller(Protocol):
    """Answers are merged in any order."""

    def divide(
        self, build: Callable[[pa.Table, A], tuple[PartitionChunk, T]], given: A, merge: Callable[[T, T], T], /
    ) -> T:
        """`build` makes chunks of the table of partitions; each comes with whole topics, or pieces of them."""

    def copies(self, function: Callable[[pa.Table, A], T], given: A, merge: Callable[[T, T], T], /) -> T:
        """`function` gets the table of replicas in parts."""

    def change(self, step: Callable[[PartitionChunk, A], T], given: A, merge: Callable[[T, T], T], /) -> T:
        """The step may change its chunk."""

    def weigh(self, step: Callable[[RoundProposals, A], T], given: A, merge: Callable[[T, T], T], /) -> T:
        """The step reads what its chunk has proposed."""

    def read(self, step: Callable[[PartitionChunk, A], T], given: A, /) -> list[T]:
        """Answers that are not merged."""

    def close(self) -> None: ...


def arriving_at(caller: ChunkCaller, coming: tuple[Coming, ...]) -> Mapping[int, Arriving]:
    """By broker."""
    done, wanted = dict[int, int](), wanted_replicas(coming)
    if len(wanted):
        done = caller.copies(copied, wanted, merge_copied)
    return arriving(coming, done)


class PlanningRounds:
    def __init__(self, caller: ChunkCaller) -> None:
        self._caller = caller
        self._params: RoundParameters | None = None
        self._proposed = ProposedSums()
        self._accepted: Applied | None = None

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Applies what the last thresholds accepted first."""
        found = self._caller.change(_propose, (params, self._accepted), ProposedSums.merge)
        self._params, self._proposed, self._accepted = params, found, None
        return found

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        if thresholds.accept_nothing:
            return AcceptedSums()
        assert self._params is not None
        self._accepted = Applied(self._params, thresholds)
        if len(self._proposed.collected) == self._proposed.proposals:  # chunks know no more
            return AcceptedSums.of(accepted_of(self._proposed.collected, thresholds))
        return self._caller.weigh(RoundProposals.accepted_sums, thresholds, AcceptedSums.merge)

    def found(self, params: RoundParameters, network: NetworkLimits) -> FoundMoves:
        sums = self._caller.change(_queues, (params, self._accepted), QueueSums.merge)
        self._accepted = None
        return _in_order(self._caller.read(_found, (params, StartKeys(sums, network))))


def _propose(chunk: PartitionChunk, of: Round) -> ProposedSums:
    chunk.propose(*of)
    return chunk.proposals.sums()


def _queues(chunk: PartitionChunk, of: Round) -> QueueSums:
    params, applied = of
    chunk.apply(applied)
    sums = QueueSums()
    for one in chunk.found(params):
        if isinstance(one, PlannedMove):
            sums.add(one)
    return sums


def _found(chunk: PartitionChunk, of: tuple[RoundParameters, StartKeys]) -> FoundTables:
    params, keys = of
    moves, left_out = list[tuple[Any, ...]](), list[LeftOut]()
    for one in chunk.found(params):
        if isinstance(one, PlannedMove):
            chance = start_chance(one)
            moves.append((*one, keys.start_key(one, chance), chance))
        else:
            left_out.append(one)
    return FoundTables(table_of(moves, MOVES), table_of(left_out, LEFT_OUT))


def _in_order(tables: list[FoundTables]) -> FoundMoves:
    """Of all chunks. No two rows are equal in what orders them, so the order of the chunks is of no account."""
    moves = pa.concat_tables([MOVES.empty_table(), *(one.moves for one in tables)]).sort_by(_START_ORDER)
    left_out = pa.concat_tables([LEFT_OUT.empty_table(), *(one.left_out for one in tables)])
    left_out = left_out.sort_by([("topic", "ascending"), ("partition", "ascending")])
    return FoundMoves(_rows(moves.select(PlannedMove._fields), PlannedMove._make), _rows(left_out, LeftOut._make))


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
