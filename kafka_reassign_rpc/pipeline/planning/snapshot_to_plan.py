"""A snapshot as the plan job reads it, and its rounds."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import pyarrow as pa

from kafka_reassign_rpc.pipeline.planning import chunk_steps
from kafka_reassign_rpc.pipeline.planning.arriving import Arriving, arriving, copied, merge_copied, wanted_replicas
from kafka_reassign_rpc.pipeline.planning.chunk_steps import FoundMoves
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import surveyed_chunk
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import ClusterFacts, Coming, SnapshotSurvey
from kafka_reassign_rpc.planner.chunk_round import accepted_of
from kafka_reassign_rpc.planner.columns.partition_chunk import Applied, PartitionChunk
from kafka_reassign_rpc.planner.columns.round_proposals import RoundProposals
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys

T = TypeVar("T")
A = TypeVar("A")


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


class SnapshotToPlan:
    """Call `survey` first."""

    def __init__(self, caller: ChunkCaller) -> None:
        self._caller = caller

    def survey(self, facts: ClusterFacts) -> SnapshotSurvey:
        return self._caller.divide(surveyed_chunk, facts, SnapshotSurvey.merge)

    def arriving(self, coming: tuple[Coming, ...]) -> Mapping[int, Arriving]:
        wanted = wanted_replicas(coming)
        done = self._caller.copies(copied, wanted, merge_copied) if len(wanted) else {}
        return arriving(coming, done)

    def rounds(self) -> "PlanningRounds":
        return PlanningRounds(self._caller)


class PlanningRounds:
    def __init__(self, caller: ChunkCaller) -> None:
        self._caller = caller
        self._params: RoundParameters | None = None
        self._proposed = ProposedSums()
        self._accepted: Applied | None = None

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Applies what the last thresholds accepted first."""
        found = self._caller.change(chunk_steps.propose, (params, self._accepted), ProposedSums.merge)
        self._params, self._proposed, self._accepted = params, found, None
        return found

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        if thresholds.accept_nothing:
            return AcceptedSums()
        assert self._params is not None
        self._accepted = Applied(self._params, thresholds)
        if len(self._proposed.collected) == self._proposed.proposals:  # chunks know no more
            return AcceptedSums.of(accepted_of(self._proposed.collected, thresholds))
        return self._caller.weigh(chunk_steps.accept, thresholds, AcceptedSums.merge)

    def found(self, params: RoundParameters, network: NetworkLimits) -> FoundMoves:
        sums = self._caller.change(chunk_steps.queues, (params, self._accepted), QueueSums.merge)
        self._accepted = None
        return chunk_steps.in_order(self._caller.read(chunk_steps.found, (params, StartKeys(sums, network))))
