"""A plan on disk.

    summary.json                     what it is for, what it costs, how the brokers stand before and after:
    `PlanSummary`
    moves/                           Parquet, one row for each partition that moves, in the order of the batches
    left_out/                        Parquet, one row for each partition that the goal concerns and that cannot move
    batches/batch-0001.json          what kafka-reassign-partitions takes; "expected_replicas" is what stood there
    rollback/rollback-0001.json      takes batch-0001 back; to take back everything: the highest number first

The directory appears when all of it is written, and only then.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.support.atomic_files import AtomicDirectory

VERSION = 1
SUMMARY, MOVES, LEFT_OUT, BATCHES, ROLLBACK = "summary.json", "moves", "left_out", "batches", "rollback"

_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))
MOVES_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("from_replicas", _IDS, nullable=False),
        pa.field("to_replicas", _IDS, nullable=False),
        pa.field("leader", pa.int32(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("batch", pa.int32(), nullable=False),
        pa.field("priority", pa.int32(), nullable=False),
    ]
)
"""`bytes`: what is copied, over all new replicas. `rule`: the hard rule that forced the move or the soft goal that
allowed it. `leader`: who led it in the snapshot, -1 for nobody. `priority`: 0 goes first."""

LEFT_OUT_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("replicas", _IDS, nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)


class LoadFigures(msgspec.Struct, frozen=True):
    """What lies on a broker: bytes and produced bytes/s of all its replicas; partitions of which it is the preferred
    leader, and the bytes/s that are fetched from these."""

    bytes: float = 0
    replicas: float = 0
    leaders: float = 0
    produce: float = 0
    fetch: float = 0


class BrokerFigures(msgspec.Struct, frozen=True):
    """One broker. `target`: its share of what there is; zero for a broker that shall hold nothing."""

    broker: int
    rack: str | None
    live: bool
    capacity: int | None
    before: LoadFigures
    after: LoadFigures
    target: LoadFigures


class RackFigures(msgspec.Struct, frozen=True):
    """One rack: the sums over its brokers."""

    rack: str | None
    brokers: int
    before: LoadFigures
    after: LoadFigures


class BatchFigures(msgspec.Struct, frozen=True):
    """One batch. received, sent: bytes by broker. starts, seconds: at the summary's bandwidth."""

    batch: int
    priority: int
    moves: int
    bytes: int
    received: dict[int, int]
    sent: dict[int, int]
    starts: float
    seconds: float


class LeftOutFigures(msgspec.Struct, frozen=True):
    """How many partitions are left out for a reason, and the first of them."""

    reason: str
    partitions: int
    first: list[str]


class PlanInput(msgspec.Struct, frozen=True):
    """What was asked for."""

    brokers: list[int]
    topics: list[str]
    factor: int | None
    seed: int
    tolerance: float
    headroom: float
    max_bytes: int
    weights: dict[str, float]
    moves_per_broker: int
    bytes_per_broker: int
    bytes_per_batch: int
    moves_per_batch: int


class PlanSummary(msgspec.Struct, frozen=True):
    """summary.json. Sizes in bytes, rates and `bandwidth` (of each broker, each way) in bytes/s, times in seconds.

    at                of the snapshot, ms since 1970 began
    lower_bound       bytes that no plan can do without that comes as far as this one
    imbalance_…       by measure: the worst broker's distance from its target, as a share of that
    """

    kind: str
    cluster_id: str
    at: int
    given: PlanInput
    partitions: int
    moves: int
    bytes: int
    lower_bound: int
    unknown_sizes: int
    rounds: int
    imbalance_before: dict[str, float]
    imbalance_after: dict[str, float]
    brokers: list[BrokerFigures]
    racks: list[RackFigures]
    batches: list[BatchFigures]
    left_out: list[LeftOutFigures]
    notes: list[str]
    bandwidth: int
    eta: float
    version: int = VERSION


class PlanWriter:
    """Writes a plan beside its place and moves it there at the end; a block that fails leaves nothing."""

    def __init__(self, path: Path) -> None:
        require_free(path)
        self._directory = AtomicDirectory(path)
        self.hidden = self._directory.hidden
        for name in (BATCHES, ROLLBACK):
            (self.hidden / name).mkdir()
        self.moves = DirectoryWriter(self.hidden / MOVES, MOVES_SCHEMA)
        self.left_out = DirectoryWriter(self.hidden / LEFT_OUT, LEFT_OUT_SCHEMA)

    def batch(self, number: int, moves: list[tuple[str, int, tuple[int, ...], tuple[int, ...]]]) -> None:
        """A batch and its rollback; each move: topic, partition, from, to."""
        there = [_entry(topic, partition, to, origin) for topic, partition, origin, to in moves]
        back = [_entry(topic, partition, origin, to) for topic, partition, origin, to in reversed(moves)]
        _write(self.hidden / BATCHES / f"batch-{number:04d}.json", {"version": 1, "partitions": there})
        _write(self.hidden / ROLLBACK / f"rollback-{number:04d}.json", {"version": 1, "partitions": back})

    def summarise(self, summary: PlanSummary) -> None:
        """The rows are there: write the summary; what `hidden` holds is a plan then."""
        self.moves.close()
        self.left_out.close()
        _write(self.hidden / SUMMARY, summary)

    def publish(self) -> None:
        os.sync()  # once for thousands of small files
        self._directory.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._directory.is_published:
            self.moves.discard()
            self.left_out.discard()
            self._directory.discard()


def _entry(topic: str, partition: int, replicas: tuple[int, ...], expected: tuple[int, ...]) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "replicas": replicas, "expected_replicas": expected}


def _write(file: Path, value: object) -> None:
    encoded = msgspec.json.encode(value)
    file.write_bytes(msgspec.json.format(encoded, indent=1 if file.name == SUMMARY else 0) + b"\n")


def require_free(path: Path) -> None:
    """Raises BadInput where a plan would overwrite something."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(f"{path}: is there already; give a directory that does not exist or is empty")


def measured(summary: PlanSummary) -> dict[str, float]:
    """imbalance_before of what there is anything of: rates are often not known."""
    return {
        name: before
        for name, before in summary.imbalance_before.items()
        if any(getattr(broker.before, name) for broker in summary.brokers)
    }


def read_summary(path: Path) -> PlanSummary:
    """Raises BadInput."""
    file = path / SUMMARY
    try:
        found = msgspec.json.decode(file.read_bytes(), type=PlanSummary)
    except FileNotFoundError:
        raise BadInput(f"{path}: no plan ({SUMMARY} is missing)") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{file}: {error}") from None
    if found.version != VERSION:
        raise BadInput(f"{file}: version {found.version}; this release reads version {VERSION}")
    return found


def check(path: Path) -> PlanSummary:
    """Summary and footers, before a job starts. Raises BadInput."""
    summary = read_summary(path)
    parquet_files.check(path / MOVES, MOVES_SCHEMA)
    parquet_files.check(path / LEFT_OUT, LEFT_OUT_SCHEMA)
    return summary
