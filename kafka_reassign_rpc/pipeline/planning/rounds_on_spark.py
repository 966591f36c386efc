"""The planner's rounds as Spark jobs: tasks work on the chunks where these lie, and send sums to the driver.

A chunk is a list of topics, or of pieces of huge ones, packed as bytes. An element of the RDD is a chunk together with
the proposals that it made in the last round and that were not yet applied. The pure planner takes all decisions. Tasks
import this module, chunks_on_spark and the planner: these need PySpark and msgspec alone (see `executor_packages`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from pyspark import RDD, Broadcast, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.planning.snapshot_to_plan import FoundMoves
from kafka_reassign_rpc.planner.chunk_round import accept, apply_accepted, collect_moves, propose
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys, start_chance

_TASKS_FOR_ONE_LEVEL = 64
"""Up to this number of tasks the driver merges their results itself; beyond it, tasks merge them first."""

MOVE_FIELDS = (
    "topic string, partition int, original array<int>, target array<int>, leader int, bytes bigint, priority int, "
    "reason string, rule string, first_leader int, start_key double, chance bigint, left_out string"
)
"""Columns of what `to_row` makes. Moves of a priority start by `start_key`, the highest first; by `chance` (a random
number) among equals."""

PackedChunk = tuple[bytes, bytes]
"""A chunk (list[PlannerTopic]) and its proposals (list[ChangeProposal])."""

S = TypeVar("S")
T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_topics_decoder = msgspec.msgpack.Decoder(list[PlannerTopic])
_proposals_decoder = msgspec.msgpack.Decoder(list[ChangeProposal])


# Codecs are used inside functions only: Spark sends a closure with its globals, and codecs cannot be pickled.


def pack(values: list[PlannerTopic] | list[ChangeProposal]) -> bytes:
    return _encoder.encode(values)


def unpack_topics(packed: PackedChunk) -> list[PlannerTopic]:
    return _topics_decoder.decode(packed[0])


def unpack_proposals(packed: PackedChunk) -> list[ChangeProposal]:
    return _proposals_decoder.decode(packed[1])


def accepted_proposals(packed: PackedChunk, thresholds: Thresholds) -> list[ChangeProposal]:
    found = (accept(one, thresholds) for one in unpack_proposals(packed))
    return [one for one in found if one is not None]


class RoundsOnSpark:
    """All chunks, from round to round; Spark keeps those of the newest round only."""

    def __init__(
        self, chunks: RDD[tuple[bytes, Any]], *, tasks: int, forget: Callable[[str], None] | None = None
    ) -> None:
        """`chunks`: from `chunks_on_spark.read_chunks`; unpersisted after the first round.

        tasks     of a round, at the most: a round starts them twice, and few partitions need few
        forget    deletes a directory. With it each round is kept in Spark's checkpoint directory too, where the loss of
                  an executor does not reach it, until the next one is
        """
        self._forget = forget
        self._kept: str | None = None
        nothing = pack([])
        self._persisted: RDD[Any] = chunks
        self._chunks = chunks.coalesce(tasks).map(lambda element: (element[0], nothing))
        self._context = chunks.context
        self._thresholds = Thresholds()

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Apply what the last thresholds accepted, then let every chunk propose."""
        broadcast = self._context.broadcast((params, self._thresholds))
        following = self._chunks.map(_apply_and_propose(broadcast), preservesPartitioning=True)
        following.persist(StorageLevel.MEMORY_AND_DISK)  # without it PySpark would run this step again in the next one
        # Either forgets the earlier rounds and their broadcasts
        (following.checkpoint if self._forget else following.localCheckpoint)()
        proposed = merge_chunks(following, _proposed_sums, ProposedSums, ProposedSums.merge)
        self._forget_kept(following)
        self._persisted.unpersist()
        broadcast.unpersist()
        self._persisted = self._chunks = following
        return proposed

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        """The sums of what the thresholds accept; the next round applies it."""
        self._thresholds = thresholds
        if thresholds.accept_nothing:
            return AcceptedSums()
        broadcast = self._context.broadcast(thresholds)

        def accepted_sums(packed: PackedChunk) -> AcceptedSums:
            found = AcceptedSums()
            for proposal in accepted_proposals(packed, broadcast.value):
                found.add(proposal)
            return found

        accepted = merge_chunks(self._chunks, accepted_sums, AcceptedSums, AcceptedSums.merge)
        broadcast.unpersist()
        return accepted

    def collect_moves(self, params: RoundParameters) -> RDD[PlannedMove | LeftOut]:
        """Moves and partitions left out, after the last round."""
        thresholds = self._thresholds

        def apply_and_collect(packed: PackedChunk) -> Iterator[PlannedMove | LeftOut]:
            chunk = unpack_topics(packed)
            apply_accepted(chunk, accepted_proposals(packed, thresholds))
            return (found for found in collect_moves(chunk, params) if found is not None)

        return self._chunks.flatMap(apply_and_collect)

    @contextmanager
    def found(self, params: RoundParameters, network: NetworkLimits) -> Iterator[FoundMoves]:
        """The driver reads them one Spark partition at a time."""
        found = self.collect_moves(params)
        found.persist(StorageLevel.MEMORY_AND_DISK)  # read twice: for the sums that decide the order, and for the rows
        keys = self._context.broadcast(StartKeys(queue_sums(found), network))
        spark = SparkSession(self._context)
        rows = spark.createDataFrame(found.map(lambda one: to_row(one, keys.value)), MOVE_FIELDS)
        rows.persist()
        try:
            yield FoundMoves(_moves(rows), _left_out(rows))
        finally:
            rows.unpersist()
            found.unpersist()
            keys.destroy()

    def close(self) -> None:
        self._persisted.unpersist()

    def _forget_kept(self, newest: RDD[PackedChunk]) -> None:
        """Delete the round before: the newest is in the checkpoint directory now."""
        if self._forget is None:
            return
        if self._kept is not None:
            self._forget(self._kept)
        self._kept = newest.getCheckpointFile()


