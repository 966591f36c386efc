"""Format, version of the product and time stand in every table; a table of a newer format is refused."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.support.product_version import product_version

pytestmark = pytest.mark.gate

AT = 1_763_700_000_000
EVENT = {"at": AT, "event": "controller.started", "epoch": 1, "server": 1, "seq": 0}


def snapshot(path: Path) -> Path:
    with SnapshotWriter(path, AT) as writer:
        writer.brokers.extend((broker, None, "h", 1, 1000, 900, True) for broker in (1, 2))
        writer.log_dirs.extend((1, f"/data/{n}", True, n, 500, 450) for n in (0, 1))
        writer.partitions.extend(("t", n, [1], 1, [1], [], [], 10, None, None) for n in range(4))
        writer.replicas.extend(("t", n, 1, 10, "/data/0", False) for n in range(4))
        writer.finish(SnapshotMeta("c", AT))
    return path


def tables(directory: Path) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    for file in sorted(directory.rglob("*.parquet")):
        if file.is_file():
            said = pq.read_metadata(file).metadata or {}
            keys = (f"kafka-reassign.{name}".encode() for name in ("format", "version", "at"))
            told = tuple(said[key].decode() if key in said else None for key in keys)
            yield str(file.relative_to(directory)), told


def test_dp_1_every_table_that_is_written_says_its_format_the_version_of_the_product_and_its_time(
    tmp_path: Path, spark: SparkSession, shared: None
) -> None:
    taken = snapshot(tmp_path / "snapshots")
    plan_job.run_here(PlanJob(taken, tmp_path / "plan", Goal(GoalKind.DRAIN, (1,))))
    assert main(["plan", "disks", "--snapshot", str(taken), "--out", str(tmp_path / "disks")]) == 0
    assert main(["audit", "--snapshots", str(taken), "--out", str(tmp_path / "audit")]) == 0
    (tmp_path / "events").mkdir()
    log = tmp_path / "events" / "events-1-000-000000000000-000000000000.parquet"
    with parquet_files.TableWriter(log, event_files.EVENTS, at=AT) as writer:
        writer.add(event_files.to_row(EVENT))
    assert main(["history", "--events", str(log.parent), "--out", str(tmp_path / "history")]) == 0
    found = dict(tables(tmp_path))
    assert {name.split("/")[0] for name in found} == {"snapshots", "plan", "disks", "audit", "history", "events"}
    assert set(found.values()) == {("1", product_version(), str(AT))}
    assert snapshot_files.count_partitions(taken) == 4


@pytest.mark.parametrize(("told", "shown"), [(b"2", "2"), (b"9" * 40, "9" * 40)])
def test_dp_1_a_table_of_a_newer_format_is_refused_with_one_line(
    told: bytes, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = snapshot(tmp_path / "snapshot")
    file = taken / "brokers.parquet"
    table = pq.read_table(file)
    newer = {b"kafka-reassign.format": told, b"kafka-reassign.version": b"9.0"}
    pq.write_table(table.replace_schema_metadata(newer), file)
    assert main(["plan", "heal", "--snapshot", str(taken), "--out", str(tmp_path / "plan")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(
        f"{file}: its format is {shown}, this release reads 1: kafka-reassign-rpc 9.0 has written it, and can read it"
    )


@pytest.mark.parametrize("told", [b"\xff", b"", b"0", b"one\nline"])
def test_dp_1_of_a_format_that_cannot_be_read_no_release_is_said_to_read_it(told: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    metadata = {b"kafka-reassign.format": told, b"kafka-reassign.version": b"9.0"}
    pq.write_table(pa.table({"topic": ["t"]}).replace_schema_metadata(metadata), file)
    with pytest.raises(BadInput, match=r"its format is no number [(].*another program has, or the file is damaged$"):
        parquet_files.check(file, pa.schema([pa.field("topic", pa.string())]))


def test_dp_1_a_table_without_a_stamp_is_of_the_first_format(tmp_path: Path) -> None:
    """So are those of earlier releases, and those that others make."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"topic": ["t"]}), file)
    assert parquet_files.check(file, pa.schema([pa.field("topic", pa.string())])) == 1
