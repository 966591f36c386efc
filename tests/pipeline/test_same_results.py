"""Audits and histories do not depend on the order of rows, on how many files hold them, on Spark, nor on its tasks.

Floats that are added in another order differ in their last digits, and rows that are equal in what a table is sorted by
come in any order. So the clusters here have sizes that do not add up exactly, and many ties.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_reassign_rpc.pipeline import arrow_tasks, parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from tests.pipeline.test_audit import event
from tests.pipeline.test_export import run

pytestmark = [pytest.mark.gate, pytest.mark.usefixtures("shared")]

BROKERS = 9
PARTITIONS = 75
TIMES = (60_000, 120_000)


class Layout(NamedTuple):
    """How the same rows are given to a job.

    order   of rows: another number, another order
    files   of each table
    chunk   the most rows of a task; 0: without Spark
    """

    order: int
    files: int
    chunk: int

    @property
    def master(self) -> tuple[str, ...]:
        return ("--master", "local[2]" if self.chunk else NO_SPARK)

    def file_rows(self, rows: int) -> int:
        """Of each file but the last."""
        return -(-rows // self.files)

    def shuffled(self, rows: list[Any]) -> list[Any]:
        return random.Random(self.order).sample(rows, len(rows))


HERE, ONE, OTHER = Layout(order=1, files=1, chunk=0), Layout(order=3, files=2, chunk=10_000), Layout(2, 3, chunk=40)


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
        rows.append(
            (
                f"t{index % 7}",
                index,
                replicas,
                isr[0],
                isr,
                [],
                [],
                chance.randrange(10**12),
                chance.random() * 1e6,
                chance.random(),
            )
        )
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


def audited(directory: Path, layout: Layout) -> tuple[str, dict[str, bytes]]:
    directory.mkdir()
    snapshots = write_snapshots(directory / "snapshots", layout)
    events = write_events(directory / "events", requests(), layout)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arrow_tasks, "ROWS_IN_CHUNK", layout.chunk)
        code, said, error = run(
            "audit",
            "--snapshots",
            str(snapshots),
            "--events",
            str(events),
            "--out",
            str(directory / "out"),
            *layout.master,
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


def told(directory: Path, layout: Layout) -> tuple[str, dict[str, bytes]]:
    directory.mkdir()
    events = write_events(directory / "events", moves(), layout)
    snapshot = write_snapshots(directory / "snapshots", layout) / "s0"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arrow_tasks, "ROWS_IN_CHUNK", layout.chunk)
        code, said, error = run(
            "history",
            "--events",
            str(events),
            "--snapshot",
            str(snapshot),
            "--out",
            str(directory / "out"),
            *layout.master,
        )
    assert code == 0, error
    return said, files_of(directory / "out")


@pytest.mark.parametrize("job", [audited, told], ids=["audit", "history"])
def test_dp_5_an_audit_and_a_history_are_the_same_bytes_with_any_master_order_of_rows_and_number_of_tasks(
    tmp_path: Path, job: Callable[[Path, Layout], tuple[str, dict[str, bytes]]]
) -> None:
    said, files = job(tmp_path / "here", HERE)
    assert len(files) >= 6
    for name, layout in (("one", ONE), ("other", OTHER)):
        said_other, files_other = job(tmp_path / name, layout)
        assert said_other == said
        assert sorted(files_other) == sorted(files)
        assert [file for file in files if files_other[file] != files[file]] == []
