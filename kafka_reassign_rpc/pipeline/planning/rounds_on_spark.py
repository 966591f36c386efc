"""The planner's rounds as Spark jobs: tasks work on the chunks where these lie, and send sums to the driver.

A chunk is a list of whole topics, packed as bytes. An element of the RDD is a chunk together with the proposals that
it made in the last round and that were not yet applied. The pure planner takes all decisions. A topic must fit into the
memory of a task.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from pyspark import RDD, Broadcast, StorageLevel

from kafka_reassign_rpc.planner.change_proposal import ChangeProposal
from kafka_reassign_rpc.planner.chunk_round import apply_accepted, collect_moves, is_accepted, propose
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerTopic
from kafka_reassign_rpc.planner.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.round_sums import AcceptedSums, ProposedSums, Thresholds

_TASKS_FOR_ONE_LEVEL = 64
"""Up to this number of tasks the driver merges their results itself; beyond it, tasks merge them first."""

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
    return [one for one in unpack_proposals(packed) if is_accepted(one, thresholds)]


class RoundsOnSpark:
    """All chunks, from round to round; Spark keeps those of the newest round only."""

    def __init__(self, chunks: RDD[tuple[bytes, Any]]) -> None:
        """`chunks`: from `snapshot_chunks.read_chunks`; unpersisted after the first round."""
        nothing = pack([])
        self._persisted: RDD[Any] = chunks
        self._chunks = chunks.map(lambda element: (element[0], nothing))
        self._context = chunks.context
        self._thresholds = Thresholds()

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Apply what the last thresholds accepted, then let every chunk propose."""
        broadcast = self._context.broadcast((params, self._thresholds))
        following = self._chunks.map(_apply_and_propose(broadcast), preservesPartitioning=True)
        following.persist(StorageLevel.MEMORY_AND_DISK)  # without it PySpark would run this step again in the next one
        following.localCheckpoint()  # forgets the earlier rounds and their broadcasts
        proposed = merge_chunks(following, _proposed_sums, ProposedSums, ProposedSums.merge)
        self._persisted.unpersist()
        broadcast.unpersist()
        self._persisted = self._chunks = following
        return proposed

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        """The sums of what the thresholds accept; the next round applies it."""
        self._thresholds = thresholds
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

    def close(self) -> None:
        self._persisted.unpersist()


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
