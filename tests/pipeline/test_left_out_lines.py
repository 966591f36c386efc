"""What a plan prints of the partitions that it leaves out: no line for each of them."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import LeftOutFigures, StayingFigures, read_summary
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

MB = 1_000_000
NO_ROOM = "no broker has room for it"


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """Four full brokers; 40 partitions of 1 to 40 MB. Every fourth is on brokers 1 and 2, the others on 1 and 3."""
    with SnapshotWriter(tmp_path / "full") as writer:
        writer.brokers.extend((broker, None, "h", 1, 1000 * MB, 0, True) for broker in (1, 2, 3, 4))
        for index in range(40):
            replicas = [1, 2] if index % 4 == 0 else [1, 3]
            writer.partitions.add(("t", index, replicas, 1, replicas, [], [], (index + 1) * MB, None, None))
        writer.finish(SnapshotMeta("c1", 5))
    return tmp_path / "full"


def test_dp_2_a_full_cluster_has_a_line_for_each_reason_and_broker_with_counts_and_bytes(
    full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = full.with_name("plan")
    where = ("--snapshot", str(full), "--out", str(out))
    assert main(["plan", "drain", "--brokers", "1,2", *where]) == 4
    told = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert told == [
        f"left out: 40 partitions, 820.0 MB: {NO_ROOM} (t-0, t-1, t-2, t-3, t-4, …)",
        "  40 replicas stay on broker 1, 820.0 MB",
        "  10 replicas stay on broker 2, 190.0 MB",
    ]
    [left] = read_summary(out).left_out
    staying = {1: StayingFigures(40, 820 * MB), 2: StayingFigures(10, 190 * MB)}
    assert left == LeftOutFigures(NO_ROOM, 40, left.first, 820 * MB, staying)
    rows = plan_writer.read_left_out(out).to_pylist()
    assert [(row["partition"], row["reason"], row["bytes"]) for row in rows] == [
        (index, NO_ROOM, (index + 1) * MB) for index in range(40)
    ]
    assert ">820.0 MB</td>" in (out / "report.html").read_text()
    assert main(["plan", "verify", "--snapshot", str(full), "--plan", str(out)]) == 0


def test_dp_2_one_broker_that_keeps_its_replicas_has_no_line_of_its_own(
    full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = full.with_name("plan")
    assert main(["plan", "drain", "--brokers", "2", "--snapshot", str(full), "--out", str(out)]) == 4
    said = capsys.readouterr()
    assert said.out.startswith(f"{out}: incomplete: broker 2 keeps 10 replicas, 10 partitions are left out\n")
    told = [line for line in said.err.splitlines() if not line.startswith("note: ")]
    assert told == [f"left out: 10 partitions, 190.0 MB: {NO_ROOM} (t-0, t-4, t-8, t-12, t-16, …)"]


def test_dp_2_where_several_brokers_keep_replicas_each_reason_names_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, 1000 * MB, 0, True) for broker in (1, 2, 3, 4))
        writer.partitions.add(("t", 0, [1, 3], 1, [1, 3], [], [], 5 * MB, None, None))
        writer.partitions.add(("t", 1, [2, 3], -1, [], [], [], 7 * MB, None, None))
        writer.finish(SnapshotMeta("c1", 5))
    where = ("--snapshot", str(tmp_path / "snapshot"), "--out", str(tmp_path / "plan"))
    assert main(["plan", "drain", "--brokers", "1,2", *where]) == 4
    assert [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")] == [
        f"left out: 1 partition, 5.0 MB: {NO_ROOM} (t-0)",
        "  1 replica stays on broker 1, 5.0 MB",
        "left out: 1 partition, 7.0 MB: no live replica is in sync: there is nothing to copy from (t-1)",
        "  1 replica stays on broker 2, 7.0 MB",
    ]
