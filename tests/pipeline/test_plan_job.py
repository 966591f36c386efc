"""Plans by Spark: the same as the pure planner's, written whole or not at all, in batches that keep their caps."""

import copy
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning import plan_job as job
from kafka_reassign_rpc.pipeline.planning.plan_job import Job
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import Meta, SnapshotWriter
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import make_plan
from kafka_reassign_rpc.planner.move_batching import BatchLimits
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from tests.planner.clusters import random_cluster, topic

REBALANCE = Goal(GoalKind.REBALANCE)

pytestmark = pytest.mark.timeout(400)  # a dozen small Spark jobs each: a loaded machine takes its time


def written(path: Path, cluster: PlannerCluster, configs: list[tuple[str, str, str, str]] | None = None) -> Path:
    """The cluster as a snapshot on disk."""
    with SnapshotWriter(path) as writer:
        for broker in cluster.brokers:
            sizes = [None if size < 0 else size for size in (broker.capacity, broker.free)]
            writer.brokers.add((broker.id, broker.rack, "h", 9092, *sizes, broker.live))
        for one in cluster.topics:
            for held in one.partitions:
                size = None if held.bytes < 0 else held.bytes
                moving = [held.replicas[0]] if held.moving else []
                row: tuple[object, ...] = (one.name, held.index, held.replicas, held.leader, held.isr, [], moving, size)
                writer.partitions.add((*row, float(held.produce), float(held.fetch)))
        writer.configs.extend(configs or [])
        writer.finish(Meta(cluster_id="c", at=5))
    return path


def in_batches(directory: Path, name: str) -> list[dict[tuple[str, int], tuple[list[int], list[int]]]]:
    return [
        {
            (entry["topic"], entry["partition"]): (entry["replicas"], entry["expected_replicas"])
            for entry in json.loads(file.read_bytes())["partitions"]
        }
        for file in sorted((directory / name).iterdir())
    ]


