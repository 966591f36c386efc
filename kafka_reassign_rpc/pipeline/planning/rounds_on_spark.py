"""The rounds of a plan as Spark jobs: topics in chunks, each round where the chunks are, sums to the driver.

A chunk is a run of whole topics, packed (see `reading`); an element of the RDD is a chunk and what it has proposed and
nobody has yet accepted. The pure planner decides; nothing here does. A topic must fit in a task's memory.
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

CHUNK_PARTITIONS = 5000
_FLAT = 64
"""Tasks whose sums the driver adds up itself."""

Packed = tuple[bytes, bytes]
"""A chunk (list[Topic]) and its proposals (list[Proposal])."""

S = TypeVar("S")
T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_chunk = msgspec.msgpack.Decoder(list[PlannerTopic])
_proposals = msgspec.msgpack.Decoder(list[ChangeProposal])


def pack(values: list[PlannerTopic] | list[ChangeProposal]) -> bytes:
    """A function, as the two below: Spark sends closures with the globals that they use, and codecs cannot be sent."""
    return _encoder.encode(values)


def topics_in(packed: Packed) -> list[PlannerTopic]:
    return _chunk.decode(packed[0])


def accepted_in(packed: Packed, thresholds: Thresholds) -> list[ChangeProposal]:
    return [one for one in proposals_in(packed) if is_accepted(one, thresholds)]


def proposals_in(packed: Packed) -> list[ChangeProposal]:
    return _proposals.decode(packed[1])


class Rounds:
    """The state of all chunks from round to round; only the newest is kept."""

    def __init__(self, chunks: RDD[tuple[bytes, Any]]) -> None:
        """`chunks`: what `reading.read` gives; it is not kept beyond the first round."""
        nothing = pack([])
        self._kept: RDD[Any] = chunks
        self._chunks = chunks.map(lambda read: (read[0], nothing))
        self._context = chunks.context
        self._thresholds = Thresholds()

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Carry out what the last thresholds accepted, then let every chunk propose."""
        told = self._context.broadcast((params, self._thresholds))
        following = self._chunks.map(_step(told), preservesPartitioning=True)
        following.persist(StorageLevel.MEMORY_AND_DISK)  # also keeps PySpark from running this step again in the next
        following.localCheckpoint()  # the rounds before are not needed again, nor is what they were told
        demand = merged(following, _demand, ProposedSums, ProposedSums.merge)
        self._kept.unpersist()
        told.unpersist()
        self._kept = self._chunks = following
        return demand

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        """What the thresholds accept; it is carried out with the next round."""
        self._thresholds = thresholds
        told = self._context.broadcast(thresholds)

        def change(packed: Packed) -> AcceptedSums:
            found = AcceptedSums()
            for proposal in accepted_in(packed, told.value):
                found.add(proposal)
            return found

        summed = merged(self._chunks, change, AcceptedSums, AcceptedSums.merge)
        told.unpersist()
        return summed

    def collect_moves(self, params: RoundParameters) -> RDD[PlannedMove | LeftOut]:
        """Moves and what is left out, after the last round."""
        thresholds = self._thresholds

        def last(packed: Packed) -> Iterator[PlannedMove | LeftOut]:
            chunk = topics_in(packed)
            apply_accepted(chunk, accepted_in(packed, thresholds))
            return (found for found in collect_moves(chunk, params) if found is not None)

        return self._chunks.flatMap(last)

    def close(self) -> None:
        self._kept.unpersist()


def _step(told: "Broadcast[tuple[RoundParameters, Thresholds]]") -> Callable[[Packed], Packed]:
    def step(packed: Packed) -> Packed:
        params, thresholds = told.value
        chunk, accepted = topics_in(packed), accepted_in(packed, thresholds)
        apply_accepted(chunk, accepted)
        encoded = pack(chunk) if accepted else packed[0]
        return encoded, pack([one for one in propose(chunk, params) if one is not None])

    return step


def _demand(packed: Packed) -> ProposedSums:
    found = ProposedSums()
    for proposal in proposals_in(packed):
        found.add(proposal)
    return found


def merged(chunks: RDD[S], one: Callable[[S], T], empty: Callable[[], T], merge: Callable[[T, T], T]) -> T:
    """One value for each chunk, merged in the tasks first and at last here."""

    def of_task(found: Iterable[S]) -> Iterator[T]:
        total = empty()
        for packed in found:
            total = merge(total, one(packed))
        yield total

    summed = chunks.mapPartitions(of_task)
    total: T = summed.treeReduce(merge, depth=1 if summed.getNumPartitions() <= _FLAT else 2)
    return total
