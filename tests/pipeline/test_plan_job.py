"""Plans by Spark: equal to the pure planner's, complete or not there, in batches within their limits."""

import copy
import json
import random
import shutil
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import arrow_tasks, parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_summary, plan_writer
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_batch, read_plan
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath, matching
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere, CallOnSpark
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Effort, Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from kafka_reassign_rpc.planner.proposals.forced_proposals import ON_ITS_WAY
from tests.planner.clusters import brokers, partition, random_cluster, topic
from tests.planner.column_plans import make_plan

P = TypeVar("P", bound=StorePath)

REBALANCE = Goal(GoalKind.REBALANCE)


def written(
    path: P,
    cluster: PlannerCluster,
    configs: list[tuple[str, str, str, str]] | None = None,
    shuffled: random.Random | None = None,
) -> P:
    """The cluster as a snapshot on disk; its rows in another order where a source of chance is given."""
    partitions: list[tuple[object, ...]] = []
    brokers = list(cluster.brokers)
    with SnapshotWriter(path) as writer:
        for broker in brokers if shuffled is None else shuffled.sample(brokers, len(brokers)):
            sizes = [None if size < 0 else size for size in (broker.capacity, broker.free)]
            writer.brokers.add((broker.id, broker.rack, "h", 9092, *sizes, broker.live, broker.cordoned))
            volumes = enumerate(broker.volumes)
            writer.log_dirs.extend((broker.id, f"/d{number}", True, number, *one) for number, one in volumes)
        for number, one in enumerate(cluster.topics):
            writer.topics.add((one.name, f"id of {one.name}" if number % 2 else None))
            for held in one.partitions:
                size = None if held.bytes < 0 else held.bytes
                moving = [held.replicas[0]] if held.moving else []
                row: tuple[object, ...] = (one.name, held.index, held.replicas, held.leader, held.isr, [], moving, size)
                partitions.append((*row, float(held.produce), float(held.fetch)))
        writer.partitions.extend(partitions if shuffled is None else shuffled.sample(partitions, len(partitions)))
        writer.configs.extend(configs or [])
        writer.finish(SnapshotMeta(cluster_id="c", at=5))
    return path


def in_batches(directory: StorePath, name: str) -> list[dict[tuple[str, int], tuple[list[int], list[int]]]]:
    return [
        {
            (entry["topic"], entry["partition"]): (entry["replicas"], entry["expected_replicas"])
            for entry in json.loads(file.read_bytes())["partitions"]
        }
        for file in matching(directory / name, "*")
    ]


class Planned(NamedTuple):
    """A plan by Spark, and what it was made from."""

    cluster: PlannerCluster
    snapshot: Path
    job: PlanJob
    summary: PlanSummary

    def copy(self, to: Path) -> Path:
        """A copy of the plan to damage."""
        return Path(shutil.copytree(str(self.job.out), to))


OPTIONS = PlanOptions(seed=3, tolerance=0.2, rounds=3, effort=Effort.QUICK)


def planned(spark: SparkSession, directory: Path, cluster: PlannerCluster, goal: Goal, limits: BatchLimits) -> Planned:
    path = written(directory / "snapshot", cluster, shuffled=random.Random(3))
    made = PlanJob(path, directory / "plan", goal, OPTIONS, limits)
    return Planned(cluster, path, made, plan_job.run(spark, made))


