"""The files of a plan between log dirs; docs/plans.md has the columns. In batches/ and rollback/, as
kafka-reassign-partitions takes them, replicas stay; "log_dirs" names where some go, "expected_log_dirs" where these
are, "topic_ids" are those of the snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.client import Replica
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.disks.disk_plan import read_disk_summary
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import Int32, read_file
from kafka_reassign_rpc.pipeline.plans.plan_directory import AGAIN, MOVES, PlanDirectory, ids_of
from kafka_reassign_rpc.pipeline.store_paths import StorePath

ANY = "any"
"""A replica stays where it is."""


def _text(name: str) -> pa.Field:
    return pa.field(name, pa.string(), nullable=False)


def _number(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_REPLICA = [_text("topic"), _number("partition", pa.int32()), _number("broker", pa.int32())]
DISK_MOVES = pa.schema(
    [
        *_REPLICA,
        _text("from_log_dir"),
        _text("to_log_dir"),
        _number("bytes", pa.int64()),
        _text("reason"),
        _number("batch", pa.int32()),
        _number("start", pa.int32()),
    ]
)
DISK_LEFT_OUT = pa.schema([*_REPLICA, _text("log_dir"), _number("bytes", pa.int64()), _text("reason")])


class PlannedDirMove(NamedTuple):
    topic: str
    partition: int
    broker: int
    from_log_dir: str
    to_log_dir: str
    bytes: int
    reason: str
    batch: int
    start: int

    @property
    def replica(self) -> Replica:
        return Replica(self.broker, self.topic, self.partition)


class DirEntry(msgspec.Struct, frozen=True):
    """The replicas of the partition stay; those whose `log_dirs` is not `any` go there."""

    topic: str
    partition: Int32
    replicas: tuple[Int32, ...]
    log_dirs: tuple[str, ...]
    expected_log_dirs: tuple[str, ...]


class DirBatch(msgspec.Struct, frozen=True):
    partitions: list[DirEntry]
    topic_ids: dict[str, str] = {}
    version: int = 1


class DiskPlanWriter(PlanDirectory):
    def __init__(self, path: StorePath, at: int) -> None:
        super().__init__(path, DISK_MOVES, DISK_LEFT_OUT, at)

    def write_batch(
        self,
        number: int,
        moves: Sequence[PlannedDirMove],
        replicas: Mapping[tuple[str, int], tuple[int, ...]],
        topic_ids: Mapping[str, str],
    ) -> None:
        ids = ids_of((one.topic for one in moves), topic_ids)
        forward = list(_entries(moves, replicas))
        back = [msgspec.structs.replace(one, log_dirs=one.expected_log_dirs, expected_log_dirs=one.log_dirs)
                for one in reversed(forward)]  # fmt: skip
        self._write_files(number, DirBatch(forward, ids), DirBatch(back, ids))


def _entries(
    moves: Iterable[PlannedDirMove], replicas: Mapping[tuple[str, int], tuple[int, ...]]
) -> Iterator[DirEntry]:
    """One for each partition: the stock tool takes it once in a file."""
    by_partition: dict[tuple[str, int], dict[int, PlannedDirMove]] = {}
    for move in moves:
        by_partition.setdefault((move.topic, move.partition), {})[move.broker] = move
    for (topic, partition), of_broker in by_partition.items():
        brokers = replicas[topic, partition]
        to, present = (
            tuple(getattr(of_broker[one], side) if one in of_broker else ANY for one in brokers)
            for side in ("to_log_dir", "from_log_dir")
        )
        yield DirEntry(topic, partition, brokers, to, present)


def read_dir_moves(plan: StorePath) -> Iterator[PlannedDirMove]:
    """In start order. Raises BadInput."""
    for batch in parquet_files.record_batches(plan / MOVES, DISK_MOVES):
        for row in zip(*(batch.column(name).to_pylist() for name in PlannedDirMove._fields), strict=True):
            yield PlannedDirMove(*row)


def require_all_dir_moves(plan: StorePath) -> None:
    """Raises BadInput where a file of `moves/` is lost."""
    parquet_files.require_rows(plan / MOVES, DISK_MOVES, read_disk_summary(plan).moves, AGAIN)


def read_dir_batch(file: StorePath) -> DirBatch:
    """Raises BadInput."""
    batch = read_file(file, DirBatch)
    if batch.version != 1:
        raise BadInput(f"{file}: version {batch.version}; this release reads version 1")
    seen: set[tuple[str, int]] = set()
    for entry in batch.partitions:
        name = f"{entry.topic}-{entry.partition}"
        if (entry.topic, entry.partition) in seen:
            raise BadInput(f"{file}: {name} occurs twice")
        seen.add((entry.topic, entry.partition))
        if len({len(entry.replicas), len(entry.log_dirs), len(entry.expected_log_dirs)}) != 1:
            raise BadInput(f"{file}: {name}: replicas, log_dirs and expected_log_dirs differ in length")
        if len(set(entry.replicas)) != len(entry.replicas):
            raise BadInput(f"{file}: {name}: a broker occurs twice")
        for to, present in zip(entry.log_dirs, entry.expected_log_dirs, strict=True):
            if (to == ANY) != (present == ANY) or (to != ANY and to == present):
                raise BadInput(f"{file}: {name}: a replica goes from {present} to {to}")
    return batch
