"""JSON files of snapshots and plans that are damaged: one line names the file, and no job ends with a traceback."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_reassign_rpc.pipeline.disks.disk_plan_files import read_dir_batch
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_files import entries_of, faults_of_files, named_faults
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK, SUMMARY, read_kind, read_summary
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import read_meta
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import META
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere

DAMAGED = {
    "cut short": b'{"version":1',
    "no UTF-8": b'{"version":1,"kind":"\xff","cluster_id":"\xff","partitions":[{"topic":"\xff"}]}',
    "nested deep": b'{"x":' + b"[" * 100_000,
}
damaged = pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)


@damaged
@pytest.mark.parametrize(
    ("name", "read"),
    [
        (META, read_meta),
        (SUMMARY, read_summary),
        (SUMMARY, read_plan),
        (f"{BATCHES}/batch-0001.json", lambda path: read_dir_batch(path / BATCHES / "batch-0001.json")),
    ],
)
def test_dp_3_a_damaged_file_is_named_in_one_line(
    name: str, read: Callable[[Path], object], content: bytes, tmp_path: Path
) -> None:
    (tmp_path / BATCHES).mkdir()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput) as refused:
        read(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(refused.value)
    assert read_kind(tmp_path) == ""


@damaged
def test_dp_3_the_verifier_names_a_damaged_batch_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / BATCHES).mkdir()
    (tmp_path / BATCHES / "batch-0001.json").write_bytes(content)
    (tmp_path / BATCHES / f"batch-{10**30}.json").write_bytes(
        b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    )
    (tmp_path / ROLLBACK).mkdir()
    call = CallHere()
    [numbers] = call([entries_of(tmp_path, BATCHES)], lambda tables, _: tables[0]["number"].to_pylist(), None)
    assert numbers == [None]
    [[found, _]] = call(faults_of_files(tmp_path), named_faults, None)
    unreadable, misnamed = found
    assert misnamed == RuleViolation("batches", f"batch-{10**30}.json", "has no name of a batch")
    assert unreadable[:2] == ("batches", "batch-0001.json")
    with pytest.raises(BadInput, match=re.escape(unreadable.detail)):
        read_dir_batch(tmp_path / BATCHES / "batch-0001.json")
