"""What each log dir of a snapshot holds and should hold as in `plan disks`, and what would help."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.disks.disk_snapshot import DiskSnapshot
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import REPLICAS
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.brokers.broker_targets import is_within
from kafka_reassign_rpc.planner.disks.disk_room import open_volumes, set_targets
from kafka_reassign_rpc.planner.disks.disk_values import BrokerDisks, DiskDir, DiskGoal, DiskReplica

FAILED, CORDONED, OPEN = "failed", "cordoned", "open"
_SHOWN = {FAILED: 0, CORDONED: 1, OPEN: 2}
_READ = pa.schema([REPLICAS.field(name) for name in ("broker", "log_dir", "bytes", "future")])


class LogDirRow(NamedTuple):
    """docs/results.md explains the columns. `unknown` counts replicas of unknown size."""

    broker: int
    log_dir: str
    state: str
    bytes: int
    replicas: int
    unknown: int
    capacity: int | None
    free: int | None
    even_bytes: int | None
    distance: float | None
    advice: str


LOG_DIR_SCHEMA = pa.schema([
    pa.field("broker", pa.int32()),
    pa.field("log_dir", pa.string()),
    pa.field("state", pa.string()),
    *(pa.field(name, pa.int64()) for name in ("bytes", "replicas", "unknown", "capacity", "free", "even_bytes")),
    pa.field("distance", pa.float64()),
    pa.field("advice", pa.string()),
])  # fmt: skip


class _Held(NamedTuple):
    bytes: int
    replicas: int
    unknown: int


_NOTHING = _Held(0, 0, 0)


def log_dir_rows(path: StorePath) -> list[LogDirRow]:
    """Failed ones come first, then cordoned, then by distance; brokers that do not tell theirs are absent. Raises
    BadInput.
    """
    held = _held(path)
    rows = [row for broker, dirs in DiskSnapshot(path).dirs.items() for row in _rows(broker, dirs, held)]
    return sorted(rows, key=lambda row: (_SHOWN[row.state], -abs(row.distance or 0.0), row.broker, row.log_dir))


def _held(path: StorePath) -> dict[tuple[int, str], _Held]:
    found: dict[tuple[int, str], _Held] = {}
    for batch in parquet_files.record_batches(snapshot_files.table_path(path, "replicas"), _READ):
        table = pa.Table.from_batches([batch])
        there = table.filter(pc.and_(pc.invert(table["future"]), pc.is_valid(table["log_dir"])))
        sums = there.group_by(["broker", "log_dir"]).aggregate(
            [("bytes", "sum"), ("bytes", "count"), ("future", "count")]
        )
        for row in sums.to_pylist():
            place = row["broker"], row["log_dir"]
            known, count = found.get(place, _NOTHING), row["future_count"]
            size, unknown = row["bytes_sum"] or 0, count - row["bytes_count"]
            found[place] = _Held(known.bytes + size, known.replicas + count, known.unknown + unknown)
    return found


def _rows(broker: int, dirs: tuple[DiskDir, ...], held: Mapping[tuple[int, str], _Held]) -> Iterator[LogDirRow]:
    sums = {one.path: held.get((broker, one.path), _NOTHING) for one in dirs}
    whole = tuple(DiskReplica("", 0, found.bytes, path) for path, found in sums.items())
    goal = DiskGoal()
    volumes = open_volumes(BrokerDisks(dirs, whole), goal)
    set_targets(volumes)
    is_uneven = any(not is_within(one.distance, goal.tolerance) for one in volumes)
    of_dir = {one.path: volume for volume in volumes for one in volume.dirs}
    for one in dirs:
        volume, state = of_dir.get(one.path), FAILED if not one.online else CORDONED if one.cordoned else OPEN
        size, free = (None if found < 0 else found for found in (one.size, one.free))
        even = None if volume is None else round(volume.target)
        distance = volume.excess / volume.target if volume is not None and volume.target else None
        advice = _advice(broker, one.path, state, sums[one.path], is_uneven=is_uneven)
        yield LogDirRow(broker, one.path, state, *sums[one.path], size, free, even, distance, advice)


def _advice(broker: int, path: str, state: str, held: _Held, *, is_uneven: bool) -> str:
    if state == FAILED:
        return f"a new disk, or plan drain --brokers {broker}"
    if state == CORDONED:
        return f"plan disks --empty {quote(f'{broker}:{path}')}" if held.replicas else ""
    return f"plan disks --brokers {broker}" if is_uneven else ""
