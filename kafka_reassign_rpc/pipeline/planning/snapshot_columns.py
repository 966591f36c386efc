"""The partitions of a snapshot as columns. Only those that the goal concerns or that are odd become objects: most
often few of a million.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import PIECE_PARTITIONS, ClusterFacts
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import MOST_RATE, RATES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN


class SnapshotColumns(NamedTuple):
    """`topic`: by row, an index of `names`. Rows and names are in order."""

    table: pa.Table
    names: list[str]
    topic: Numbers

    @classmethod
    def read(cls, path: StorePath) -> Self:
        """Raises BadInput."""
        table = snapshot_files.read(path, "partitions")
        encoded = table["topic"].combine_chunks().dictionary_encode()
        names = encoded.dictionary.to_pylist()
        order = sorted(range(len(names)), key=names.__getitem__)
        ranks = np.zeros(len(names), np.int64)
        ranks[order] = np.arange(len(names))
        topic, index = ranks[encoded.indices.to_numpy()], table["partition"].to_numpy()
        rows = np.lexsort((index, topic))
        if not np.array_equal(rows, np.arange(len(rows))):
            table, topic = table.take(pa.array(rows)), topic[rows]
        return cls(table.combine_chunks(), [names[place] for place in order], topic)

    def rows(self, chosen: Numbers) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.filter(pa.array(chosen)).to_pylist()
        return rows

    def rows_at(self, numbers: Numbers) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.take(pa.array(numbers)).to_pylist()
        return rows

    def column(self, name: str) -> pa.Array:
        chunks = self.table[name].chunks
        return chunks[0] if chunks else pa.array([], self.table.schema.field(name).type)

    def has_adding(self) -> Numbers:
        return _lengths(self.column("adding")) > 0

    def unknown_sizes(self) -> Numbers:
        unknown: Numbers = np.asarray(self.column("bytes").is_null())
        return unknown

    def pieces(self) -> Numbers:
        """By row: the number of its topic's piece (`PIECE_PARTITIONS`)."""
        index = np.asarray(self.column("partition"))
        keys = self.topic * 2**32 + index // PIECE_PARTITIONS
        changes = np.concatenate([[False], keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, bool)
        return changes.cumsum()

    def usual(self, brokers: Sequence[int], facts: ClusterFacts) -> tuple[PartitionColumns, Numbers]:
        """All rows, and a mask of the usual ones: without a fault, on listed brokers, not moving. Other rows may lack
        brokers. `brokers`: ids, ascending.
        """
        ids = np.array(brokers, np.int64)
        index, leader = np.asarray(self.column("partition")), np.asarray(self.column("leader"))
        replicas, are_listed = _padded(self.column("replicas"), ids)
        isr, are_known = _padded(self.column("isr"), ids)
        sizes = np.asarray(self.column("bytes").fill_null(UNKNOWN))
        rates = [_whole_rates(self.column(name)) for name in RATES]
        waits = np.asarray(self.column("waiting").fill_null(False))
        usual = are_listed & are_known & (_lengths(self.column("replicas")) > 0) & (index >= 0) & (sizes >= UNKNOWN)
        usual &= (np.stack(rates) >= 0).all(axis=0) & ~waits & ~self.has_adding()
        usual &= _lengths(self.column("removing")) == 0
        usual &= np.array([bool(name) for name in self.names], bool)[self.topic]
        same = (self.topic[1:] == self.topic[:-1]) & (index[1:] == index[:-1])
        usual[1:] &= ~same  # the first of two rows of a partition is not at fault, the second is
        usual[:-1] &= ~same
        for place in range(1, replicas.shape[1]):
            twice = (replicas[:, :place] == replicas[:, [place]]).any(axis=1)
            usual &= ~(twice & (replicas[:, place] != NOBODY))
        for place in range(isr.shape[1]):
            stranger = ~(replicas == isr[:, [place]]).any(axis=1)
            usual &= ~(stranger & (isr[:, place] != NOBODY))
        leads = (replicas != NOBODY) & (ids[replicas] == leader[:, None])
        usual &= leads.any(axis=1) | (leader == -1)
        min_isrs = [facts.min_isrs.get(name, facts.default_min_isr) for name in self.names]
        columns = (self.topic, index, replicas, leader, isr, sizes, *rates)
        return PartitionColumns(ids, self.names, min_isrs, *columns), usual


def unconcerned(found: PartitionColumns, facts: ClusterFacts) -> Numbers:
    """The goal leaves these as they are, whatever happens to others."""
    goal, ids = facts.goal, found.brokers.tolist()
    if goal.kind is GoalKind.SET_FACTOR:
        same: Numbers = (found.replicas != NOBODY).sum(axis=1) == goal.factor
        return same
    if goal.balances or goal.mends_racks:
        return np.zeros(len(found.number), bool)
    if goal.demoted:
        demoted = np.array([*goal.demoted], np.int64)
        led: Numbers = np.isin(found.brokers[found.replicas[:, 0]], demoted) | np.isin(found.leader, demoted)
        return ~led
    leaving = goal.leaving(ids, facts.live)
    touched = np.array([broker in leaving for broker in ids], bool)
    is_touched: Numbers = (touched[found.replicas] & (found.replicas != NOBODY)).any(axis=1)
    return ~is_touched


def can_balance(found: PartitionColumns, facts: ClusterFacts) -> Numbers:
    live = np.array([broker in facts.live for broker in found.brokers.tolist()], bool)
    dead = ~live[found.replicas] & (found.replicas != NOBODY)
    in_sync = live[found.isr] & (found.isr != NOBODY)
    able: Numbers = ~dead.any(axis=1) & in_sync.any(axis=1)
    return able


def chosen(found: PartitionColumns, facts: ClusterFacts) -> Numbers:
    topics = facts.goal.topics
    names = set(topics)
    of_topics = np.array([not topics or name in names for name in found.names], bool)
    rows: Numbers = of_topics[found.topic] & ((found.bytes == UNKNOWN) | (found.bytes >= facts.goal.least_bytes))
    return rows


def largest(found: PartitionColumns) -> tuple[int, str]:
    """As `SnapshotSurvey.largest`."""
    size = int(found.bytes.max(initial=0))
    rows = np.flatnonzero(found.bytes == size) if size else ()
    pairs = ((found.names[found.topic[row]], found.number[row]) for row in rows)
    return size, max((f"{topic}-{index}" for topic, index in pairs), default="")


def _lengths(lists: pa.Array) -> Numbers:
    lengths: Numbers = np.asarray(pc.list_value_length(lists))
    return lengths


def _padded(lists: pa.Array, ids: Numbers) -> tuple[Numbers, Numbers]:
    """By row: indexes of brokers in `ids`; and a mask of rows that have only such brokers."""
    lengths = _lengths(lists).astype(np.int64)
    width = max(1, int(lengths.max(initial=0)))
    values = np.asarray(lists.flatten()).astype(np.int64)
    places = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    known = ids[places] == values
    table = np.full((len(lengths), width), NOBODY, np.int32)
    inside = np.arange(width) < lengths[:, None]
    table[inside] = np.where(known, places, NOBODY)
    are_known = np.ones((len(lengths), width), bool)
    are_known[inside] = known
    return table, np.asarray(are_known.all(axis=1))


def _whole_rates(rates: pa.Array) -> Numbers:
    values = np.nan_to_num(np.asarray(rates.fill_null(0.0)), nan=-1.0, posinf=-1.0, neginf=-1.0)
    fits = (values >= 0) & (values < MOST_RATE)
    whole: Numbers = np.where(fits, values, -1.0).astype(np.int64)
    return whole
