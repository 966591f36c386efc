"""Rows that no cluster shows mean the same to the planner and to the verifier."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline.planning.plan_input import read_brokers
from kafka_reassign_rpc.pipeline.planning.verify_room import broker_spaces, still_coming
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import disk_notes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN
from tests.pipeline.plans import write_full_plan
from tests.planner.clusters import QUICK, random_cluster
from tests.planner.column_plans import make_plan
from tests.tables import for_each

FINE = {"replicas": [1, 2], "isr": [1, 2], "adding": [], "removing": [], "bytes": 10}
ODD: list[tuple[dict[str, Any], str]] = [
    ({"bytes": -1}, "t-1 has -1 bytes"),
    ({"bytes": -7}, "t-1 has -7 bytes"),
    ({"replicas": [1, None]}, "t-1 has a null in replicas: [1, None]"),
    ({"isr": [None]}, "t-1 has a null in isr: [None]"),
    ({"adding": [None]}, "t-1 has a null in adding: [None]"),
    ({"removing": [3, None]}, "t-1 has a null in removing: [3, None]"),
    ({"replicas": [1, -1]}, "t-1 has a broker below 0 in [1, -1]"),
    ({"adding": [-3]}, "t-1 has a broker below 0 in [-3]"),
]


def write(path: Path, *disks: tuple[int | None, int | None], **odd: Any) -> Path:
    sizes = dict(enumerate(disks, 1))
    with SnapshotWriter(path) as writer:
        for broker in (1, 2, 3):
            writer.brokers.add((broker, None, "h", 1, *sizes.get(broker, (None, None)), True))
        for index in (0, 1):
            lists = (FINE["replicas"], 1, FINE["isr"], FINE["adding"], FINE["removing"])
            writer.partitions.add(("t", index, *lists, FINE["bytes"], None, None))
        writer.finish(SnapshotMeta("c", 5))
    if odd:  # as another program may write it: the product's writer refuses nulls
        (file,) = snapshot_files.table_path(path, "partitions").iterdir()
        table = pq.read_table(file)
        for name, value in odd.items():
            kind = pa.list_(pa.int32()) if isinstance(value, list) else pa.int64()
            place = table.schema.get_field_index(name)
            table = table.set_column(place, pa.field(name, kind), pa.array([FINE[name], value], kind))
        pq.write_table(table, file)
    return path


@for_each(("odd", "said"), ODD, ids=[said for _, said in ODD])
def test_dp_2_planner_and_verifier_refuse_an_odd_row_with_the_same_words(
    odd: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / said
    place.mkdir()
    path, plan = write(place / "odd", **odd), write_full_plan(place / "plan", cluster_id="c", at=5)
    for arguments in (
        ["drain", "--brokers", "1", "--out", str(place / "another")],
        ["disks", "--out", str(place / "disks")],
        ["verify", "--plan", str(plan)],
    ):
        assert main(["plan", *arguments, "--snapshot", str(path)]) == 2, arguments
        assert said in capsys.readouterr().err, arguments


@pytest.mark.parametrize("goal", [["heal"], ["drain", "--brokers", "1"], ["rebalance"]], ids=lambda goal: goal[0])
@pytest.mark.parametrize(
    "odd", [{"adding": [3, 3]}, {"replicas": [1, 77]}], ids=["a broker joins twice", "its broker is not listed"]
)
def test_dp_2_planner_and_verifier_take_an_odd_row_for_the_same(
    odd: dict[str, Any], goal: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "odd", (10_000, 5_000), (10_000, 5_000), (10_000, 5_000), **odd)
    code = main(["plan", *goal, "--snapshot", str(path), "--out", str(tmp_path / "plan"), "--master", "none"])
    assert code != 1, capsys.readouterr().err


def test_dp_2_text_that_is_no_utf_8_is_named_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "odd", bytes=10)
    (file,) = snapshot_files.table_path(path, "partitions").iterdir()
    table = pq.read_table(file)
    topics = pa.array([b"\xff", b"t"], pa.binary()).view(pa.string())
    pq.write_table(table.set_column(0, pa.field("topic", pa.string()), topics), file)
    arguments = ["--snapshot", str(path), "--master", "none"]
    assert main(["plan", "rebalance", "--out", str(tmp_path / "plan"), *arguments]) == 2
    assert f"{file}: cannot be read to its end: In column 0: Invalid: Invalid UTF8" in capsys.readouterr().err


def test_dp_2_a_broker_that_occurs_twice_is_named_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "all" / "odd"
    path.parent.mkdir()
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 1))
        writer.log_dirs.extend((broker, "/d", True, None, None, None) for broker in (1, 2))
        writer.partitions.add(("t", 0, [1], 1, [1], [], [], 10, None, None))
        writer.finish(SnapshotMeta("c", 5))
    for arguments in (
        ["plan", "rebalance", "--snapshot", str(path), "--out", str(tmp_path / "plan"), "--master", "none"],
        ["plan", "disks", "--snapshot", str(path), "--out", str(tmp_path / "disks")],
        ["audit", "--snapshots", str(tmp_path / "all"), "--master", "none"],
    ):
        assert main(arguments) == 2, arguments
        assert "broker 1 occurs twice" in capsys.readouterr().err, arguments


def test_dp_2_a_disk_of_which_only_the_free_bytes_are_told_is_unknown_to_planner_and_verifier(tmp_path: Path) -> None:
    path = write(tmp_path / "snapshot", (100, 90), (None, 5), (100, None))
    known = read_brokers(path)
    assert [(known[n].capacity, known[n].free) for n in (1, 2, 3)] == [(100, 90), (UNKNOWN, UNKNOWN), (100, UNKNOWN)]
    assert {*broker_spaces(path, 0.05, still_coming(path))} == {1, 3}
    assert disk_notes(path) == [
        "broker 2 tells 5 bytes free, and not of how many: the plan takes the size of its disks as not known"
    ]


def test_dp_13_a_weight_that_is_asked_for_and_changes_nothing_is_named() -> None:
    cluster = random_cluster(3, 3, 12)
    asked = PlanOptions(weights=GoalWeights(cpu=1, fetch=2), effort=QUICK.effort)
    told = [note for note in make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), asked).summary.notes if "weight" in note]
    assert told == ["--weight cpu=1 changes nothing: the snapshot has no such rate (`export --rates`)"]
    usual = make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), QUICK)
    assert not any("--weight" in note for note in usual.summary.notes)
