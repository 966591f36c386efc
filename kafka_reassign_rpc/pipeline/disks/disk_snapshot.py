"""What a snapshot says of log dirs and their replicas. The table of replicas stays in memory as Arrow; only those of
one broker at a time become objects.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows, read_log_dirs
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.disks.disk_room import NOT_ASKED, BrokerDisks, DiskDir, DiskReplica
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

IN_FLIGHT = "a reassignment of its partition is in flight or waits"
COPYING = "its broker copies it to another log dir already"
NO_SIZE = "its broker does not tell its size"
TWICE = "its broker lists it in two log dirs"
ODD = "the replicas of its partition lack a broker or have one twice"
STRAY = "its partition has no replica on this broker"

PartitionName = tuple[str, int]


@dataclass
class _Moving:
    """arriving   by broker: bytes that reassignments have yet to bring
    odd        partitions without replicas, or with a broker twice: no JSON can name them
    """

    partitions: set[PartitionName]
    arriving: dict[int, int]
    odd: set[PartitionName]


@dataclass
class DiskSnapshot:
    """Methods and properties raise BadInput."""

    path: StorePath

    @cached_property
    def dirs(self) -> dict[int, tuple[DiskDir, ...]]:
        """Only live brokers that tell their log dirs are there."""
        found: dict[int, list[DiskDir]] = {}
        for row in read_log_dirs(self.path):
            size, free = (UNKNOWN if row[name] is None else row[name] for name in ("volume_bytes", "free_bytes"))
            one = DiskDir(row["log_dir"], row["online"], row["volume"], size, free, bool(row["cordoned"]))
            found.setdefault(row["broker"], []).append(one)
        return {broker: tuple(sorted(of_broker)) for broker, of_broker in sorted(found.items())}

    @cached_property
    def live(self) -> frozenset[int]:
        return frozenset(row["broker"] for row in read_broker_rows(self.path) if row["live"])

    @cached_property
    def moving(self) -> _Moving:
        found = _Moving(set(), {}, set())
        for row in snapshot_files.rows(self.path, "partitions"):
            if not row["replicas"] or len({*row["replicas"]}) < len(row["replicas"]):
                found.odd.add((row["topic"], row["partition"]))
            if not (row["adding"] or row["removing"] or row["waiting"]):
                continue
            found.partitions.add((row["topic"], row["partition"]))
            for broker in {*row["adding"]}:
                found.arriving[broker] = found.arriving.get(broker, 0) + (row["bytes"] or 0)
        return found

    @cached_property
    def _replicas(self) -> pa.Table:
        return snapshot_files.read(self.path, "replicas")

    def disks(self, broker: int, topics: frozenset[str]) -> BrokerDisks:
        """Replicas of topics outside `topics` stay; empty: all may move."""
        rows = self._replicas.filter(pc.equal(self._replicas["broker"], broker)).to_pylist()
        future = {(row["topic"], row["partition"]): row for row in rows if row["future"]}
        replicas, copying = [], dict[str, int]()
        present = sorted((row for row in rows if not row["future"] and row["log_dir"] is not None), key=_place)
        lies = Counter((row["topic"], row["partition"]) for row in present)
        seen = set[PartitionName]()
        for row in present:
            name = row["topic"], row["partition"]
            if name in seen:
                continue
            seen.add(name)
            size = row["bytes"]
            stays = NO_SIZE if size is None else ""
            if name in future:
                to = future[name]
                if to["log_dir"] is not None:
                    copying[to["log_dir"]] = copying.get(to["log_dir"], 0) + max(0, (size or 0) - (to["bytes"] or 0))
                stays = COPYING
            elif name in self.moving.partitions:
                stays = IN_FLIGHT
            elif name in self.moving.odd:
                stays = ODD
            elif (*name, broker) in self._strays:
                stays = STRAY
            elif lies[name] > 1:
                stays = TWICE
            if topics and row["topic"] not in topics:
                stays = NOT_ASKED
            replicas.append(DiskReplica(*name, size or 0, row["log_dir"], stays))
        return BrokerDisks(self.dirs.get(broker, ()), tuple(replicas), tuple(sorted(copying.items())))

    @cached_property
    def _strays(self) -> set[tuple[str, int, int]]:
        """Replicas that their partition does not have: no JSON can name them."""
        keys = ["topic", "partition", "broker"]
        held = [self._replicas.select(keys).schema.empty_table()]
        for batch in snapshot_files.record_batches(self.path, "partitions", ("topic", "partition", "replicas")):
            rows, brokers = pc.list_parent_indices(batch["replicas"]), pc.list_flatten(batch["replicas"])
            of_batch = [batch["topic"].take(rows), batch["partition"].take(rows), brokers]
            held.append(pa.table(of_batch, schema=held[0].schema))
        found = self._replicas.select(keys).join(pa.concat_tables(held), keys, join_type="left anti")
        return set(zip(*(found[key].to_pylist() for key in keys), strict=True))

    def replicas_of(self, wanted: set[PartitionName]) -> dict[PartitionName, tuple[int, ...]]:
        """In the order of replicas."""
        found: dict[PartitionName, tuple[int, ...]] = {}
        for row in snapshot_files.rows(self.path, "partitions"):
            name = row["topic"], row["partition"]
            if name in wanted:
                found[name] = tuple(row["replicas"])
        return found


def _place(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["topic"], row["partition"], row["log_dir"]
