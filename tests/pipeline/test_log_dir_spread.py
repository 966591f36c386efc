"""`audit` of log dirs: what each holds beside its share, in which state it is, and what would help."""

from pathlib import Path

from kafka_reassign_rpc.pipeline.auditing.load_spread import LOG_DIR_SCHEMA, LogDirRow, log_dir_rows
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

MB = 1_000_000


def test_dh_3_audit_shows_failed_cordoned_and_uneven_log_dirs_and_what_plan_disks_would_do(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.log_dirs.extend([
            (1, "/a", True, 0, 1000 * MB, 500 * MB),
            (1, "/b", True, 1, 1000 * MB, 900 * MB),
            (1, "/c", False, None, None, None),
            (2, "/x", True, 0, 1000 * MB, 900 * MB),
            (2, "/y", True, 1, 1000 * MB, 900 * MB, True),
        ])  # fmt: skip
        writer.partitions.extend(("t", n, [1, 2], 1, [1, 2], [], [], MB, None, None, False) for n in range(4))
        writer.replicas.extend([
            *(("t", n, 1, 30 * MB, "/a", False) for n in range(3)),
            ("t", 3, 1, 10 * MB, "/b", False),
            ("t", 0, 1, 5 * MB, "/b", True),
            ("t", 0, 2, 7 * MB, "/y", False),
            ("t", 1, 2, None, "/x", False),
            ("t", 2, 2, 7 * MB, "/x", False),
            ("t", 3, 2, 7 * MB, None, False),
        ])  # fmt: skip
        writer.finish(SnapshotMeta("c1", 5))
    rows = log_dir_rows(tmp_path / "snapshot")
    disk, again = (1000 * MB, 500 * MB), (1000 * MB, 900 * MB)
    assert rows == [
        LogDirRow(1, "/c", "failed", 0, 0, 0, None, None, None, None, "a new disk, or plan drain --brokers 1"),
        LogDirRow(2, "/y", "cordoned", 7 * MB, 1, 0, *again, None, None, "plan disks --empty 2:/y"),
        LogDirRow(1, "/a", "open", 90 * MB, 3, 0, *disk, 50 * MB, 0.8, "plan disks --brokers 1"),
        LogDirRow(1, "/b", "open", 10 * MB, 1, 0, *again, 50 * MB, -0.8, "plan disks --brokers 1"),
        LogDirRow(2, "/x", "open", 7 * MB, 2, 1, *again, 7 * MB, 0.0, ""),
    ]
    assert tuple(LOG_DIR_SCHEMA.names) == LogDirRow._fields


def test_dh_3_a_snapshot_without_log_dirs_has_none(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        writer.partitions.add(("t", 0, [1], 1, [1], [], [], 1, None, None, False))
        writer.finish(SnapshotMeta("c1", 5))
    assert log_dir_rows(tmp_path / "snapshot") == []
