"""Audits and histories do not depend on the order of rows, on how many files hold them, nor on Spark's tasks.

Floats that are added in another order differ in their last digits, and rows that are equal in what a table is sorted by
come in any order. So the clusters here have sizes that do not add up exactly, and many ties.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from tests.pipeline.test_audit import event
from tests.pipeline.test_export import run

pytestmark = [pytest.mark.gate, pytest.mark.usefixtures("shared")]

BROKERS = 9
PARTITIONS = 75
TIMES = (60_000, 120_000)


class Layout(NamedTuple):
    """How the same rows are given to Spark.

    order   of rows: another number, another order
    files   of each table; tasks: of a shuffle
    """

    order: int
    files: int
    tasks: int

    def file_rows(self, rows: int) -> int:
        """Of each file but the last."""
        return -(-rows // self.files)

    def shuffled(self, rows: list[Any]) -> list[Any]:
        return random.Random(self.order).sample(rows, len(rows))


ONE, OTHER = Layout(order=1, files=1, tasks=1), Layout(order=2, files=3, tasks=2)


@contextmanager
def in_layout(spark: SparkSession, layout: Layout) -> Iterator[None]:
    """Spark reads each file in a task of its own."""
    chosen = {
        "spark.sql.shuffle.partitions": str(layout.tasks),
        "spark.sql.files.openCostInBytes": str(2**20),
        "spark.sql.files.maxPartitionBytes": str(2**20),
    }
    before = {name: spark.conf.get(name) for name in chosen}
    try:
        for name, value in chosen.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, former in before.items():
            spark.conf.set(name, str(former))


def files_of(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


# -- an audit ----------------------------------------------------------------------------------------------------------


def partition_rows(number: int) -> list[tuple[Any, ...]]:
    """Of snapshot `number`. Brokers 1 and 2 hold the same, and more than any other: they are equally full."""
    chance = random.Random(7)
    rows: list[tuple[Any, ...]] = []
    for index in range(PARTITIONS):
        pair, other = [1, 2], chance.randrange(3, BROKERS + 1)
        replicas = [*pair, other] if index % 2 else [other, 3 + (other - 2) % (BROKERS - 2)]
        if number and index % 5 == 0:
            replicas.append(next(broker for broker in range(3, BROKERS + 1) if broker not in replicas))
        isr = replicas[: 1 + index % 3]
        rows.append((f"t{index % 7}", index, replicas, isr[0], isr, [], [], chance.randrange(10**12), None, None))
    return rows


def write_snapshots(directory: Path, layout: Layout) -> Path:
    for number, at in enumerate(TIMES):
        with SnapshotWriter(directory / f"s{number}") as writer:
            writer.partitions._file_rows = layout.file_rows(PARTITIONS)
            brokers = [(one, "abc"[one % 3], "h", 1, None, None, True) for one in range(1, BROKERS + 1)]
            writer.brokers.extend(layout.shuffled(brokers))
            writer.partitions.extend(layout.shuffled(partition_rows(number)))
            writer.finish(SnapshotMeta("c1", at))
    return directory


def requests() -> list[dict[str, Any]]:
    """Each change of a replication factor was asked for twice in the same breath, by two servers."""
    found = []
    for row in partition_rows(1):
        for server in (1000, 1001):
            more = {"topic": row[0], "partition": row[1], "original": row[2][:-1], "target": row[2]}
            asked = event(2 * row[1], "move.started", TIMES[0] + row[1], who=f"User:{server}", **more)
            found.append(asked | {"server": server})
    return found


def write_events(directory: Path, events: list[dict[str, Any]], layout: Layout) -> Path:
    directory.mkdir()
    rows = layout.shuffled(events)
    size = layout.file_rows(len(rows))
    for number in range(0, len(rows), size):
        name = f"events-1000-000-{number:012d}-{number + size - 1:012d}.parquet"
        with parquet_files.TableWriter(directory / name, event_files.EVENTS) as writer:
            writer.extend(map(event_files.to_row, rows[number : number + size]))
    return directory


def audited(spark: SparkSession, directory: Path, layout: Layout) -> tuple[str, dict[str, bytes]]:
    directory.mkdir()
    snapshots = write_snapshots(directory / "snapshots", layout)
    events = write_events(directory / "events", requests(), layout)
    with in_layout(spark, layout):
        code, said, error = run(
            "audit", "--snapshots", str(snapshots), "--events", str(events), "--out", str(directory / "out")
        )
    assert code == 3, error
    return said, files_of(directory / "out")


# -- a history ---------------------------------------------------------------------------------------------------------


def moves() -> list[dict[str, Any]]:
    """Moves that begin and stall alike, that wait and are throttled for odd times, and refusals that occur alike."""
    chance = random.Random(5)
    found: list[dict[str, Any]] = []

    def add(name: str, at: int, **more: Any) -> None:
        found.append(event(len(found), name, at, **more))

    add("throttle.set", 1_000, broker=2, bytes=10**9)
    for index in range(60):
        of_move: dict[str, Any] = {"topic": f"t{index % 4}", "partition": index, "original": [1, 3], "target": [2, 3]}
        began = 1_000 + 7 * (index % 10)
        add("move.waiting", began - chance.randrange(1_000), route="queue", who=f"User:{index}", **of_move)
        add("move.started", began, route="queue", who=f"User:{index}", id=index, **of_move)
        add("move.stalled", began + 100, reason="slow", **of_move)
        add("move.resumed", began + 300, **of_move)
        ended = began + 301 + chance.randrange(5_000)
        add("move.completed", ended, copied=chance.randrange(10**12), **of_move)
        for one in ("first", "second"):  # two that begin and end in the same ms
            add("move.started", ended, route="rpc", who=f"User:{one}", **of_move)
            add("move.completed", ended, copied=0, **of_move)
    add("throttle.restored", 5_003, broker=2)
    for reason in ("no", "never"):
        for name in ("move.refused", "entry.refused"):
            add(name, 9_000, reason=reason, topic="t1", partition=1)
    return found


def told(spark: SparkSession, directory: Path, layout: Layout) -> tuple[str, dict[str, bytes]]:
    directory.mkdir()
    events = write_events(directory / "events", moves(), layout)
    snapshot = write_snapshots(directory / "snapshots", layout) / "s0"
    with in_layout(spark, layout):
        code, said, error = run(
            "history", "--events", str(events), "--snapshot", str(snapshot), "--out", str(directory / "out")
        )
    assert code == 0, error
    return said, files_of(directory / "out")


@pytest.mark.parametrize("job", [audited, told], ids=["audit", "history"])
def test_dp_5_an_audit_and_a_history_are_the_same_bytes_whatever_the_order_of_rows_and_the_number_of_tasks(
    spark: SparkSession, tmp_path: Path, job: Callable[[SparkSession, Path, Layout], tuple[str, dict[str, bytes]]]
) -> None:
    said, files = job(spark, tmp_path / "one", ONE)
    said_other, files_other = job(spark, tmp_path / "other", OTHER)
    assert len(files) >= 6
    assert said_other == said
    assert sorted(files_other) == sorted(files)
    assert [name for name in files if files_other[name] != files[name]] == []
