"""The planner's rounds as Spark jobs: tasks work on the chunks where these lie, and send sums to the driver.

An element of the RDD is a packed list of topics with proposals of the last round that are not applied yet. Tasks
import this module, chunks_on_spark and the planner, which need only PySpark and msgspec.
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
"""With more, tasks merge results before the driver does."""

MOVE_FIELDS = (
    "topic string, partition int, original array<int>, target array<int>, leader int, bytes bigint, priority int, "
    "reason string, rule string, first_leader int, start_key double, chance bigint, left_out string, missed boolean"
)
"""Moves of a priority start by `start_key`, highest first; `chance` breaks ties."""

PackedChunk = tuple[bytes, bytes]
"""A list[PlannerTopic] and its list[ChangeProposal]."""

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
    """Spark keeps the chunks of the newest round only."""

    def __init__(
        self, chunks: RDD[tuple[bytes, Any]], *, tasks: int, forget: Callable[[str], None] | None = None
    ) -> None:
        """`chunks` come from `read_chunks`, and are unpersisted after the first round.

        tasks     of a round, at most: a round starts them twice
        forget    deletes a directory. With it each round is kept in Spark's checkpoint directory until the next one is:
                  that survives the loss of an executor
        """
        self._forget = forget
        self._kept: str | None = None
        nothing = pack([])
        self._persisted: RDD[Any] = chunks
        self._chunks = chunks.coalesce(tasks).map(lambda element: (element[0], nothing))
        self._context = chunks.context
        self._thresholds = Thresholds()

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Applies what the last thresholds accepted first."""
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
        """The next round applies it."""
        self._thresholds = thresholds
        if thresholds.accept_nothing:
            return AcceptedSums()
        broadcast = self._context.broadcast(thresholds)

        def accepted_sums(packed: PackedChunk) -> AcceptedSums:
            return AcceptedSums.of(accepted_proposals(packed, broadcast.value))

        accepted = merge_chunks(self._chunks, accepted_sums, AcceptedSums, AcceptedSums.merge)
        broadcast.unpersist()
        return accepted

    def collect_moves(self, params: RoundParameters) -> RDD[PlannedMove | LeftOut]:
        thresholds = self._thresholds

        def apply_and_collect(packed: PackedChunk) -> Iterator[PlannedMove | LeftOut]:
            chunk = unpack_topics(packed)
            apply_accepted(chunk, accepted_proposals(packed, thresholds))
            return (found for found in collect_moves(chunk, params) if found is not None)

        return self._chunks.flatMap(apply_and_collect)

    @contextmanager
    def found(self, params: RoundParameters, network: NetworkLimits) -> Iterator[FoundMoves]:
        """The driver reads one Spark partition at a time."""
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
        if self._forget is None:
            return
        if self._kept is not None:
            self._forget(self._kept)
        self._kept = newest.getCheckpointFile()


def queue_sums(found: RDD[PlannedMove | LeftOut]) -> QueueSums:

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
            False,
        )
    of_moves: tuple[Any, ...] = ([], -1, found.bytes, 0, "", "", -1, 0.0, 0)
    return (found.topic, found.partition, list(found.replicas), *of_moves, found.reason, found.missed)


def _moves(rows: DataFrame) -> Iterator[PlannedMove]:
    """By priority, then by the longest queue of a broker (`queue_order`)."""
    order = ("priority", f.desc("start_key"), "chance", "topic", "partition")
    ordered = rows.where("left_out is null").orderBy(*order)
    for row in ordered.toLocalIterator():
        yield PlannedMove(row[0], row[1], tuple(row[2]), tuple(row[3]), *row[4:10])


def _left_out(rows: DataFrame) -> Iterator[LeftOut]:
    for row in rows.where("left_out is not null").orderBy("topic", "partition").toLocalIterator():
        named = row["topic"], row["partition"], tuple(row["original"])
        yield LeftOut(*named, row["left_out"], row["missed"], row["bytes"])


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
    return ProposedSums.of(unpack_proposals(packed))


def merge_chunks(chunks: RDD[S], one: Callable[[S], T], empty: Callable[[], T], merge: Callable[[T, T], T]) -> T:
    def of_task(elements: Iterable[S]) -> Iterator[T]:
        total = empty()
        for element in elements:
            total = merge(total, one(element))
        yield total

    summed = chunks.mapPartitions(of_task)
    total: T = summed.treeReduce(merge, depth=1 if summed.getNumPartitions() <= _TASKS_FOR_ONE_LEVEL else 2)
    return total
