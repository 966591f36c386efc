"""What a snapshot and a plan say of moves between log dirs, read for the verifier without any code of the planner."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    DISK_LEFT_OUT,
    DirBatch,
    DiskSummary,
    PlannedDirMove,
    read_dir_batch,
    read_dir_moves,
    read_disk_summary,
)
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import files_by_number
from kafka_reassign_rpc.pipeline.plans.plan_directory import LEFT_OUT
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows, read_log_dirs, size_notes
from kafka_reassign_rpc.pipeline.store_paths import StorePath

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
    held          by broker that was asked for, and partition: its log dir and its bytes; of one that lies in several
                  (`twice`) the first by name
    copied        replicas that a broker copies between its log dirs: the target, and the bytes there
    partitions    the rows of those that move or are left out
    reassigned    the rows of those with a reassignment, in flight or waiting
    odd           partitions whose replicas lack a broker or have one twice
    strays        of `held`: replicas that their partitions do not have
    live          brokers
    notes         on sizes that contradict each other
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
    strays: Collection[tuple[int, PartitionName]]
    live: Collection[int]
    notes: Sequence[str]

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
    live, requested = {row["broker"] for row in read_broker_rows(snapshot) if row["live"]}, summary.requested
    asked = requested.empty or requested.brokers or dirs.keys() & live
    held: dict[int, dict[PartitionName, tuple[str, int | None]]] = {broker: {} for broker in sorted(asked)}
    copied: dict[int, dict[PartitionName, tuple[str, int]]] = defaultdict(dict)
    twice = set[tuple[int, PartitionName]]()
    for row in snapshot_files.rows(snapshot, "replicas"):
        name, broker = (row["topic"], row["partition"]), row["broker"]
        if row["future"]:
            copied[broker][name] = row["log_dir"], row["bytes"] or 0
        elif broker in held and row["log_dir"] is not None:
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
    strays = {(broker, name) for broker, of_broker in held.items() for name in of_broker}
    for row in snapshot_files.rows(snapshot, "partitions"):
        name = row["topic"], row["partition"]
        strays.difference_update((broker, name) for broker in row["replicas"])
        if name in named:
            partitions[name] = row
        if row["adding"] or row["removing"] or row["waiting"]:
            reassigned[name] = row
        if not row["replicas"] or len({*row["replicas"]}) != len(row["replicas"]):
            odd.add(name)
    batches, rollbacks = (
        {number: read_dir_batch(file) for number, file in files_by_number(plan / folder).items()}
        for folder in (BATCHES, ROLLBACK)
    )
    return DiskFacts(
        dirs,
        held,
        twice,
        copied,
        partitions,
        reassigned,
        odd,
        snapshot_files.topic_ids(snapshot),
        summary,
        moves,
        left_out,
        batches,
        rollbacks,
        strays,
        live,
        size_notes(snapshot),
    )