@pytest.fixture(scope="module")
def heal_plan(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """Broker 4 of nine is lost. Tests read this plan and never change it."""
    cluster = random_cluster(9, 3, 300, dead=(4,))
    limits = BatchLimits(moves_per_broker=3, bytes_per_broker=40 << 20)
    return planned(spark, tmp_path_factory.mktemp("heal"), cluster, Goal(GoalKind.HEAL), limits)


def test_dp_6_spark_heals_as_the_pure_planner_does(heal_plan: Planned) -> None:
    must_equal_the_pure_plan(heal_plan)


def test_dp_6_spark_rebalances_as_the_pure_planner_does(tmp_path: Path, spark: SparkSession) -> None:
    limits = BatchLimits(moves_per_broker=5, bytes_per_broker=40 << 20)
    must_equal_the_pure_plan(planned(spark, tmp_path, random_cluster(12, 4, 400), REBALANCE, limits))


@pytest.mark.gate
def test_dp_6_the_plan_is_the_same_for_any_order_of_rows_and_any_number_of_tasks(
    tmp_path: Path, spark: SparkSession, heal_plan: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_tasks, "ROWS_IN_CHUNK", 25)
    path = written(tmp_path / "a{b}[1]", heal_plan.cluster, shuffled=random.Random(5))
    plan_job.run(spark, heal_plan.job._replace(snapshot=path, out=tmp_path / "plan"))
    assert files(tmp_path / "plan") == files(Path(str(heal_plan.job.out)))


def files(plan: Path) -> dict[str, bytes]:
    return {str(file.relative_to(plan)): file.read_bytes() for file in plan.rglob("*") if file.is_file()}


def must_equal_the_pure_plan(found: Planned) -> None:
    """The same moves, costs and balance; the batches hold these moves, and each rollback undoes its batch."""
    goal, plan, summary = found.job.goal, found.job.out, found.summary
    expected = make_plan(copy.deepcopy(found.cluster), goal, OPTIONS)
    rows = parquet_files.read(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    moves = {
        (
            *(m["topic"], m["partition"], tuple(m["from_replicas"]), tuple(m["to_replicas"]), m["reason"], m["rule"]),
            -1 if m["first_leader"] is None else m["first_leader"],
        )
        for m in rows
    }
    assert moves == {
        (m.topic, m.partition, m.original, m.target, m.reason, m.rule, m.first_leader) for m in expected.moves
    }
    assert (summary.bytes, summary.lower_bound) == (expected.summary.bytes, expected.summary.lower_bound)
    assert summary.imbalance_after == expected.summary.imbalance_after
    known = [entry for file in read_plan(plan).batches for entry in read_batch(file, summary.kind).values()]
    odd = {one.name for one in list(found.cluster.topics)[1::2]}
    assert {one.topic_id for one in known} > {""}
    assert all(one.topic_id == (f"id of {one.topic}" if one.topic in odd else "") for one in known)
    forward, back = (in_batches(plan, name) for name in (plan_summary.BATCHES, plan_summary.ROLLBACK))
    assert len(forward) == len(summary.batches) > 1
    for batch, rollback in zip(forward, back, strict=True):
        assert rollback == {name: (expects, to) for name, (to, expects) in batch.items()}
        assert list(rollback) == list(reversed(batch))


@pytest.mark.parametrize("goal", [Goal(GoalKind.RACKS), Goal(GoalKind.REBALANCE, racks=True)])
def test_dp_3_a_plan_for_racks_is_published_where_fewer_brokers_live_than_a_partition_has_replicas(
    tmp_path: Path, spark: SparkSession, goal: Goal
) -> None:
    cluster = PlannerCluster(brokers(["a", "a", "b"], dead=[2]), [topic("t", partition(0, 1, 2, 3, live=[1, 3]))])
    made = planned(spark, tmp_path, cluster, goal, BatchLimits())
    assert [one.reason for one in made.summary.left_out] in (
        ["broker 2 is not live: heal it first"],
        ["it has a replica on a broker that is not live: heal it first"],
    )


def test_dp_3_the_verifier_finds_every_broken_rule_of_a_move(
    tmp_path: Path, spark: SparkSession, heal_plan: Planned
) -> None:
    path, plan, summary = heal_plan.snapshot, heal_plan.copy(tmp_path / "plan"), heal_plan.summary
    file = plan / plan_directory.MOVES / "part-00000.parquet"
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
        ({"first_leader": rows[8]["leader"]}, {"first-leader", "batches"}),
        ({"first_leader": 4}, {"first-leader", "batches"}),
    ]
    with parquet_files.TableWriter(file, plan_writer.MOVES_SCHEMA) as writer:
        writer.extend(tuple((row | changed).values()) for row, (changed, _) in zip(rows, changes, strict=False))
        writer.extend(tuple(row.values()) for row in rows[len(changes) :])
        writer.add(tuple(rows[-1].values()))
    (plan / plan_summary.ROLLBACK / f"rollback-{rows[-1]['batch']:04d}.json").unlink()
    found = verify(CallOnSpark(spark, 1), path, plan)
    for row, (changed, rules) in zip(rows, changes, strict=False):
        name = f"{row['topic']}-{changed.get('partition', row['partition'])}"
        assert rules <= {one.rule for one in found if one.name == name}, (name, changed)
    last = f"{rows[-1]['topic']}-{rows[-1]['partition']}"
    assert {one.rule for one in found if one.name == last} == {"moved-twice", "rollback"}
    forgotten = {one.name for one in found if one.rule == "forgotten"}
    assert forgotten == {f"{rows[5]['topic']}-{rows[5]['partition']}"}, "its row names another partition now"
    assert {one.rule for one in found} >= {"summary"}


def test_dp_3_the_verifier_finds_batches_over_their_limits_and_full_brokers(
    tmp_path: Path, spark: SparkSession, heal_plan: Planned
) -> None:
    cluster, plan = heal_plan.cluster, heal_plan.copy(tmp_path / "plan")
    summary = json.loads((plan / plan_summary.SUMMARY).read_bytes())
    summary["requested"] |= {"moves_per_broker": 1, "moves_per_batch": 2, "bytes_per_batch": 1, "bytes_per_broker": 1}
    (plan / plan_summary.SUMMARY).write_text(json.dumps(summary))
    tight = [PlannerBroker(one.id, one.rack, one.live, one.capacity, 1) for one in cluster.brokers]
    written(tmp_path / "tight", PlannerCluster(tight, cluster.topics))
    rules = {one.rule for one in verify(CallOnSpark(spark, 1), tmp_path / "tight", plan)}
    assert rules == {"limits-of-a-broker", "limits-of-a-batch", "capacity", "summary"}, "full disks have other targets"
    (tmp_path / "tight" / "meta.json").write_text('{"cluster_id": "other", "at": 5}')
    with pytest.raises(BadInput, match="was made from another snapshot"):
        verify(CallOnSpark(spark, 1), tmp_path / "tight", plan)


def test_dp_3_this_process_and_tasks_of_spark_find_the_same_in_files_changed_by_hand(
    tmp_path: Path, spark: SparkSession, heal_plan: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one task, and in several."""
    plan = heal_plan.copy(tmp_path / "plan")
    assert verify(CallOnSpark(spark, 1), heal_plan.snapshot, plan) == []
    summary = json.loads((plan / plan_summary.SUMMARY).read_bytes())
    summary["complete"] = not summary["complete"]
    summary["brokers"][0]["after"]["bytes"] += 1000
    (plan / plan_summary.SUMMARY).write_text(json.dumps(summary))
    file = plan / plan_summary.BATCHES / "batch-0001.json"
    batch = json.loads(file.read_bytes())
    batch["topic_ids"] |= {"nobody's": "x"} | dict.fromkeys(batch["topic_ids"], "other")
    batch["partitions"] = [*batch["partitions"][1:], batch["partitions"][0] | {"log_dirs": ["any", "/data/2"]}]
    file.write_text(json.dumps(batch))
    here = verify(CallOnSpark(spark, 1), heal_plan.snapshot, plan)
    monkeypatch.setattr(arrow_tasks, "ROWS_IN_CHUNK", 25)
    assert verify(CallOnSpark(spark, 1), heal_plan.snapshot, plan) == here
    assert verify(CallHere(), heal_plan.snapshot, plan) == here
    assert {one.rule for one in here} == {"complete", "summary", "topic-id", "start", "batches"}
    assert {one.name for one in here} >= {"batch-0001.json", "plan"}


def test_dp_2_unusable_rows_and_goals_are_named_and_nothing_is_written(tmp_path: Path, spark: SparkSession) -> None:
    held = PlannerPartition(0, (1, 2), 1, (1, 2), bytes=1)
    brokers = [PlannerBroker(1), PlannerBroker(2)]
    bad = [
        PlannerPartition(1, (1, -2), 1),
        PlannerPartition(2, (1, 2), 1, (1,), produce=-5),
        PlannerPartition(3, (1,), 1, (1,), bytes=1),
    ]
    bad.append(bad[-1])
    path = written(tmp_path / "snapshot", PlannerCluster(brokers, [topic("t", held, *bad)]))
    with pytest.raises(BadInput) as error:
        plan_job.run(spark, PlanJob(path, tmp_path / "plan", REBALANCE))
    assert "t-1 has a broker below 0 in [1, -2]; t-2 has a rate that is negative, no number or too large" in str(
        error.value
    )
    twice = written(tmp_path / "twice", PlannerCluster(brokers, [topic("t", held, *bad[2:])]))
    with pytest.raises(BadInput, match="t-3 occurs twice"):
        plan_job.run(spark, PlanJob(twice, tmp_path / "plan", REBALANCE))
    fine = written(tmp_path / "fine", PlannerCluster(brokers, [topic("t", held)]))
    with pytest.raises(BadInput, match="larger than the 2 live brokers"):
        plan_job.run(spark, PlanJob(fine, tmp_path / "plan", Goal(GoalKind.SET_FACTOR, factor=3)))
    with pytest.raises(BadInput, match="drain: the snapshot has no broker 7"):
        plan_job.run(spark, PlanJob(fine, tmp_path / "plan", Goal(GoalKind.DRAIN, (7,))))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fine", "snapshot", "twice"]
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "mine").touch()
    with pytest.raises(BadInput, match="exists already"):
        plan_job.run(spark, PlanJob(fine, tmp_path / "plan", REBALANCE))


def test_dp_2_unlisted_brokers_moves_in_flight_and_min_insync_replicas_are_respected(
    tmp_path: Path, spark: SparkSession
) -> None:
    brokers = [PlannerBroker(1), PlannerBroker(2), PlannerBroker(3)]
    parts = (
        PlannerPartition(0, (9, 1), 1, (1,), bytes=7),
        PlannerPartition(1, (9, 1), 1, (1,), moving=True, bytes=7),
        PlannerPartition(2, (9, 1), -1, (), bytes=7),
    )
    configs = [("topic", "t", "min.insync.replicas", "2"), ("topic", "t", "retention.ms", "1")]
    path = written(tmp_path / "snapshot", PlannerCluster(brokers, [topic("t", *parts)]), configs)
    summary = plan_job.run(spark, PlanJob(path, tmp_path / "plan", Goal(GoalKind.HEAL)))
    (move,) = parquet_files.read(tmp_path / "plan" / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert (move["partition"], move["priority"], move["bytes"], move["leader"]) == (0, 0, 7, 1)
    assert summary.notes[0].startswith(
        "broker 9 holds replicas, but the snapshot does not list it: the plan takes it for lost (t-0, t-1, t-2"
    )
    assert [(left.reason, left.first) for left in summary.left_out] == [
        (ON_ITS_WAY, ["t-1"]),
        ("no live replica is in sync: there is nothing to copy from", ["t-2"]),
    ]
    assert plan_summary.read_summary(tmp_path / "plan") == summary
    assert snapshot_files.read_meta(path).cluster_id == summary.cluster_id


CLOSED = {1, 2, 8, 9}


@pytest.mark.gate
@pytest.mark.parametrize(
    "goal",
    [
        Goal(GoalKind.RACKS),
        Goal(GoalKind.DRAIN, (2, 3, 4)),
        Goal(GoalKind.REBALANCE),
        Goal(GoalKind.SET_FACTOR, factor=4, topics=("t",)),
    ],
    ids=str,
)
def test_dh_2_a_plan_of_a_snapshot_with_cordoned_brokers_brings_nothing_there_and_is_verified(
    spark: SparkSession, tmp_path: Path, goal: Goal
) -> None:
    """All brokers of rack d are closed, and one of rack a is open. Partitions lie anyhow."""
    chance = random.Random(5)
    closed = [
        PlannerBroker(number, rack, capacity=10_000, free=9_000, cordoned=number in CLOSED)
        for number, rack in enumerate("aaabbccdd", 1)
    ]
    parts = [partition(number, *chance.sample(range(1, 10), 3), size=10) for number in range(60)]
    cluster = PlannerCluster(closed, [topic("t", *parts)])
    job = PlanJob(written(tmp_path / "snapshot", cluster), tmp_path / "plan", goal, OPTIONS)
    summary = plan_job.run(spark, job)
    assert "brokers 1, 2, 8, 9 are cordoned: the plan brings no replica there" in summary.notes
    assert [one.broker for one in summary.brokers if one.cordoned] == [1, 2, 8, 9]
    moves = parquet_files.read(job.out / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert moves
    for one in moves:
        assert CLOSED.isdisjoint({*one["to_replicas"]} - {*one["from_replicas"]})
        assert goal.kind is not GoalKind.DRAIN or {*goal.brokers}.isdisjoint(one["to_replicas"]), "off all in one step"
    in_memory = make_plan(cluster, goal, OPTIONS)
    assert {(one.topic, one.partition, one.target) for one in in_memory.moves} == {
        (one["topic"], one["partition"], tuple(one["to_replicas"])) for one in moves
    }
