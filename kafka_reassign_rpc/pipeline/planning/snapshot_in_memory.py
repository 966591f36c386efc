"""A snapshot that is read into this process and planned here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import (
    ClusterFacts,
    SnapshotSurvey,
    surveyed_chunks,
    whole_rate,
)
from kafka_reassign_rpc.pipeline.planning.snapshot_columns import (
    SnapshotColumns,
    can_balance,
    chosen,
    largest,
    unconcerned,
)
from kafka_reassign_rpc.pipeline.planning.snapshot_to_plan import Arriving, FoundMoves
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import RATES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.chunk_round import accept, apply_accepted, collect_moves, propose
from kafka_reassign_rpc.planner.columns.balanced_columns import BalancedColumns
from kafka_reassign_rpc.planner.columns.column_survey import column_survey
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
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
        self._read = SnapshotColumns.read(path)
        self.partitions = len(self._read.topic)
        self._balanced: BalancedColumns | None = None

    def arriving(self) -> dict[int, Arriving]:
        """A replica has the size that DescribeLogDirs tells, at most its leader's."""
        found: dict[int, Arriving] = {}
        coming: dict[tuple[str, int, int], int] = {}
        for row in self._read.rows(self._read.has_adding()):
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
        columns, usual = self._read.usual(sorted(facts.brokers), facts)
        apart = usual & unconcerned(columns, facts)
        if facts.goal.balances and not facts.goal.empties and not facts.spreads_topics:
            apart = self._balance_apart(columns, usual, facts)
        self._topics, found = [], SnapshotSurvey.nothing(facts.racks)
        for chunk, surveyed in surveyed_chunks(map(_planner_row, self._read.rows(~apart)), facts):
            self._topics += chunk
            found = found.merge(surveyed)
        plain, nothing = columns.rows(apart), SnapshotSurvey.nothing()
        return found.merge(
            nothing._replace(
                survey=column_survey(plain, facts.racks),
                largest=largest(plain),
                kept=0 if self._balanced is None else len(self._balanced),
            )
        )

    def _balance_apart(self, columns: PartitionColumns, usual: Numbers, facts: ClusterFacts) -> Numbers:
        """A mask of rows that are balanced as columns or belong to other topics."""
        wanted, able, pieces = chosen(columns, facts), usual & can_balance(columns, facts), self._read.pieces()
        balanced, others = wanted & able, columns.replicas[wanted & ~able]
        there = others != NOBODY
        of_others = np.broadcast_to(pieces[wanted & ~able][:, None], there.shape)[there], others[there]
        self._balanced = BalancedColumns(columns.rows(balanced), pieces[balanced], of_others)
        apart: Numbers = balanced | (usual & ~wanted)
        return apart

    def first_of_unknown_size(self, count: int) -> list[str]:
        rows = np.flatnonzero(self._read.unknown_sizes())[:count]
        return [f"{row['topic']}-{row['partition']}" for row in self._read.rows_at(rows)]

    @contextmanager
    def rounds(self) -> Iterator["RoundsInMemory | BalancedRounds"]:
        """Forgets what was read: Spark needs the memory."""
        balanced, self._balanced = self._balanced, None
        topics, self._topics = self._topics, []
        del self._read
        yield RoundsInMemory(topics) if balanced is None else BalancedRounds(balanced, topics)


class BalancedRounds:
    """`others` cannot move."""

    def __init__(self, balanced: BalancedColumns, others: list[PlannerTopic]) -> None:
        self._balanced, self._others = balanced, others
        self.propose, self.accept = balanced.propose, balanced.accept

    @contextmanager
    def found(self, params: RoundParameters, network: NetworkLimits) -> Iterator[FoundMoves]:
        self._balanced.apply()
        yield _found([*self._balanced.changed(params), *self._others], params, network)


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
        return ProposedSums.of(self._proposed)

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        accepted = (accept(proposal, thresholds) for proposal in self._proposed)
        self._accepted = [one for one in accepted if one is not None]
        return AcceptedSums.of(self._accepted)

    @contextmanager
    def found(self, params: RoundParameters, network: NetworkLimits) -> Iterator[FoundMoves]:
        apply_accepted(self._topics, self._accepted)
        yield _found(self._topics, params, network)


def _found(topics: list[PlannerTopic], params: RoundParameters, network: NetworkLimits) -> FoundMoves:
    moves, left_out = list[PlannedMove](), list[LeftOut]()
    for one in collect_moves(topics, params):
        if isinstance(one, PlannedMove):
            moves.append(one)
        elif one is not None:
            left_out.append(one)
    return FoundMoves(iter(in_start_order(moves, network)), iter(sorted(left_out)))


def _planner_row(row: dict[str, Any]) -> tuple[Any, ...]:
    replicas, adding, removing = row["replicas"], row["adding"], row["removing"]
    moving = bool(adding or removing or row["waiting"])
    destination = [broker for broker in dict.fromkeys((*replicas, *adding)) if broker not in removing]
    size = UNKNOWN if row["bytes"] is None else row["bytes"]
    rates = (whole_rate(row[name]) for name in RATES)
    return (row["topic"], row["partition"], replicas, row["leader"], row["isr"], moving, size, *rates, destination)
