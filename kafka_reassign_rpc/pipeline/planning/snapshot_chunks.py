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
from kafka_reassign_rpc.planner.columns.movable_rows import movable_rows
from kafka_reassign_rpc.planner.columns.partition_chunk import OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import PartitionColumns
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition


def surveyed_chunk(table: Any, facts: ClusterFacts) -> tuple[PartitionChunk, SnapshotSurvey]:
    """`table`: an Arrow table of whole topics, or of whole pieces of them."""
    read, brokers = PartitionTable.of(table), sorted(facts.brokers)
    columns = read.columns(brokers, facts.min_isrs, facts.default_min_isr)
    usual = read.usual(columns, brokers)
    if facts.departing is not None:
        usual &= ~columns.held_by(facts.goal.drained, columns.replicas)  # each may be lost
    single = _SingleRows(facts)
    odd = dict(single.look_at(read, columns, np.flatnonzero(~usual)))
    sound = np.ones(len(usual), bool)
    sound[single.faulty] = False
    able = sound.copy()
    able[single.unusable] = False
    survey = column_survey(columns.rows(able), facts.racks)
    survey.partitions += len(single.unusable)
    found = SnapshotSurvey(
        survey,
        RowFaults.of(single.faults),
        RowFaults.of(single.reasons),
        single.unlisted,
        _largest(columns, sound),
        single.losses,
        tuple(read.names_at(np.flatnonzero(read.unknown_sizes())[:NAMED_ROWS])),
        tuple(_coming(read)),
    )
    kept = movable_rows(columns, facts.goal, facts.live)
    places = kept.cumsum() - 1
    of_kept = {int(places[row]): one for row, one in odd.items() if kept[row]}
    return PartitionChunk(columns.rows(kept), read.pieces()[kept], of_kept), found


class _SingleRows:
    """Rows that are looked at one by one. `faulty`, `unusable`: their numbers, with `faults` and `reasons`."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self.faulty: list[int] = []
        self.unusable: list[int] = []
        self.faults: list[str] = []
        self.reasons: list[str] = []
        self.unlisted: dict[int, tuple[str, ...]] = {}
        self.losses = None if facts.departing is None else Losses()

    def look_at(self, read: PartitionTable, columns: PartitionColumns, rows: Numbers) -> Iterator[tuple[int, OddRow]]:
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
            fault = "occurs twice" if before == (topic, one.index) else _row_fault(topic, one)
            before = topic, one.index
            if fault:
                self.faulty.append(row)
                self.faults.append(f"{topic}-{one.index} {fault}")
                continue
            self._add(row, topic, one)
            if one.fault or moves:
                yield row, OddRow(one.moving, one.destination, one.fault)

    def _add(self, row: int, topic: str, one: PlannerPartition) -> None:
        name = f"{topic}-{one.index}"
        one.fault = _partition_fault(one)
        if one.fault:
            self.unusable.append(row)
            self.reasons.append(f"{name}: {one.fault}")
        if self.losses is not None and self._facts.departing is not None:
            known = TopicPartition(topic, one.index)
            loss = loss_of(_partition_facts(known, one), self._facts.goal.drained, self._facts.departing)
            self.losses.add(known, loss, NAMED_ROWS)
        for broker in one.replicas:
            if broker not in self._facts.brokers:
                names = (*self.unlisted.get(broker, ()), name)
                self.unlisted[broker] = tuple(sorted(names)[:NAMED_ROWS])


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


def _largest(columns: PartitionColumns, sound: Numbers) -> tuple[int, str]:
    """As `SnapshotSurvey.largest`."""
    size = int(columns.bytes[sound].max(initial=0))
    rows = np.flatnonzero(sound & (columns.bytes == size)) if size else ()
    pairs = ((columns.names[columns.topic[row]], columns.number[row]) for row in rows)
    return size, max((f"{topic}-{index}" for topic, index in pairs), default="")


def _coming(read: PartitionTable) -> Iterator[Coming]:
    """Each broker once."""
    for row in read.rows_at(np.flatnonzero(read.lengths("adding") > 0)):
        for broker in row["adding"]:
            yield Coming(row["topic"], row["partition"], broker, row["bytes"], broker not in row["replicas"])
