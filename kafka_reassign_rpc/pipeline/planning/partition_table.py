"""The table of partitions as columns: an Arrow table of whole topics, or pieces of them, whose figures are possible
(`possible_figures`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.snapshots.rate_columns import RATES
from kafka_reassign_rpc.pipeline.topic_pieces import PIECE_PARTITIONS
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

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
