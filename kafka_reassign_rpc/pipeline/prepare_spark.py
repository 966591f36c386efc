"""Makes the archive of Spark's classes (`class_archive`) by running small jobs of all kinds once."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from kafka_reassign_rpc.pipeline.auditing import audit_job
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.reports.result_tables import ResultDirectory
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.spark_session import session
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind

_BROKERS, _EMPTY, _LOST, _PARTITIONS = 6, 4, 5, 40
_BYTES = 1 << 20


def prepare(show_status: Callable[[str], None], archive: Path) -> None:
    """Raises BadInput for a path with a space, JobFailed if Java is missing or writes no archive, OSError if its
    directory is not writable.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        made, snapshot = Path(directory) / archive.name, Path(directory) / "snapshot"
        _write_snapshot(snapshot)
        show_status("starting Spark")
        with session("prepare", rows=_PARTITIONS, classes_to=made) as spark:
            for kind in (GoalKind.HEAL, GoalKind.REBALANCE):
                show_status(f"running a small job: plan {kind}")
                plan_job.run(spark, PlanJob(snapshot, Path(directory) / kind, Goal(kind)))
            show_status("running a small job: audit")
            with ResultDirectory(Path(directory) / "audit") as results:
                taken = snapshot_files.find_snapshots(snapshot)
                results.write_tables(audit_job.audit_tables(CallOnSpark(spark, _PARTITIONS), taken, None))
            show_status("writing the classes that were loaded")
        if not made.is_file():
            raise JobFailed("Java has not written the classes: is it OpenJDK 17 or later (JAVA_HOME, or on the PATH)?")
        os.replace(made, archive)


def _write_snapshot(path: Path) -> None:
    """One broker is lost, and one holds nothing."""
    with SnapshotWriter(path) as writer:
        for broker in range(_BROKERS):
            space = 1000 * _BYTES
            writer.brokers.add((broker, f"rack {broker % 3}", "host", 9092, space, space // 2, broker != _LOST))
            writer.log_dirs.add((broker, "/data", True, 0, space, space // 2))
        writer.topics.add(("topic", "id"))
        writer.configs.add(("topic", "topic", "min.insync.replicas", "1"))
        for index in range(_PARTITIONS):
            replicas = [index % _EMPTY, (index + 1) % _EMPTY, _LOST if index % 3 == 0 else (index + 2) % _EMPTY]
            isr = [broker for broker in replicas if broker != _LOST]
            size = index * _BYTES
            writer.partitions.add(("topic", index, replicas, isr[0], isr, [], [], size, 1.0, 1.0, False))
            writer.replicas.extend(("topic", index, broker, size, "/data", False) for broker in isr)
        writer.finish(SnapshotMeta(cluster_id="cluster", at=0))