@pytest.mark.parametrize(
    ("goal", "dead"),
    [(Goal(GoalKind.HEAL), (5,)), (REBALANCE, ())],
    ids=["heal", "rebalance"],
)
def test_dp_6_spark_plans_what_the_pure_planner_plans(
    tmp_path: Path, spark: SparkSession, goal: Goal, dead: tuple[int, ...]
) -> None:
    cluster = random_cluster(12, 4, 400, dead=dead)
    options = PlanOptions(seed=3, tolerance=0.2, rounds=3)
    path = written(tmp_path / "snapshot", cluster)
    expected = make_plan(copy.deepcopy(cluster), goal, options)
    caps = BatchLimits(moves_per_broker=5, bytes_per_broker=40 << 20)
    summary = job.run(spark, Job(path, tmp_path / "plan", goal, options, caps))
    rows = parquet_files.read(tmp_path / "plan" / plan_writer.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    moves = {
        (m["topic"], m["partition"], tuple(m["from_replicas"]), tuple(m["to_replicas"]), m["reason"], m["rule"])
        for m in rows
    }
    assert moves == {(m.topic, m.partition, m.original, m.target, m.reason, m.rule) for m in expected.moves}
    assert (summary.bytes, summary.lower_bound) == (expected.summary.bytes, expected.summary.lower_bound)
    assert summary.imbalance_after == expected.summary.imbalance_after
    there, back = (in_batches(tmp_path / "plan", name) for name in (plan_writer.BATCHES, plan_writer.ROLLBACK))
    assert len(there) == len(summary.batches) > 1
    for batch, rollback in zip(there, back, strict=True):
        assert rollback == {name: (expects, to) for name, (to, expects) in batch.items()}
        assert list(rollback) == list(reversed(batch))


def test_dp_3_the_verifier_finds_what_is_broken(tmp_path: Path, spark: SparkSession) -> None:
    cluster = random_cluster(9, 3, 300, dead=(4,))
    path, plan = written(tmp_path / "snapshot", cluster), tmp_path / "plan"
    summary = job.run(spark, Job(path, plan, Goal(GoalKind.HEAL), caps=BatchLimits(moves_per_broker=3)))
    file = plan / plan_writer.MOVES / "part-00000.parquet"
    rows = parquet_files.read(file, plan_writer.MOVES_SCHEMA).to_pylist()
    to = rows[2]["to_replicas"]
    same_rack = next(n for n in range(9) if n % 3 == to[1] % 3 and n not in (*to, 4))
    changes: list[tuple[dict[str, object], set[str]]] = [
        ({"to_replicas": rows[0]["from_replicas"]}, {"no-move", "live-brokers", "bytes", "batches", "rollback"}),
        ({"to_replicas": [rows[1]["to_replicas"][0]] * 3}, {"distinct-replicas", "racks"}),
        ({"to_replicas": [to[0], to[1], same_rack]}, {"racks"}),
        ({"to_replicas": rows[3]["to_replicas"][:2]}, {"replication-factor"}),
        ({"from_replicas": rows[4]["from_replicas"][::-1]}, {"stale"}),
        ({"partition": 10_000}, {"unknown-partition", "batches"}),
        ({"bytes": rows[6]["bytes"] + 1}, {"bytes"}),
        ({"batch": len(summary.batches) + 7}, {"batches", "rollback"}),
    ]
    with parquet_files.TableWriter(file, plan_writer.MOVES_SCHEMA) as writer:
        writer.extend(tuple((row | changed).values()) for row, (changed, _) in zip(rows, changes, strict=False))
        writer.extend(tuple(row.values()) for row in rows[len(changes) :])
        writer.add(tuple(rows[-1].values()))
    (plan / plan_writer.ROLLBACK / f"rollback-{rows[-1]['batch']:04d}.json").unlink()
    found = verify(spark, path, plan)
    for row, (changed, rules) in zip(rows, changes, strict=False):
        name = f"{row['topic']}-{changed.get('partition', row['partition'])}"
        assert rules <= {one.rule for one in found if one.name == name}, (name, changed)
    last = f"{rows[-1]['topic']}-{rows[-1]['partition']}"
    assert {one.rule for one in found if one.name == last} == {"moved-twice", "rollback"}
    assert {one.rule for one in found} >= {"summary"}


def test_dp_3_the_verifier_finds_batches_over_their_caps_and_full_brokers(tmp_path: Path, spark: SparkSession) -> None:
    cluster = random_cluster(9, 3, 300, dead=(4,))
    path, plan = written(tmp_path / "snapshot", cluster), tmp_path / "plan"
    job.run(spark, Job(path, plan, Goal(GoalKind.HEAL), caps=BatchLimits(moves_per_broker=50, moves_per_batch=50)))
    summary = json.loads((plan / plan_writer.SUMMARY).read_bytes())
    summary["given"] |= {"moves_per_broker": 1, "moves_per_batch": 2, "bytes_per_batch": 1, "bytes_per_broker": 1}
    (plan / plan_writer.SUMMARY).write_text(json.dumps(summary))
    tight = [PlannerBroker(one.id, one.rack, one.live, one.capacity, 1) for one in cluster.brokers]
    written(tmp_path / "tight", PlannerCluster(tight, cluster.topics))
    rules = {one.rule for one in verify(spark, tmp_path / "tight", plan)}
    assert rules == {"caps-of-a-broker", "caps-of-a-batch", "capacity"}
    (tmp_path / "tight" / "meta.json").write_text('{"cluster_id": "other", "at": 5}')
    with pytest.raises(BadInput, match="was made from another snapshot"):
        verify(spark, tmp_path / "tight", plan)


def test_dp_2_what_is_wrong_with_a_snapshot_is_named_and_nothing_is_written(
    tmp_path: Path, spark: SparkSession
) -> None:
    held = PlannerPartition(0, (1, 2), 1, (1, 2), bytes=1)
    brokers = [PlannerBroker(1), PlannerBroker(2)]
    bad = [
        PlannerPartition(1, (), -1),
        PlannerPartition(2, (1, 1), 1, (1,)),
        PlannerPartition(3, (1,), 1, (1,), bytes=1),
    ]
    bad.append(bad[-1])
    path = written(tmp_path / "snapshot", PlannerCluster(brokers, [topic("t", held, *bad)]))
    with pytest.raises(BadInput) as error:
        job.run(spark, Job(path, tmp_path / "plan", REBALANCE))
    assert "t-1 has no replicas; t-2 has a broker twice in [1, 1]; t-3 is there twice" in str(error.value)
    fine = written(tmp_path / "fine", PlannerCluster(brokers, [topic("t", held)]))
    with pytest.raises(BadInput, match="larger than the 2 live brokers"):
        job.run(spark, Job(fine, tmp_path / "plan", Goal(GoalKind.SET_FACTOR, factor=3)))
    with pytest.raises(BadInput, match="drain: the snapshot has no broker 7"):
        job.run(spark, Job(fine, tmp_path / "plan", Goal(GoalKind.DRAIN, (7,))))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fine", "snapshot"]
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "mine").touch()
    with pytest.raises(BadInput, match="is there already"):
        job.run(spark, Job(fine, tmp_path / "plan", REBALANCE))


def test_dp_2_strangers_moves_in_flight_and_min_insync_are_seen(tmp_path: Path, spark: SparkSession) -> None:
    brokers = [PlannerBroker(1), PlannerBroker(2), PlannerBroker(3)]
    parts = (
        PlannerPartition(0, (9, 1), 1, (1,), bytes=7),
        PlannerPartition(1, (9, 1), 1, (1,), moving=True, bytes=7),
        PlannerPartition(2, (9, 1), -1, (), bytes=7),
    )
    configs = [("topic", "t", "min.insync.replicas", "2"), ("topic", "t", "retention.ms", "1")]
    path = written(tmp_path / "snapshot", PlannerCluster(brokers, [topic("t", *parts)]), configs)
    summary = job.run(spark, Job(path, tmp_path / "plan", Goal(GoalKind.HEAL)))
    (move,) = parquet_files.read(tmp_path / "plan" / plan_writer.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert (move["partition"], move["priority"], move["bytes"], move["leader"]) == (0, 0, 7, 1)
    assert summary.notes[0].startswith("broker 9 holds replicas and is not listed: it is taken for lost (t-0, t-1, t-2")
    assert [(left.reason, left.first) for left in summary.left_out] == [
        ("a reassignment of it is in flight", ["t-1"]),
        ("no live replica is in sync: there is nothing to copy from", ["t-2"]),
    ]
    assert plan_writer.read_summary(tmp_path / "plan") == summary
    assert snapshot_files.read_meta(path).cluster_id == summary.cluster_id
