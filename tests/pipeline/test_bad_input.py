"""Unusable input, by command: the message names file or rows, and no half-written output remains.

`test_submit` has plans that no longer fit the cluster, and topics that were deleted meanwhile.
"""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans import plan_summary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from kafka_reassign_rpc.pipeline.spark_session import spark_errors_as_job_failed
from tests.pipeline.conftest import use_session
from tests.pipeline.test_audit import write_snapshot
from tests.pipeline.test_export import run

pytestmark = [pytest.mark.gate, pytest.mark.usefixtures("shared")]

FAULTY_PARTITIONS = [
    ("t", 0, [1, 2], 1, [1, 2], [], [], 10, None, None),
    ("t", 1, [5, 2], 2, [2], [], [], None, None, None),  # its size is not known
    ("t", 2, [1, 5, 3], 1, [1, 3], [3], [5], 10, None, None),  # it moves
    ("t", 3, [9, 1], 1, [1], [], [], 10, None, None),  # the snapshot does not list broker 9
    ("u", 0, [2, 5, 1, 3, 4], 1, [1, 2, 3, 4], [], [], 10, None, None),  # five replicas, four live brokers
]


def write_faulty_snapshot(path: Path, cluster: str = "c1") -> Path:
    """Broker 4 has no rack, broker 5 is dead; see the rows above."""
    with SnapshotWriter(path) as writer:
        racks = {1: "a", 2: "b", 3: "c", 4: None, 5: "a"}
        writer.brokers.extend((broker, rack, "h", 1, None, None, broker != 5) for broker, rack in racks.items())
        writer.partitions.extend(FAULTY_PARTITIONS)
        writer.finish(SnapshotMeta(cluster, 5))
    return path


class PlannedByCommand(NamedTuple):
    """A plan, and what the command printed."""

    plan: Path
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def faulty_plan(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PlannedByCommand:
    """The plan that heals the faulty snapshot. Tests read it and never change it."""
    directory = tmp_path_factory.mktemp("faulty")
    path, plan = write_faulty_snapshot(directory / "snapshot"), directory / "plan"
    with pytest.MonkeyPatch.context() as patch:
        use_session(spark, patch)
        return PlannedByCommand(plan, *run("plan", "heal", "--snapshot", str(path), "--out", str(plan)))


def test_dp_2_a_plan_names_rows_with_missing_data_and_partitions_that_cannot_move_and_moves_the_rest(
    faulty_plan: PlannedByCommand,
) -> None:
    plan, code, out, err = faulty_plan

    assert code == 4, err
    assert out.startswith(f"{plan}: incomplete: broker 5 keeps 2 replicas, 1 partition is left out\n{plan}: 2 of 5")
    for line in (
        "note: 1 of 5 partitions has no known size: the plan assumes 10 bytes for each, the mean of the others",
        "note: no size is known of t-1",
        "note: broker 4 has no rack: the plan takes it for one more rack",
        "note: broker 9 holds replicas, but the snapshot does not list it: the plan takes it for lost (t-3)",
        "left out: 1 partition, 10 B: its reassignment, in flight or waiting, does that already (t-2)",
        "left out: 1 partition, 10 B: replication factor 5 is larger than the 4 brokers that can hold a replica (u-0)",
    ):
        assert line in err.splitlines(), (line, err)
    assert "2 of 5 partitions move" in out
    assert {one.first[0] for one in plan_summary.read_summary(plan).left_out} == {"t-2", "u-0"}


def _truncated(path: Path) -> None:
    part = snapshot_files.table_path(path, "partitions") / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-20])


def _torn(path: Path) -> None:
    """Its footer is whole, its pages are not."""
    part = snapshot_files.table_path(path, "partitions") / "part-00000.parquet"
    data = part.read_bytes()
    part.write_bytes(data[:4] + bytes(300) + data[304:])


def _nothing(_: Path) -> None: ...


