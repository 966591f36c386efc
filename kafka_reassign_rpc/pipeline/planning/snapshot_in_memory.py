"""Reads a small snapshot into this process and plans here, before Spark would have started."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import (
    ClusterFacts,
    SnapshotSurvey,
    surveyed_chunks,
    whole_rate,
)
from kafka_reassign_rpc.pipeline.planning.snapshot_to_plan import Arriving, FoundMoves
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import RATES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.chunk_round import accept, apply_accepted, collect_moves, propose
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order


class SnapshotInMemory:
    _topics: list[PlannerTopic]

    def __init__(self, path: StorePath) -> None:
        """Raises BadInput."""
        self._path = path
        self._rows = snapshot_files.read_partitions(path)
        self.partitions = len(self._rows)

    def arriving(self) -> dict[int, Arriving]:
        """A replica has the size in DescribeLogDirs, at most that of its leader's."""
        found: dict[int, Arriving] = {}
        coming: dict[tuple[str, int, int], int] = {}
        for row in self._rows:
            size = row["bytes"]
            for broker in row["adding"]:
                one, waits = found.get(broker, Arriving()), broker not in row["replicas"]
                if size is None:
                    one = one._replace(unknown=one.unknown + 1, waiting_unknown=one.waiting_unknown + waits)
                else:
                    coming[row["topic"], row["partition"], broker] = size
                    waiting = one.waiting_bytes + waits * size
                    one = one._replace(bytes=one.bytes + size, waiting_bytes=waiting)
                found[broker] = one
        for batch in snapshot_files.record_batches(self._path, "replicas") if coming else ():
            for row in batch.to_pylist():
                size = coming.get((row["topic"], row["partition"], row["broker"]))
                if size is not None and row["bytes"] is not None and not row["future"]:
                    one = found[row["broker"]]
                    found[row["broker"]] = one._replace(bytes=one.bytes - min(size, row["bytes"]))
        return found

    def survey(self, facts: ClusterFacts) -> SnapshotSurvey:
        self._topics, found = [], SnapshotSurvey.nothing()
        for chunk, surveyed in surveyed_chunks(map(_planner_row, self._rows), facts):
            self._topics += chunk
            found = found.merge(surveyed)
        return found

    def first_of_unknown_size(self, count: int) -> list[str]:
        unknown = [f"{row['topic']}-{row['partition']}" for row in self._rows if row["bytes"] is None]
        return unknown[:count]

    @contextmanager
    def rounds(self) -> Iterator["RoundsInMemory"]:
        yield RoundsInMemory(self._topics)


class RoundsInMemory:
    """`topics` change as they are planned."""

    def __init__(self, topics: list[PlannerTopic]) -> None:
        self._topics = topics
        self._proposed: list[ChangeProposal] = []
        self._accepted: list[ChangeProposal] = []

    def propose(self, params: RoundParameters) -> ProposedSums:
        apply_accepted(self._topics, self._accepted)
        self._accepted = []
        self._proposed = [one for one in propose(self._topics, params) if one is not None]
        sums = ProposedSums()
        for proposal in self._proposed:
            sums.add(proposal)
        return sums

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        accepted = (accept(proposal, thresholds) for proposal in self._proposed)
        self._accepted = [one for one in accepted if one is not None]
        sums = AcceptedSums()
        for proposal in self._accepted:
            sums.add(proposal)
        return sums

    @contextmanager
    def found(self, params: RoundParameters, network: NetworkLimits) -> Iterator[FoundMoves]:
        apply_accepted(self._topics, self._accepted)
        moves, left_out = list[PlannedMove](), list[LeftOut]()
        for one in collect_moves(self._topics, params):
            if isinstance(one, PlannedMove):
                moves.append(one)
            elif one is not None:
                left_out.append(one)
        yield FoundMoves(iter(in_start_order(moves, network)), iter(left_out))


def _planner_row(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row for `surveyed_chunks`."""
    replicas, adding, removing = row["replicas"], row["adding"], row["removing"]
    moving = bool(adding or removing or row["waiting"])
    destination = [broker for broker in dict.fromkeys((*replicas, *adding)) if broker not in removing]
    size = UNKNOWN if row["bytes"] is None else row["bytes"]
    rates = (whole_rate(row[name]) for name in RATES)
    return (row["topic"], row["partition"], replicas, row["leader"], row["isr"], moving, size, *rates, destination)
