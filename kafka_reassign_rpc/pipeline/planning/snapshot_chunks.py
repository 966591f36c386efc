"""A chunk of the table of partitions: what it tells before the first round, and its rows that the goal may move.

The table of partitions as columns: an Arrow table of whole topics, or pieces of them, whose figures are possible
(`possible_figures`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.brokers.departure import Losses, PartitionFacts, loss_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import (
    NAMED_ROWS,
    ClusterFacts,
    Coming,
    RowFaults,
    SnapshotSurvey,
)
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import RATES
from kafka_reassign_rpc.pipeline.topic_pieces import PIECE_PARTITIONS
from kafka_reassign_rpc.planner.columns.partition_chunk import OddRow, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import (
    NOBODY,
    Numbers,
    PartitionColumns,
    column_survey,
    large_rows,
    movable_rows,
    rows_of_topics,
)
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition

_NO_LEADER = -1
"""As in `PlannerPartition`; snapshots of earlier releases have it."""


class PartitionTable(NamedTuple):
    """Rows and names are in order. `topic`: by row, an index of `names`."""

    table: pa.Table
    names: list[str]
    topic: Numbers

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        encoded = table["topic"].combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        names = encoded.dictionary.to_pylist()
        order = sorted(range(len(names)), key=names.__getitem__)
        ranks = np.zeros(len(names), np.int64)
        ranks[order] = np.arange(len(names))
        topic, index = ranks[encoded.indices.to_numpy()], table["partition"].to_numpy()
        rows = np.lexsort((index, topic))
        if not np.array_equal(rows, np.arange(len(rows))):
            table, topic = table.take(pa.array(rows)), topic[rows]
        return cls(table.combine_chunks(), [names[place] for place in order], topic)

    def rows_at(self, numbers: Numbers) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.take(pa.array(numbers)).to_pylist()
        return rows

    def names_at(self, numbers: Numbers) -> list[tuple[str, int]]:
        indexes = np.asarray(self.column("partition"))[numbers].tolist()
        return [(self.names[topic], index) for topic, index in zip(self.topic[numbers].tolist(), indexes, strict=True)]

    def column(self, name: str) -> pa.Array:
        chunks = self.table[name].chunks
        return chunks[0] if chunks else pa.array([], self.table.schema.field(name).type)

    def lengths(self, name: str) -> Numbers:
        lengths: Numbers = np.asarray(pc.list_value_length(self.column(name)))
        return lengths

    def unknown_sizes(self) -> Numbers:
        unknown: Numbers = np.asarray(self.column("bytes").is_null())
        return unknown

    def moving(self) -> Numbers:
        moving: Numbers = np.asarray(self.column("waiting").fill_null(False))
        return moving | (self.lengths("adding") > 0) | (self.lengths("removing") > 0)

    def pieces(self) -> Numbers:
        """By row: the number of its topic's piece."""
        keys = self.topic * 2**32 + np.asarray(self.column("partition")) // PIECE_PARTITIONS
        changes = np.concatenate([[False], keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, bool)
        return changes.cumsum()

    def columns(self, brokers: Sequence[int], min_isrs: dict[str, int], default: int) -> PartitionColumns:
        """`brokers`: those that the snapshot lists; rows may name others."""
        replicas, isr = self.column("replicas"), self.column("isr")
        held = [np.asarray(lists.flatten()) for lists in (replicas, isr)]
        ids = np.unique(np.concatenate([np.array(brokers, np.int64), *held]).astype(np.int64))
        least = np.array([min_isrs.get(name, default) for name in self.names], np.int64)
        produce, fetch, messages, cpu = (_whole_rates(self.column(name)) for name in RATES)
        return PartitionColumns(
            ids,
            self.names,
            self.topic,
            np.asarray(self.column("partition")),
            _padded(held[0], self.lengths("replicas"), ids),
            np.asarray(self.column("leader").fill_null(_NO_LEADER)),
            _padded(held[1], self.lengths("isr"), ids),
            np.asarray(self.column("bytes").fill_null(UNKNOWN)),
            produce,
            fetch,
            messages,
            cpu,
            least[self.topic],
        )

    def usual(self, columns: PartitionColumns, brokers: Sequence[int]) -> Numbers:
        """A mask: rows without a fault, on listed `brokers`, not moving."""
        listed, ids = np.isin(columns.brokers, list(brokers)), columns.brokers
        replicas, isr = columns.replicas, columns.isr
        usual = (replicas[:, 0] != NOBODY) & (columns.number >= 0) & ~self.moving()
        for places in (replicas, isr):
            usual &= (listed[places] | (places == NOBODY)).all(axis=1)
        usual &= np.array([bool(name) for name in self.names], bool)[self.topic]
        same = (self.topic[1:] == self.topic[:-1]) & (columns.number[1:] == columns.number[:-1])
        usual[1:] &= ~same  # the first of two rows of a partition is not at fault, the second is
        usual[:-1] &= ~same
        for place in range(1, replicas.shape[1]):
            twice = (replicas[:, :place] == replicas[:, [place]]).any(axis=1)
            usual &= ~(twice & (replicas[:, place] != NOBODY))
        for place in range(isr.shape[1]):
            stranger = ~(replicas == isr[:, [place]]).any(axis=1)
            usual &= ~(stranger & (isr[:, place] != NOBODY))
        leads = (replicas != NOBODY) & (ids[replicas] == columns.leader[:, None])
        found: Numbers = usual & (leads.any(axis=1) | (columns.leader == -1))
        return found


def _padded(values: Numbers, lengths: Numbers, ids: Numbers) -> Numbers:
    """By row: indexes of brokers in `ids`."""
    width = max(1, int(lengths.max(initial=0)))
    table = np.full((len(lengths), width), NOBODY, np.int32)
    table[np.arange(width) < lengths[:, None]] = np.searchsorted(ids, values)
    return table


def _whole_rates(rates: pa.Array) -> Numbers:
    """Per second; 0: not measured."""
    whole: Numbers = np.asarray(rates.fill_null(0.0)).astype(np.int64)
    return whole


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
    of_topics = rows_of_topics(columns, facts.goal)
    found = SnapshotSurvey(
        survey,
        RowFaults.of(single.faults),
        RowFaults.of(single.reasons),
        single.unlisted,
        _largest(columns, sound),
        single.losses,
        tuple(read.names_at(np.flatnonzero(read.unknown_sizes() & able)[:NAMED_ROWS])),
        tuple(_coming(read)),
        int((~of_topics).sum()),
        int((of_topics & ~large_rows(columns, facts.goal)).sum()),
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
        for broker in dict.fromkeys(row["adding"]):
            yield Coming(row["topic"], row["partition"], broker, row["bytes"], broker not in row["replicas"])
