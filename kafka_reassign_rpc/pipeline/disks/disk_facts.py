"""What a snapshot and a plan say of moves between log dirs, read for the verifier without any code of the planner."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.disks.disk_plan import DiskSummary, read_disk_summary
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    DISK_LEFT_OUT,
    DirBatch,
    PlannedDirMove,
    read_dir_batch,
    read_dir_moves,
)
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import batch_number
from kafka_reassign_rpc.pipeline.plans.plan_directory import LEFT_OUT
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.log_dir_rows import read_log_dirs
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import ADDED, PARTITIONS, REPLICAS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, matching

Row = Mapping[str, Any]
PartitionName = tuple[str, int]


class LeftOut(NamedTuple):
    topic: str
    partition: int
    broker: int
    log_dir: str
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of broker {self.broker}"


class DiskFacts(NamedTuple):
    """dirs          by broker and path: rows of `log_dirs`
    held          by broker of the plan and partition: its log dir and its bytes; of one that lies in several (`twice`)
                  the first by name
    copied        replicas that a broker copies between its log dirs: the target, and the bytes there
    partitions    the rows of those that move or are left out
    reassigned    the rows of those with a reassignment, in flight or waiting
    odd           partitions whose replicas lack a broker or have one twice
    """

    dirs: Mapping[int, Mapping[str, Row]]
    held: Mapping[int, Mapping[PartitionName, tuple[str, int | None]]]
    twice: Collection[tuple[int, PartitionName]]
    copied: Mapping[int, Mapping[PartitionName, tuple[str, int]]]
    partitions: Mapping[PartitionName, Row]
    reassigned: Mapping[PartitionName, Row]
    odd: Collection[PartitionName]
    topic_ids: Mapping[str, str]
    summary: DiskSummary
    moves: Sequence[PlannedDirMove]
    left_out: Sequence[LeftOut]
    batches: Mapping[int, DirBatch]
    rollbacks: Mapping[int, DirBatch]

    def emptied(self, broker: int) -> Sequence[str]:
        return self.summary.requested.empty.get(broker, ())

    def open_dirs(self, broker: int) -> dict[str, Row]:
        return {
            path: row
            for path, row in self.dirs.get(broker, {}).items()
            if row["online"] and not row["cordoned"] and path not in self.emptied(broker)
        }


def volume_of(row: Row) -> Any:
    """A log dir whose volume is unknown counts as its own."""
    return row["log_dir"] if row["volume"] is None else row["volume"]


def read_facts(snapshot: StorePath, plan: StorePath) -> DiskFacts:
    """Raises BadInput."""
    meta, summary = snapshot_files.check(snapshot), read_disk_summary(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {snapshot} (cluster {summary.cluster_id})")
    dirs: dict[int, dict[str, Row]] = defaultdict(dict)
    for of_dir in read_log_dirs(snapshot):
        dirs[of_dir["broker"]][of_dir["log_dir"]] = of_dir
    looked_at = {one.broker for one in summary.brokers}
    held: dict[int, dict[PartitionName, tuple[str, int | None]]] = defaultdict(dict)
    copied: dict[int, dict[PartitionName, tuple[str, int]]] = defaultdict(dict)
    twice = set[tuple[int, PartitionName]]()
    for row in _rows(snapshot, "replicas", REPLICAS):
        name, broker = (row["topic"], row["partition"]), row["broker"]
        if row["future"]:
            copied[broker][name] = row["log_dir"], row["bytes"] or 0
        elif broker in looked_at and row["log_dir"] is not None:
            one = row["log_dir"], row["bytes"]
            if name in held[broker]:
                twice.add((broker, name))
                one = min(one, held[broker][name], key=itemgetter(0))
            held[broker][name] = one
    moves = list(read_dir_moves(plan))
    left_out = [
        LeftOut(*(row[name] for name in LeftOut._fields))
        for batch in parquet_files.record_batches(plan / LEFT_OUT, DISK_LEFT_OUT)
        for row in batch.to_pylist()
    ]
    named = {(one.topic, one.partition) for one in moves} | {(one.topic, one.partition) for one in left_out}
    partitions, reassigned, odd = {}, {}, set()
    for row in _rows(snapshot, "partitions", PARTITIONS):
        name = row["topic"], row["partition"]
        if name in named:
            partitions[name] = row
        if row["adding"] or row["removing"] or row["waiting"]:
            reassigned[name] = row
        if not row["replicas"] or len({*row["replicas"]}) != len(row["replicas"]):
            odd.add(name)
    files = [
        {batch_number(file): read_dir_batch(file) for file in matching(plan / folder, "*.json")}
        for folder in (BATCHES, ROLLBACK)
    ]
    ids = snapshot_files.topic_ids(snapshot)
    return DiskFacts(dirs, held, twice, copied, partitions, reassigned, odd, ids, summary, moves, left_out, *files)


def _rows(snapshot: StorePath, table: str, schema: pa.Schema) -> Iterator[Row]:
    path = snapshot_files.table_path(snapshot, table)
    for batch in parquet_files.record_batches(path, schema, added=ADDED[table]):
        yield from batch.to_pylist()


def coming(facts: DiskFacts) -> dict[int, Counter[Any]]:
    found: dict[int, Counter[Any]] = defaultdict(Counter)
    for move in facts.moves:
        row = facts.dirs.get(move.broker, {}).get(move.to_log_dir)
        if row is not None:
            found[move.broker][volume_of(row)] += move.bytes
    return found


def rooms(facts: DiskFacts) -> dict[int, dict[Any, int | None]]:
    """By broker and volume: bytes that may come, without room that the plan makes; None: not known."""
    arriving = Counter[int]()
    for row in facts.reassigned.values():
        arriving.update(dict.fromkeys(row["adding"], row["bytes"] or 0))
    return {one.broker: _rooms_of(facts, one.broker, arriving[one.broker]) for one in facts.summary.brokers}


def _rooms_of(facts: DiskFacts, broker: int, arriving: int) -> dict[Any, int | None]:
    of_broker = facts.dirs.get(broker, {})
    unfinished = Counter[Any]()
    for name, (path, there) in facts.copied.get(broker, {}).items():
        size = facts.held[broker].get(name, (path, there))[1] or 0
        if path in of_broker:
            unfinished[volume_of(of_broker[path])] += max(0, size - there)
    found: dict[Any, int | None] = {}
    for row in of_broker.values():
        volume, size, free = volume_of(row), row["volume_bytes"], row["free_bytes"]
        if size is None or free is None:
            found[volume] = None
            continue
        room = max(0, free - int(size * facts.summary.requested.headroom) - arriving - unfinished[volume])
        known = found.get(volume)
        found[volume] = room if known is None else min(known, room)
    return found
