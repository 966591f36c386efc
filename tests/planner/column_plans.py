"""Plans of partitions that are given as objects, made by columns: as the plan job makes them of a snapshot."""

from collections.abc import Iterable, Sequence

import numpy as np

from kafka_reassign_rpc.planner.brokers.rack_rule import live_racks
from kafka_reassign_rpc.planner.columns.partition_chunk import Applied, OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import (
    NOBODY,
    Numbers,
    PartitionColumns,
    column_survey,
    movable_rows,
)
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import LeftOut, Plan, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerTopic
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator


def make_plan(cluster: PlannerCluster, goal: Goal, options: PlanOptions | None = None) -> Plan:
    """Raises PlanError."""
    return plan_of_chunks(cluster, goal, options or PlanOptions(), [list(cluster.topics)])


def plan_of_chunks(
    cluster: PlannerCluster, goal: Goal, options: PlanOptions, chunks: Iterable[Sequence[PlannerTopic]]
) -> Plan:
    """Each chunk on its own, with the chunks' sums merged in any order. Raises PlanError."""
    coordinator = RoundCoordinator(cluster.brokers, goal, options)
    racks = live_racks(cluster.brokers) if goal.kind is GoalKind.REBALANCE else None
    live = frozenset(one.id for one in cluster.brokers if one.live)
    survey, made = Survey(), list[PartitionChunk]()
    for topics in chunks:
        columns = columns_of(topics, cluster.brokers)
        survey = column_survey(columns, racks).merge(survey)
        made.append(chunk_of(columns, topics, movable_rows(columns, goal, live)))
    coordinator.begin(survey)
    applied = None
    while (params := coordinator.next_round()) is not None:
        proposed, accepted = ProposedSums(), AcceptedSums()
        for chunk in made:
            chunk.propose(params, applied)
            proposed = chunk.proposals.sums().merge(proposed)
        thresholds = coordinator.decide(proposed)
        for chunk in made:
            accepted = chunk.proposals.accepted_sums(thresholds).merge(accepted)
        coordinator.take(accepted)
        applied = Applied(params, thresholds)
    for chunk in made:
        chunk.apply(applied)
    found = [one for chunk in made for one in chunk.found(coordinator.round_parameters())]
    moves = sorted((one for one in found if isinstance(one, PlannedMove)), key=_start_order)
    left = sorted(one for one in found if isinstance(one, LeftOut))
    return Plan(tuple(moves), tuple(left), coordinator.summary(len(moves), sum(one.bytes for one in moves), len(left)))


def _start_order(move: PlannedMove) -> tuple[int, str, int]:
    return move.priority, move.topic, move.partition


def chunk_of(columns: PartitionColumns, topics: Sequence[PlannerTopic], kept: Numbers) -> PartitionChunk:
    """The rows of `columns` that are kept; it has all partitions of `topics`."""
    places, odd = kept.cumsum() - 1, {}
    for row, one in enumerate(one for topic in topics for one in topic.partitions):
        if kept[row] and (one.moving or one.fault):
            odd[int(places[row])] = OddRow(one.moving, one.destination, one.fault)
    return PartitionChunk(columns.rows(kept), columns.topic[kept], odd)


def columns_of(topics: Sequence[PlannerTopic], brokers: Iterable[PlannerBroker]) -> PartitionColumns:
    parts = [(place, one) for place, topic in enumerate(topics) for one in topic.partitions]
    held = {broker for _, one in parts for broker in (*one.replicas, *one.isr)}
    ids = sorted({broker.id for broker in brokers} | held)
    places = {broker: place for place, broker in enumerate(ids)}

    def lists(name: str) -> Numbers:
        width = max((len(getattr(one, name)) for _, one in parts), default=0) or 1
        padded = np.full((len(parts), width), NOBODY, np.int64)
        for row, (_, one) in enumerate(parts):
            listed = [places[broker] for broker in getattr(one, name)]
            padded[row, : len(listed)] = listed
        return padded

    def numbers(name: str) -> Numbers:
        return np.array([getattr(one, name) for _, one in parts], np.int64)

    return PartitionColumns(
        brokers=np.array(ids),
        names=[topic.name for topic in topics],
        topic=np.array([place for place, _ in parts], np.int64),
        number=numbers("index"),
        replicas=lists("replicas"),
        leader=numbers("leader"),
        isr=lists("isr"),
        **{name: numbers(name) for name in ("bytes", "produce", "fetch", "messages", "cpu", "min_isr")},
    )
