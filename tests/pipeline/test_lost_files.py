"""A file that is lost from a snapshot or a plan of several is noticed by whoever reads it: rows would be missing."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.plans import plan_directory
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import BROKERS, META, SnapshotMeta
from kafka_reassign_rpc.pipeline.submission.submit_settings import ProgressOutput

pytestmark = pytest.mark.gate

AGAIN = "copy or export the snapshot again (who changes a table on purpose takes its rows out of meta.json)"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five partitions of three brokers, two rows in a file. Broker 1 has all of its replicas in one of two log dirs."""
    for module in (snapshot_files, plan_directory):
        monkeypatch.setattr(module, "DirectoryWriter", partial(DirectoryWriter, file_rows=2))
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.log_dirs.extend((1, path, True, place, 1000, 500) for place, path in enumerate(("/a", "/b")))
        writer.topics.add(("t", "id-of-t"))
        for index in range(5):
            writer.partitions.add(("t", index, [1, 2], 1, [1, 2], [], [], 10, None, None))
            writer.replicas.extend(("t", index, broker, 10, "/a", False) for broker in (1, 2))
        writer.finish(SnapshotMeta("c1", 5))
    return tmp_path / "snapshot"


LOST: list[tuple[str, str]] = [
    ("partitions/part-00000.parquet", "partitions: has 3 of 5 rows: a file of it is missing"),
    ("partitions/part-00002.parquet", "partitions: has 4 of 5 rows: a file of it is missing"),
    ("replicas/part-00004.parquet", "replicas: has 8 of 10 rows: a file of it is missing"),
    ("log_dirs.parquet", "log_dirs.parquet: is missing"),
    ("topics.parquet", "topics.parquet: is missing"),
]


@pytest.mark.parametrize(("name", "saying"), LOST, ids=[name for name, _ in LOST])
@pytest.mark.parametrize("command", ["plan", "audit"])
def test_dp_1_a_snapshot_that_has_lost_a_file_is_refused(
    command: str, name: str, saying: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path / name).unlink()
    out = str(path.with_name("out"))
    arguments = {
        "plan": ["plan", "drain", "--brokers", "1", "--snapshot", str(path), "--out", out],
        "audit": ["audit", "--snapshots", str(path), "--out", out],
    }
    assert main(arguments[command]) == 2
    said = capsys.readouterr().err
    assert f"{path}/{saying}" in said
    assert "has" not in saying or said.endswith(f"; {AGAIN}\n")


@pytest.mark.parametrize("kept", [2, 4], ids=["fewer", "more"])
def test_dp_1_a_table_of_one_file_that_was_changed_is_not_said_to_have_lost_a_file(kept: int, path: Path) -> None:
    file = path / "brokers.parquet"
    rows = pq.read_table(file).to_pylist()
    pq.write_table(pa.Table.from_pylist((rows * 2)[:kept], BROKERS), file)
    has = "2 of 3 rows" if kept == 2 else "4 rows in place of 3"
    with pytest.raises(BadInput, match=f"brokers.parquet: has {has}: it was changed, or is of another; copy or export"):
        snapshot_files.check(path)


def test_dp_5_an_audit_of_several_snapshots_says_which_has_lost_a_file_and_how_to_do_without_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old one cannot be exported again."""
    folder = path.with_name("several")
    shutil.copytree(path, folder / "whole")
    shutil.copytree(path, folder / "half")
    (folder / "half" / "replicas" / "part-00004.parquet").unlink()
    assert main(["audit", "--snapshots", str(folder)]) == 2
    said = capsys.readouterr().err
    assert f"{folder}/half/replicas: has 8 of 10 rows: a file of it is missing; {AGAIN}; or move half out of" in said
    assert said.endswith(f" out of {folder}, to do without it\n")


def test_dp_1_a_file_of_another_snapshot_in_its_folder_is_noticed(path: Path) -> None:
    shutil.copy(path / "partitions" / "part-00000.parquet", path / "partitions" / "part-00009.parquet")
    with pytest.raises(BadInput, match="partitions: has 7 rows in place of 5: a file is of another; copy or export"):
        snapshot_files.check(path)


def test_dp_1_a_snapshot_of_an_earlier_release_tells_no_rows_and_is_read(path: Path) -> None:
    written = json.loads((path / META).read_text())
    assert written.pop("rows") == {
        **{"brokers": 3, "log_dirs": 2, "topics": 1},
        **{"partitions": 5, "replicas": 10, "configs": 0},
    }
    (path / META).write_text(json.dumps(written))
    (path / "partitions" / "part-00002.parquet").unlink()
    assert snapshot_files.check(path).rows == {}
    assert snapshot_files.count_partitions(path) == 4


def _of_brokers(path: Path) -> Path:
    plan = path.with_name("plan")
    limit = ("--max-moves-per-batch", "2")
    assert main(["plan", "drain", "--brokers", "1", *limit, "--snapshot", str(path), "--out", str(plan)]) == 0
    return plan


def _of_disks(path: Path) -> Path:
    plan = path.with_name("plan")
    limit = ("--max-moves-per-batch", "2", "--empty", "1:/a")
    assert main(["plan", "disks", *limit, "--snapshot", str(path), "--out", str(plan)]) == 0
    return plan


@pytest.mark.parametrize("make", [_of_brokers, _of_disks])
def test_dp_2_a_plan_that_has_lost_moves_is_not_shown_as_if_it_were_whole(
    make: Callable[[Path], Path], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make(path)
    assert main(["plan", "show", str(plan)]) == 0
    (plan / "moves" / "part-00001.parquet").unlink()
    capsys.readouterr()
    assert main(["plan", "show", str(plan)]) == 2
    said = capsys.readouterr()
    assert f"{plan}/moves: has 3 of 5 rows: a file of it is missing; copy the plan or make it again" in said.err
    assert said.out == ""
    assert main(["plan", "verify", "--snapshot", str(path), "--plan", str(plan)]) == 1


@pytest.mark.parametrize("undo", [False, True])
def test_dp_4_submit_begins_nothing_of_a_plan_that_has_lost_a_batch(undo: bool, path: Path) -> None:
    plan = _of_brokers(path)
    for name in ("batches/batch-0002.json", "rollback/rollback-0002.json", "batches/batch-0003.json"):
        (plan / name).unlink()
    (plan / "rollback" / "rollback-0003.json").unlink()
    with pytest.raises(BadInput, match="plan: batches 2, 3 have no file: copy the whole plan again, or make it again"):
        read_plan(plan, undo=undo)


@pytest.mark.parametrize("undo", [False, True])
def test_dp_4_submit_begins_nothing_of_a_plan_of_disks_that_has_lost_a_batch(undo: bool, path: Path) -> None:
    plan = _of_disks(path)
    for name in ("batches/batch-0002.json", "rollback/rollback-0002.json"):
        (plan / name).unlink()
    nobody = cast("ReassignmentClient", None)  # no broker is asked before all of the plan is read
    submission = DiskSubmission(nobody, plan, ProgressOutput(print, print), undo=undo)
    with pytest.raises(BadInput, match="plan: batch 2 has no file: copy the whole plan again"):
        _ = submission.moves