HEAL = ("plan", "heal")
FIVE = ("plan", "set-rf", "--replication-factor", "5", "--topics", "t")
BAD: list[tuple[str, Callable[[Path], None], tuple[str, ...], int, str]] = [
    ("truncated", _truncated, HEAL, 2, "snapshot/partitions/part-00000.parquet: not a readable Parquet file"),
    ("torn", _torn, HEAL, 2, "snapshot/partitions/part-00000.parquet"),
    ("factor", _nothing, FIVE, 2, "the replication factor 5 is larger than the 4 live brokers"),
    ("dead", _nothing, ("plan", "expand", "--brokers", "5"), 2, "expand: broker 5 is not live"),
    ("unknown", _nothing, ("plan", "drain", "--brokers", "7"), 2, "drain: the snapshot has no broker 7"),
    ("topic", _nothing, ("plan", "rebalance", "--topics", "t,nope,none"), 2, "the snapshot has no topics none, nope"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "arguments", "exit_code", "saying"), [one[1:] for one in BAD], ids=[b[0] for b in BAD]
)
def test_dp_2_a_snapshot_or_a_goal_that_cannot_be_used_is_one_line_and_no_plan(
    tmp_path: Path, spoil: Callable[[Path], None], arguments: tuple[str, ...], exit_code: int, saying: str
) -> None:
    path = write_faulty_snapshot(tmp_path / "snapshot")
    spoil(path)
    code, out, err = run(*arguments, "--snapshot", str(path), "--out", str(tmp_path / "plan"))
    assert (code, out) == (exit_code, ""), err
    last = err.splitlines()[-1]
    assert last.startswith("kafka-reassign-rpc plan: ")
    assert saying in last
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot"], "nothing is left"


def test_dp_6_an_error_of_python_in_a_task_of_spark_is_named(spark: SparkSession) -> None:
    with pytest.raises(JobFailed, match=r"^Spark failed: ZeroDivisionError: [^\n]*zero$"), spark_errors_as_job_failed():
        spark.sparkContext.range(1).map(lambda number: 1 // number).collect()


def test_dp_3_a_plan_is_verified_against_its_own_snapshot_only(tmp_path: Path, faulty_plan: PlannedByCommand) -> None:
    other, plan = write_faulty_snapshot(tmp_path / "other", "c2"), faulty_plan.plan
    code, out, err = run("plan", "verify", "--snapshot", str(other), "--plan", str(plan))
    assert (code, out) == (2, "")
    assert err == (f"kafka-reassign-rpc plan: {plan}: was made from another snapshot than {other} (cluster c1)\n")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("master", "exit_code"), [(NO_SPARK, 2), ("local[2]", 1)])
def test_dp_5_snapshots_that_cannot_be_read_to_their_end_are_named_by_an_audit_and_nothing_is_written(
    master: str, exit_code: int, tmp_path: Path
) -> None:
    """A task of Spark finds it late."""
    partitions = [("t", number, [1, 2], [1, 2]) for number in range(200)]
    path = write_snapshot(tmp_path / "snaps" / "one", 5, partitions)
    _torn(path)
    out_to = str(tmp_path / "audit")
    code, out, err = run("audit", "--snapshots", str(tmp_path / "snaps"), "--out", out_to, "--master", master)
    assert (code, out) == (exit_code, "")
    assert "one/partitions/part-00000.parquet" in err.splitlines()[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["snaps"]


@contextmanager
def limited(size: int) -> Iterator[None]:
    """No file of this process grows further than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("limit", [10, 1500], ids=["first_file", "later_file"])
def test_dp_5_an_audit_onto_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path, limit: int) -> None:
    snapshot = write_snapshot(tmp_path / "snapshot", 5, [("t", 0, [1, 2, 3], [1, 2, 3])])
    with limited(limit):
        code, _, err = run("audit", "--snapshot", str(snapshot), "--out", str(tmp_path / "audit"))
    assert code == 1
    assert err.splitlines()[-1].startswith("kafka-reassign-rpc audit: ")
    assert err.lower().endswith("file too large\n")
    assert list(tmp_path.iterdir()) == [snapshot]
