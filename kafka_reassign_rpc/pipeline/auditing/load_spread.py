"""How evenly the load lies on the brokers of a snapshot, compared with the targets that plans have; and what
each of their log dirs holds and should hold as in `plan disks`, and what would help.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import sqrt
from operator import itemgetter
from shlex import quote
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.disks.disk_snapshot import DiskSnapshot
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES as PLANNED
from kafka_reassign_rpc.planner.brokers.broker_targets import broker_shares, is_within
from kafka_reassign_rpc.planner.disks.disk_room import (
    BrokerDisks,
    DiskDir,
    DiskGoal,
    DiskReplica,
    open_volumes,
    set_targets,
)
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker

RATE_MEASURES = ("produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")
MEASURES = ("bytes", "leaders", "replicas", *RATE_MEASURES)
BrokerWeights = Mapping[int, Mapping[str, float]]
"""By broker and measure (`plan --broker-weights`)."""


class Spread(NamedTuple):
    """One measure over the live brokers of a snapshot. If each is at its target, `worst` is 1.0 and `deviation` 0.0.

    fullest      holds most for its target; among equals the lowest id
    target       what the fullest should hold
    worst        what it holds, as a multiple of that
    deviation    root of the mean square of all distances from targets, as shares of these
    """

    at: int
    measure: str
    brokers: int
    least: float
    most: float
    mean: float
    fullest: int
    target: float
    worst: float
    deviation: float


SPREAD_SCHEMA = pa.schema([
    pa.field("at", pa.int64()),
    pa.field("measure", pa.string()),
    pa.field("brokers", pa.int64()),
    *(pa.field(name, pa.float64()) for name in ("least", "most", "mean")),
    pa.field("fullest", pa.int32()),
    *(pa.field(name, pa.float64()) for name in ("target", "worst", "deviation")),
])  # fmt: skip


def spread_of_loads(brokers: Iterable[Any], weights: BrokerWeights | None = None) -> list[Spread]:
    """`brokers`: rows of `audit_job`'s table, by time."""
    live = [row for row in brokers if row["live"]]
    return [
        _of_measure(at, measure, {row["broker"]: row[measure] or 0 for row in rows}, targets[measure])
        for at, of_snapshot in groupby(live, itemgetter("at"))
        for rows in [list(of_snapshot)]
        for targets in [targets_of(rows, weights)]
        for measure in targets
    ]


def targets_of(live: Sequence[Any], weights: BrokerWeights | None = None) -> dict[str, dict[int, float]]:
    """By known measure and broker: the share that a plan would aim at, as far as racks allow it. `live`: of one
    snapshot.
    """
    brokers = [PlannerBroker(row["broker"], None, True, _or_unknown(row["capacity"])) for row in live]
    holdable = {row["broker"]: _or_unknown(row["holdable"]) for row in live}
    shares = dict(zip(PLANNED, broker_shares(brokers, holdable, weights or {}), strict=True))
    targets = {}
    for name in MEASURES:
        if name in RATE_MEASURES and all(row[name] is None for row in live):
            continue
        load, whole = sum(row[name] or 0 for row in live), sum(shares[name].values())
        targets[name] = {broker: load * share / whole for broker, share in shares[name].items()}
    return targets


def _or_unknown(size: int | None) -> int:
    return UNKNOWN if size is None else size


def _of_measure(at: int, measure: str, loads: Mapping[int, float], targets: Mapping[int, float]) -> Spread:
    values = sorted(loads.values())
    mean = sum(values) / len(values)
    parts = {broker: loads[broker] / target if target else 1.0 for broker, target in targets.items()}
    fullest = max(sorted(parts), key=parts.__getitem__)
    deviation = sqrt(sum((part - 1) ** 2 for part in parts.values()) / len(parts))
    ends = (float(values[0]), float(values[-1]), mean)
    return Spread(at, measure, len(values), *ends, fullest, targets[fullest], parts[fullest], deviation)


FAILED, CORDONED, OPEN = "failed", "cordoned", "open"
_SHOWN = {FAILED: 0, CORDONED: 1, OPEN: 2}


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
    for batch in snapshot_files.record_batches(path, "replicas", ("broker", "log_dir", "bytes", "future")):
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
