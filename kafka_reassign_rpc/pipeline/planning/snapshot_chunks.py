"""A chunk of the table of partitions: what it tells before the first round, and its rows that the goal may move."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kafka_reassign_rpc.core.brokers.departure import Losses, PartitionFacts, loss_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.planning.partition_table import PartitionTable
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import (
    NAMED_ROWS,
    ClusterFacts,
    Coming,
    RowFaults,
    SnapshotSurvey,
)
from kafka_reassign_rpc.planner.columns.column_survey import column_survey
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_chunk import OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition
from kafka_reassign_rpc.planner.proposals.round_sums import Survey


def surveyed_chunk(table: Any, facts: ClusterFacts) -> tuple[PartitionChunk, SnapshotSurvey]:
    """`table`: an Arrow table of whole topics, or of whole pieces of them."""
    read, brokers = PartitionTable.of(table), sorted(facts.brokers)
    columns = read.columns(brokers, facts.min_isrs, facts.default_min_isr)
    usual = read.usual(columns, brokers)
    if facts.departing is not None:
        usual &= ~_on(columns, frozenset(facts.goal.drained))  # each may be lost
    single = _SingleRows(facts)
    odd = dict(single.survey(read, columns, np.flatnonzero(~usual)))
    plain = columns.rows(usual)
    found = SnapshotSurvey(
        column_survey(plain, facts.racks),
        largest=_largest(plain),
        unsized=tuple(read.names_at(np.flatnonzero(read.unknown_sizes())[:NAMED_ROWS])),
        coming=tuple(_coming(read)),
    ).merge(single.found())
    kept = _may_move(columns, facts) & _chosen(columns, facts)
    places = kept.cumsum() - 1
    of_kept = {int(places[row]): one for row, one in odd.items() if kept[row]}
    return PartitionChunk(columns.rows(kept), read.pieces()[kept], of_kept), found


class _SingleRows:
    """Rows that are surveyed one by one."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._survey = Survey(facts.racks)
        self._faults: list[str] = []
        self._unusable: list[str] = []
        self._unlisted: dict[int, tuple[str, ...]] = {}
        self._largest = (0, "")
        self._losses = None if facts.departing is None else Losses()

    def found(self) -> SnapshotSurvey:
        faults, unusable = (
            RowFaults(len(all_), tuple(sorted(all_)[:NAMED_ROWS])) for all_ in (self._faults, self._unusable)
        )
        return SnapshotSurvey(self._survey, faults, unusable, self._unlisted, self._largest, self._losses)

    def survey(self, read: PartitionTable, columns: PartitionColumns, rows: Numbers) -> Iterator[tuple[int, OddRow]]:
        """The odd ones of them, by row."""
        before = ("", -1)
        shown = read.table.select(["adding", "removing"]).take(rows).to_pylist()
        moving = read.moving()[rows].tolist()
        partitions = columns.partitions(rows, columns.replicas[rows])
        for row, (topic, one), lists, moves in zip(rows.tolist(), partitions, shown, moving, strict=True):
            one.moving = moves
            if moves:
                later = dict.fromkeys((*one.replicas, *lists["adding"]))
                one.destination = tuple(broker for broker in later if broker not in lists["removing"])
            same = before == (topic, one.index)
            before = topic, one.index
            if self._add(topic, one, "occurs twice" if same else _row_fault(topic, one)) and (one.fault or moves):
                yield row, OddRow(one.moving, one.destination, one.fault)

    def _add(self, topic: str, one: PlannerPartition, fault: str) -> bool:
        name = f"{topic}-{one.index}"
        if fault:
            self._faults.append(f"{name} {fault}")
            return False
        one.fault = _partition_fault(one)
        if one.fault:
            self._unusable.append(f"{name}: {one.fault}")
            self._survey.partitions += 1
        else:
            self._survey.add(one)
        if self._losses is not None and self._facts.departing is not None:
            known = TopicPartition(topic, one.index)
            loss = loss_of(_partition_facts(known, one), self._facts.goal.drained, self._facts.departing)
            self._losses.add(known, loss, NAMED_ROWS)
        if one.bytes >= self._largest[0]:
            self._largest = max(self._largest, (one.bytes, name))
        for broker in one.replicas:
            if broker not in self._facts.brokers:
                names = (*self._unlisted.get(broker, ()), name)
                self._unlisted[broker] = tuple(sorted(names)[:NAMED_ROWS])
        return True


def _partition_facts(name: TopicPartition, partition: PlannerPartition) -> PartitionFacts:
    """The planner does not know which of the replicas a move adds."""
    replicas = partition.replicas
    target = partition.destination if partition.moving else replicas
    return PartitionFacts(name, replicas, replicas, target, partition.isr, partition.min_isr)


def _row_fault(topic: str, partition: PlannerPartition) -> str:
    """Why the row cannot come from any cluster, or "". `possible_figures` has refused what else cannot."""
    if not topic:
        return "has no topic name"
    if partition.index < 0:
        return "is no partition"
    return ""


def _partition_fault(partition: PlannerPartition) -> str:
    """Why no plan can begin with the partition as it is, or ""."""
    replicas = partition.replicas
    if not replicas:
        return "it has no replicas"
    if len(set(replicas)) != len(replicas):
        return f"it has a broker twice in {list(replicas)}"
    strangers = sorted({partition.leader, *partition.isr} - {-1, *replicas})
    if strangers:
        return f"its leader or ISR is outside of its replicas {list(replicas)}: {', '.join(map(str, strangers))}"
    return ""


def _may_move(columns: PartitionColumns, facts: ClusterFacts) -> Numbers:
    """As `forced_proposals.may_move`, by row."""
    goal = facts.goal
    if goal.kind is GoalKind.SET_FACTOR:
        other: Numbers = (columns.replicas != NOBODY).sum(axis=1) != goal.factor
        return other
    if goal.balances or goal.mends_racks:
        return np.ones(len(columns.number), bool)
    if goal.demoted:
        return columns.led_by(goal.demoted, columns.replicas)
    gone = frozenset(goal.drained)
    if goal.brokers_of(GoalKind.HEAL) is not None:
        gone |= frozenset(columns.brokers.tolist()) - facts.live
    return _on(columns, gone)


def _on(columns: PartitionColumns, brokers: frozenset[int]) -> Numbers:
    among = np.isin(columns.brokers, list(brokers))
    on_them: Numbers = (among[columns.replicas] & (columns.replicas != NOBODY)).any(axis=1)
    return on_them


def _chosen(columns: PartitionColumns, facts: ClusterFacts) -> Numbers:
    """By row: of the topics of the plan, and large enough for it (`is_too_small`)."""
    names = set(facts.goal.topics)
    of_topics = np.array([not names or name in names for name in columns.names], bool)
    large = (columns.bytes == UNKNOWN) | (columns.bytes >= facts.goal.least_bytes)
    chosen: Numbers = of_topics[columns.topic] & large
    return chosen


def _largest(columns: PartitionColumns) -> tuple[int, str]:
    """As `SnapshotSurvey.largest`."""
    size = int(columns.bytes.max(initial=0))
    rows = np.flatnonzero(columns.bytes == size) if size else ()
    pairs = ((columns.names[columns.topic[row]], columns.number[row]) for row in rows)
    return size, max((f"{topic}-{index}" for topic, index in pairs), default="")


def _coming(read: PartitionTable) -> Iterator[Coming]:
    """Each broker once."""
    for row in read.rows_at(np.flatnonzero(read.lengths("adding") > 0)):
        for broker in row["adding"]:
            yield Coming(row["topic"], row["partition"], broker, row["bytes"], broker not in row["replicas"])
