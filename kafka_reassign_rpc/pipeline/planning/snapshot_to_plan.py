"""A snapshot as the plan job reads it: on Spark, or in this process."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec

from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import ClusterFacts, SnapshotSurvey
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds


class Arriving(NamedTuple):
    """What moves have yet to copy to a broker: bytes, and replicas of unknown size. `waiting_…`: of waiting moves,
    whose replicas the snapshot does not list yet.
    """

    bytes: int = 0
    unknown: int = 0
    waiting_bytes: int = 0
    waiting_unknown: int = 0


class FoundMoves(NamedTuple):
    """`moves` are in start order, `left_out` by topic and partition."""

    moves: Iterator[PlannedMove]
    left_out: Iterator[LeftOut]


class PlanningRounds(Protocol):
    def propose(self, params: RoundParameters) -> ProposedSums:
        """Applies what the last thresholds accepted first."""

    def accept(self, thresholds: Thresholds) -> AcceptedSums: ...

    def found(self, params: RoundParameters, network: NetworkLimits) -> AbstractContextManager[FoundMoves]:
        """Read the moves first, within the block."""


class SnapshotToPlan(Protocol):
    partitions: int

    def arriving(self) -> Mapping[int, Arriving]: ...

    def survey(self, facts: ClusterFacts) -> SnapshotSurvey: ...

    def first_of_unknown_size(self, count: int) -> list[str]:
        """In order of topic and partition."""

    def rounds(self) -> AbstractContextManager[PlanningRounds]:
        """Call `survey` first."""


def with_arriving(brokers: Mapping[int, PlannerBroker], found: Mapping[int, Arriving]) -> dict[int, PlannerBroker]:
    return {broker: _with(one, found.get(broker, Arriving())) for broker, one in brokers.items()}


def _with(broker: PlannerBroker, arriving: Arriving) -> PlannerBroker:
    """The snapshot's free bytes show what is copied, its replicas what is in flight."""
    only_waiting = broker.free == UNKNOWN
    return msgspec.structs.replace(
        broker,
        arriving=arriving.waiting_bytes if only_waiting else arriving.bytes,
        arriving_unknown=arriving.waiting_unknown if only_waiting else arriving.unknown,
    )