def queue_sums(found: RDD[PlannedMove | LeftOut]) -> QueueSums:
    """The sums over all moves that decide their order."""

    def of_task(elements: Iterable[PlannedMove | LeftOut]) -> Iterator[QueueSums]:
        total = QueueSums()
        for one in elements:
            if isinstance(one, PlannedMove):
                total.add(one)
        yield total

    depth = 1 if found.getNumPartitions() <= _TASKS_FOR_ONE_LEVEL else 2
    total: QueueSums = found.mapPartitions(of_task).treeReduce(QueueSums.merge, depth=depth)
    return total


def to_row(found: PlannedMove | LeftOut, keys: StartKeys) -> tuple[Any, ...]:
    """A move or a partition left out as a row of MOVE_FIELDS."""
    if isinstance(found, PlannedMove):
        chance = start_chance(found)
        return (
            *found[:2],
            list(found.original),
            list(found.target),
            *found[4:],
            keys.start_key(found, chance),
            chance,
            None,
        )
    return (found.topic, found.partition, list(found.replicas), [], -1, 0, 0, "", "", -1, 0.0, 0, found.reason)


def _moves(rows: DataFrame) -> Iterator[PlannedMove]:
    """By priority, then what stands in the longest queue of a broker (see `queue_order`)."""
    order = ("priority", f.desc("start_key"), "chance", "topic", "partition")
    ordered = rows.where("left_out is null").orderBy(*order)
    for row in ordered.toLocalIterator():
        yield PlannedMove(row[0], row[1], tuple(row[2]), tuple(row[3]), *row[4:10])


def _left_out(rows: DataFrame) -> Iterator[LeftOut]:
    for row in rows.where("left_out is not null").orderBy("topic", "partition").toLocalIterator():
        yield LeftOut(row["topic"], row["partition"], tuple(row["original"]), row["left_out"])


def _apply_and_propose(
    broadcast: "Broadcast[tuple[RoundParameters, Thresholds]]",
) -> Callable[[PackedChunk], PackedChunk]:
    def step(packed: PackedChunk) -> PackedChunk:
        params, thresholds = broadcast.value
        chunk, accepted = unpack_topics(packed), accepted_proposals(packed, thresholds)
        apply_accepted(chunk, accepted)
        encoded = pack(chunk) if accepted else packed[0]
        return encoded, pack([one for one in propose(chunk, params) if one is not None])

    return step


def _proposed_sums(packed: PackedChunk) -> ProposedSums:
    found = ProposedSums()
    for proposal in unpack_proposals(packed):
        found.add(proposal)
    return found


def merge_chunks(chunks: RDD[S], one: Callable[[S], T], empty: Callable[[], T], merge: Callable[[T, T], T]) -> T:
    """Compute a value for each chunk, and merge the values: first in each task, then over all tasks."""

    def of_task(elements: Iterable[S]) -> Iterator[T]:
        total = empty()
        for element in elements:
            total = merge(total, one(element))
        yield total

    summed = chunks.mapPartitions(of_task)
    total: T = summed.treeReduce(merge, depth=1 if summed.getNumPartitions() <= _TASKS_FOR_ONE_LEVEL else 2)
    return total
