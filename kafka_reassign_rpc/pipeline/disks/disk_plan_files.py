"""The files of a plan between log dirs; docs/plans.md has the columns. In batches/ and rollback/, as
kafka-reassign-partitions takes them, replicas stay; "log_dirs" names where some go, "expected_log_dirs" where these
are, "topic_ids" are those of the snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.client import Replica
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.parquet_files import required
from kafka_reassign_rpc.pipeline.plans.batch_reader import Int32, read_file
from kafka_reassign_rpc.pipeline.plans.plan_directory import AGAIN, MOVES, PlanDirectory, ids_of
from kafka_reassign_rpc.pipeline.plans.plan_summary import AtLeastOne, Share, read_summary_of
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.disks.disk_room import DiskGoal, DiskLimits
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import duration, size

DISKS = "disks"
"""The `kind` of such a plan."""
VERSION = 1


class DiskRequest(msgspec.Struct, frozen=True):
    """brokers, topics     those to look at; []: all
    empty               by broker, the log dirs to empty; {}: spread evenly
    moves_per_broker    at a time
    """

    brokers: list[int] = []
    topics: list[str] = []
    empty: dict[int, list[str]] = {}
    tolerance: Share = DiskGoal().tolerance
    headroom: Share = DiskGoal().headroom
    max_bytes: int = -1
    moves_per_broker: AtLeastOne = DiskLimits().moves_per_broker
    moves_per_batch: AtLeastOne = DiskLimits().moves_per_batch


class DirFigures(msgspec.Struct, frozen=True):
    """`volume_bytes` and `free` are those of its volume; None: unknown."""

    broker: int
    log_dir: str
    online: bool
    volume: int | None
    volume_bytes: int | None
    free: int | None
    bytes_before: int
    bytes_after: int
    replicas_before: int
    replicas_after: int


class BrokerDiskFigures(msgspec.Struct, frozen=True):
    """`furthest_…`: the largest distance of a volume from its target, as a share of the target."""

    broker: int
    moves: int
    bytes: int
    seconds: float
    furthest_before: float
    furthest_after: float


class DiskBatchFigures(msgspec.Struct, frozen=True):
    batch: int
    moves: int
    bytes: int


class LeftOutReplicas(msgspec.Struct, frozen=True):
    """For one reason, and the `first` names."""

    reason: str
    replicas: int
    first: list[str]


class DiskSummary(msgspec.Struct, frozen=True):
    """Sizes are in bytes, rates in bytes/s, times in seconds.

    at                  when the snapshot was taken: ms since the epoch
    replicas            those that the plan looked at
    bandwidth           of each broker, for copies between its log dirs
    throttle            of such copies on each broker; None: none
    expected_seconds    of the broker that takes longest
    complete            false: replicas of a log dir to be emptied are left out
    """

    kind: str
    cluster_id: str
    at: int
    requested: DiskRequest
    replicas: int
    moves: int
    bytes: int
    brokers: list[BrokerDiskFigures]
    dirs: list[DirFigures]
    batches: list[DiskBatchFigures]
    left_out: list[LeftOutReplicas]
    notes: list[str]
    bandwidth: AtLeastOne
    throttle: AtLeastOne | None
    expected_seconds: float
    complete: bool
    version: int = VERSION

    @property
    def furthest_after(self) -> float:
        return max((one.furthest_after for one in self.brokers), default=0.0)


def read_disk_summary(path: StorePath) -> DiskSummary:
    """Raises BadInput."""
    return read_summary_of(path, DiskSummary, VERSION)


ANY = "any"
"""A replica stays where it is."""


_REPLICA = required(("topic", pa.string()), ("partition", pa.int32()), ("broker", pa.int32()))
_BYTES, _REASON = required(("bytes", pa.int64()), ("reason", pa.string()))
DISK_MOVES = pa.schema(
    [
        *_REPLICA,
        *required(("from_log_dir", pa.string()), ("to_log_dir", pa.string())),
        *(_BYTES, _REASON),
        *required(("batch", pa.int32()), ("start", pa.int32())),
    ]
)
DISK_LEFT_OUT = pa.schema([*_REPLICA, *required(("log_dir", pa.string())), _BYTES, _REASON])


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


_DIRS, _MOVES = 20, 5
"""So many log dirs and moves are named."""


def summary_lines(summary: DiskSummary, out: StorePath, first: Iterable[PlannedDirMove], how_to_show: str) -> list[str]:
    lines = []
    if not summary.complete:
        count = sum(one.replicas for one in summary.left_out)
        lines.append(f"{out}: incomplete: {counted(count, 'replica', 'stay')} in a log dir that is to be emptied")
    if not summary.moves:
        return [*lines, f"{out}: nothing to move among {counted(summary.replicas, 'replica')}"]
    between = f"log dirs of {counted(sum(one.moves > 0 for one in summary.brokers), 'broker')}"
    move, batches = agreeing(summary.moves, "move"), counted(len(summary.batches), "batch")
    lines += [
        f"{out}: {summary.moves} of {counted(summary.replicas, 'replica')} {move} between {between} in {batches}",
        f"  copied    {size(summary.bytes)}",
        f"  takes     {duration(summary.expected_seconds)} at {_pace(summary)}",
    ]
    changed = [
        one for one in summary.dirs if one.bytes_before != one.bytes_after or one.replicas_before != one.replicas_after
    ]
    named = [_dir_line(one) for one in changed[:_DIRS]]
    if len(changed) > _DIRS:
        named.append(f"and {len(changed) - _DIRS} more")
    if not summary.requested.empty:
        worst = max(summary.brokers, key=lambda one: (one.furthest_before, -one.broker))
        after = max(summary.brokers, key=lambda one: (one.furthest_after, -one.broker))
        named.append(
            f"furthest from its share {worst.furthest_before:.1%} (broker {worst.broker}), "
            f"then {after.furthest_after:.1%} (broker {after.broker})"
        )
    lines += [f"  {'' if place else 'log dirs':9} {line}" for place, line in enumerate(named)]
    moves = list(move_lines((move, "") for move in islice(first, _MOVES)))
    if summary.moves > _MOVES:
        moves.append(f"and {summary.moves - _MOVES:,} more: {how_to_show}")
    return [*lines, *(f"  {'' if place else 'moves':9} {line}" for place, line in enumerate(moves))]


def _pace(summary: DiskSummary) -> str:
    if summary.throttle is not None and summary.throttle <= summary.bandwidth:
        return f"the throttle of {size(summary.throttle)}/s on each broker"
    return f"{size(summary.bandwidth)}/s for each broker"


def _dir_line(one: DirFigures) -> str:
    before, after = (
        f"{size(held)} in {counted(replicas, 'replica')}"
        for held, replicas in ((one.bytes_before, one.replicas_before), (one.bytes_after, one.replicas_after))
    )
    of = f" on {size(one.volume_bytes)}" if one.volume_bytes is not None else ""
    return f"broker {one.broker} {one.log_dir}{of}: {before}, then {after}"


def move_lines(moves: Iterable[tuple[PlannedDirMove, str]]) -> Iterator[str]:
    """`orders-0 on broker 3  /d/1 → /d/2  50.0 MB  batch 1  done  /d/1 is to be emptied`"""
    for move, state in moves:
        name = f"{move.topic}-{move.partition} on broker {move.broker}"
        where = f"{move.from_log_dir} → {move.to_log_dir}"
        parts = (name, where, size(move.bytes), f"batch {move.batch}", state, move.reason)
        yield "  ".join(part for part in parts if part)
