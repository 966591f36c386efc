"""Plans are the same on Spark and in this process alone (`--master none`)."""

import random
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import parquet_files, spark_session
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.chunk_callers import CallsHere, CallsOnSpark
from kafka_reassign_rpc.pipeline.planning.plan_input import EVERY_BROKER, PlanJob
from kafka_reassign_rpc.pipeline.planning.planning_rounds import ChunkCaller, arriving_at
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import surveyed_chunk
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import Arriving, ClusterFacts, SnapshotSurvey
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_ALL_BROKERS, PARTITIONS, SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from tests.effort import in_turn
from tests.pipeline.test_plan_job import files, written
from tests.planner.clusters import random_cluster, topic

pytestmark = pytest.mark.gate

BROKERS = 9
LARGE = 500
GOALS = [
    Goal(GoalKind.HEAL),
    Goal(GoalKind.DRAIN, (3,)),
    Goal(GoalKind.REBALANCE, racks=True),
    Goal(GoalKind.EXPAND, (9,), topics=("topic-0002", "topic-0003"), least_bytes=4_000),
    Goal(GoalKind.SET_FACTOR, factor=2, topics=("topic-0001",)),
    Goal(GoalKind.RACKS),
    Goal(GoalKind.DRAIN, (2,), to=(9, 5)),
    Goal(GoalKind.DEMOTE, (1, 3)),
    Goal(GoalKind.COMBINE, parts={GoalKind.HEAL: (), GoalKind.DRAIN: (2,), GoalKind.EXPAND: (9,)}),
]


def write_random_snapshot(path: Path, seed: int) -> Path:
    """Of 200 partitions, some move, some wait to move, and of some no size is known. Broker 4 is lost, 9 is empty, and
    broker 20 holds replicas and is not listed."""
    chance = random.Random(seed)
    with SnapshotWriter(path) as writer:
        for broker in range(1, BROKERS + 1):
            free = chance.choice([None, 2_000_000])
            writer.brokers.add((broker, f"rack-{broker % 3}", "h", 9092, 4_000_000, free, broker != 4))
        names = [(f"topic-{number:04d}", index) for number in range(8) for index in range(25)]
        for name, index in chance.sample(names, len(names)):
            replicas = chance.sample([*range(1, BROKERS), *([20] if chance.random() < 0.05 else [])], 3)
            live = [broker for broker in replicas if broker not in (4, 20)]
            others = [broker for broker in range(1, BROKERS) if broker not in replicas and broker != 4]
            size = None if chance.random() < 0.1 else chance.randrange(20_000)
            adding, removing, waiting = list[int](), list[int](), None
            if chance.random() < 0.2:
                adding, removing, waiting = others[:1], replicas[-1:], chance.choice([True, False])
                replicas = replicas if waiting else [*adding, *replicas]
            rates = (chance.choice([None, 10.7, 2000.2]), chance.choice([None, 0.0, 99.9]))
            writer.partitions.add(
                (name, index, replicas, live[0], live, adding, removing, size, *rates, waiting, 3.0 * index)
            )
            for broker in adding:
                writer.replicas.add((name, index, broker, chance.choice([None, 5, 30_000]), "/d", False))
                writer.replicas.add((name, index, broker, 7, "/d", True))
        for name in ("topic-0001", "topic-0002"):
            writer.topics.add((name, None))
        writer.configs.add(("topic", "topic-0003", "min.insync.replicas", "2"))
        writer.finish(SnapshotMeta(cluster_id="c", at=5))
    return path


@pytest.mark.parametrize("goal", in_turn(GOALS, 2), ids=lambda goal: str(goal.kind))
def test_dp_6_a_small_plan_made_in_this_process_is_the_same_to_the_byte_as_on_spark(
    goal: Goal, tmp_path: Path, spark: SparkSession
) -> None:
    path = write_random_snapshot(tmp_path / "snapshot", seed=GOALS.index(goal))
    network = NetworkLimits(100_000_000, {2: 25_000_000, 7: 50_000_000})
    limits = {"bytes": {9: 250_000, 5: 700_000}}
    if goal.kind in (GoalKind.HEAL, GoalKind.REBALANCE, GoalKind.COMBINE):
        limits |= {"replicas": {EVERY_BROKER: 60, 9: 20}, "leaders": {8: 9}, "produce": {EVERY_BROKER: 70_000}}
    options = PlanOptions(
        seed=5, tolerance=0.15, network=network, effort=Effort.QUICK, broker_max=limits, locality=bool(goal.drained)
    )
    on_spark = plan_job.run(spark, PlanJob(path, tmp_path / "on-spark", goal, options))
    in_memory = plan_job.run_here(PlanJob(path, tmp_path / "in-memory", goal, options))
    assert in_memory == on_spark
    assert on_spark.moves > 0
    for name, asked in on_spark.requested.broker_max.items():
        for one in on_spark.brokers:
            before, after = getattr(one.before, name), getattr(one.after, name)
            assert after <= max(asked.get(one.broker, after), before)
    assert files(tmp_path / "in-memory") == files(tmp_path / "on-spark")


def test_dp_2_a_lost_broker_that_only_replicas_name_is_healed_and_one_that_nothing_names_is_refused(
    tmp_path: Path,
) -> None:
    path = write_random_snapshot(tmp_path / "snapshot", seed=3)
    assert plan_job.run_here(PlanJob(path, tmp_path / "plan", Goal(GoalKind.HEAL, (20,)))).moves > 0
    both = {GoalKind.HEAL: (20, 99), GoalKind.DRAIN: (3,)}
    for goal in (Goal(GoalKind.HEAL, (99,)), Goal(GoalKind.COMBINE, parts=both)):
        with pytest.raises(BadInput, match="heal: the snapshot has no broker 99"):
            plan_job.run_here(PlanJob(path, tmp_path / "none", goal))
        assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("goal", [Goal(GoalKind.DRAIN, (3,)), Goal(GoalKind.REBALANCE)], ids=["drain", "rebalance"])
def test_dp_2_what_there_is_no_time_for_is_left_out_the_same_in_this_process_and_on_spark(
    goal: Goal, tmp_path: Path, spark: SparkSession
) -> None:
    """Each of the two is verified too: `within`, and the reason of what is left out."""
    path = write_random_snapshot(tmp_path / "snapshot", seed=3)
    options = PlanOptions(seed=5, network=NetworkLimits(10_000), effort=Effort.QUICK)
    whole = plan_job.run_here(PlanJob(path, tmp_path / "whole", goal, options))
    seconds = int(whole.expected_seconds / 2)
    outs = [tmp_path / "on-spark", tmp_path / "in-memory"]
    on_spark, in_memory = (PlanJob(path, out, goal, options, within=seconds) for out in outs)
    found = plan_job.run(spark, on_spark)
    assert plan_job.run_here(in_memory) == found
    assert files(outs[0]) == files(outs[1])
    late = sum(one.partitions for one in found.left_out if "(--within)" in one.reason)
    assert 0 < found.moves == whole.moves - late
    assert 0.5 * seconds < found.expected_seconds <= seconds
    assert found.bytes < whole.bytes


def test_dp_2_what_is_on_its_way_is_read_the_same_in_this_process_and_on_spark(
    tmp_path: Path, spark: SparkSession
) -> None:
    """By hand: of 100 bytes of t-0, 30 are there; t-1 is of unknown size, whatever its new replica has; t-2 waits; of
    t-3's new replica nothing is known, so all is still to come; t-4's has more than its leader."""
    path = tmp_path / "snapshot"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2))
        writer.partitions.extend([
            ("t", 0, [2, 1], 1, [1], [2], [], 100, None, None),
            ("t", 1, [2, 1], 1, [1], [2], [], None, None, None),
            ("t", 2, [1], 1, [1], [2], [], 7, None, None, True),
            ("t", 3, [2, 1], 1, [1], [2], [], 11, None, None),
            ("t", 4, [2, 1], 1, [1], [2], [], 13, None, None),
        ])  # fmt: skip
        held = enumerate([30, 50, None, None, 14])
        writer.replicas.extend(("t", index, 2, size, "/d", False) for index, size in held)
        writer.finish(SnapshotMeta("c", 5))
    expected = {2: Arriving(70 + 7 + 11 + 0, unknown=1, waiting_bytes=7, waiting_unknown=0)}
    assert arriving(CallsHere(path)) == expected
    assert arriving(CallsOnSpark(CallOnSpark(spark, 5), path, None)) == expected
    random_one = write_random_snapshot(tmp_path / "random", seed=77)
    assert arriving(CallsHere(random_one)) == arriving(CallsOnSpark(CallOnSpark(spark, 200), random_one, None))


def arriving(caller: ChunkCaller) -> Mapping[int, Arriving]:
    everything = frozenset(range(BROKERS + 1))
    facts = ClusterFacts(Goal(GoalKind.REBALANCE), everything, everything, {}, 1)
    amounts = arriving_at(caller, caller.divide(surveyed_chunk, facts, SnapshotSurvey.merge).coming)
    caller.close()
    return amounts


def test_dp_2_a_snapshot_of_release_0_1_0_has_no_moves_that_wait(tmp_path: Path) -> None:
    path = write_random_snapshot(tmp_path / "snapshot", seed=1)
    (file,) = snapshot_files.table_path(path, "partitions").iterdir()
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["waiting"]), file)
    read = snapshot_files.read(path, "partitions")
    assert (read.num_rows, read.schema.names) == (table.num_rows, PARTITIONS.names)
    assert set(read["waiting"].to_pylist()) == {None}


def test_dp_2_unusable_rows_are_told_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = PlannerPartition(1, (1, -1), 1, (1,))
    path = written(tmp_path / "snapshot", PlannerCluster([PlannerBroker(1)], [topic("t", bad)]))
    assert main(["plan", "rebalance", "--snapshot", str(path), "--out", str(tmp_path / "plan")]) == 2
    assert "t-1 has a broker below 0 in [1, -1]" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot"]


@pytest.mark.parametrize("rate", [float("nan"), -0.5, 1e300])
def test_dp_2_a_rate_that_is_no_number_is_named_also_on_spark(rate: float, tmp_path: Path, spark: SparkSession) -> None:
    path = tmp_path / "snapshot"
    with SnapshotWriter(path) as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        writer.partitions.add(("t", 3, [1], 1, [1], [], [], 100, 1e12, None))
        writer.partitions.add(("t", 4, [1], 1, [1], [], [], 100, 5.0, rate))
        writer.finish(SnapshotMeta("c", 5))
    job = PlanJob(path, tmp_path / "plan", Goal(GoalKind.REBALANCE))
    with pytest.raises(BadInput, match="t-4 has a rate that is negative, no number or too large"):
        plan_job.run_here(job)
    with pytest.raises(BadInput, match="t-4 has a rate that is negative, no number or too large"):
        plan_job.run(spark, job)
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot"]


def test_dp_2_sizes_that_no_cluster_holds_are_refused_and_not_called_a_defect_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.partitions.extend(("t", index, [1, 2], 1, [1, 2], [], [], size, None, None)
                                 for index, size in enumerate([2**62, 2**62, None]))  # fmt: skip
        writer.finish(SnapshotMeta("c", 5))
    for goal in (Goal(GoalKind.DRAIN, (1,)), Goal(GoalKind.REBALANCE)):
        with pytest.raises(BadInput, match=f"{4 * 2**62} bytes, which no cluster holds; the largest is t-1: {2**62}"):
            plan_job.run_here(PlanJob(path, tmp_path / "plan", goal))


ODD: list[tuple[object, ...]] = [
    ("t", 0, [], -1, [], [], [], None, None, None),
    ("t", 1, [1, 1], 1, [1], [], [], 10, None, None),
    ("t", 2, [1, 2], 3, [1], [], [], 10, 5.0, 5.0),
    ("t", 3, [1, 2], 1, [1, 3], [], [], 10, None, None),
]
"""No change can begin with what the cluster shows of these."""


@pytest.mark.parametrize(
    ("goal", "left_out", "moved"),
    [
        (Goal(GoalKind.DRAIN, (1,)), {1, 2, 3}, {4, 6}),
        (Goal(GoalKind.SET_FACTOR, factor=3), {0, 1, 2, 3}, {4, 5, 6}),
        (Goal(GoalKind.HEAL), set(), set()),
        (Goal(GoalKind.REBALANCE), {0, 1, 2, 3}, None),
    ],
)
def test_dp_2_odd_partitions_stay_with_their_names_and_the_others_are_planned(
    goal: Goal, left_out: set[int], moved: set[int] | None, tmp_path: Path, spark: SparkSession
) -> None:
    """An unknown size counts for the mean of the others, without the odd ones."""
    path = tmp_path / "snapshot"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, 100, 90 + 90 * (broker == 4), True) for broker in (1, 2, 3, 4))
        writer.partitions.extend(ODD)
        writer.partitions.add(("t", 4, [1, 2], 1, [1, 2], [], [], 10, None, None))
        writer.partitions.add(("t", 5, [2, 3], 2, [2, 3], [], [], 10, None, None))
        writer.partitions.add(("t", 6, [2, 1], 2, [2, 1], [], [], None, None, None))
        writer.finish(SnapshotMeta("c", 5))
    made = plan_job.run_here(PlanJob(path, tmp_path / "here", goal))
    if goal.kind is GoalKind.SET_FACTOR:
        assert plan_job.run(spark, PlanJob(path, tmp_path / "there", goal)) == made
        assert files(tmp_path / "here") == files(tmp_path / "there")
    assert made.notes[0] == ("broker 4 tells 180 bytes free of 100: the plan takes the size of its disks as not known")
    assert made.notes[1] == (
        "4 partitions stay as the cluster shows them, since no change can begin there: t-0: it has no replicas; "
        "t-1: it has a broker twice in [1, 1]; t-2: its leader or ISR is outside of its replicas [1, 2]: 3; "
        "t-3: its leader or ISR is outside of its replicas [1, 2]: 3"
    )
    rows = parquet_files.read(tmp_path / "here" / plan_directory.LEFT_OUT, plan_writer.LEFT_OUT_SCHEMA).to_pylist()
    assert {row["partition"] for row in rows} == left_out
    moves = parquet_files.read(tmp_path / "here" / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert moved is None or {move["partition"] for move in moves} == moved
    assert made.complete is (not left_out or goal.kind is GoalKind.REBALANCE)
    assert made.missed == (0 if made.complete else len(left_out))


def test_dp_2_a_note_on_one_odd_partition_speaks_of_one(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        writer.partitions.add(ODD[0])
        writer.finish(SnapshotMeta("c", 5))
    made = plan_job.run_here(PlanJob(tmp_path / "snapshot", tmp_path / "plan", Goal(GoalKind.HEAL)))
    why = "since no change can begin there: t-0: it has no replicas"
    assert f"1 partition stays as the cluster shows it, {why}" in made.notes


@pytest.mark.parametrize(
    ("partitions", "master", "starts"),
    [(42, "local[*]", True), (LARGE + 1, "none", False), (42, "spark://host:7077", True)],
)
def test_dp_6_every_plan_is_made_on_spark_unless_it_is_to_be_made_without(
    partitions: int, master: str, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(*_: object) -> None:
        raise JobFailed("not started")

    monkeypatch.setattr(spark_session, "_launch", launch)
    path = written(tmp_path / "snapshot", random_cluster(6, 3, partitions, dead=(2,)))
    where = ["--snapshot", str(path), "--master", master, "--executor-packages", "installed"]
    assert main(["plan", "heal", *where, "--out", str(tmp_path / "plan")]) == int(starts)
    assert (tmp_path / "plan").exists() is not starts


@pytest.mark.parametrize(("master", "starts"), [("local[*]", True), ("none", False)])
def test_dp_6_every_plan_is_verified_on_spark_unless_it_is_to_be_verified_without(
    master: str, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(*_: object) -> None:
        raise JobFailed("not started")

    path = written(tmp_path / "snapshot", random_cluster(6, 3, 42, dead=(2,)))
    plan_job.run_here(PlanJob(path, tmp_path / "plan", Goal(GoalKind.HEAL)))
    monkeypatch.setattr(spark_session, "_launch", launch)
    where = ["--snapshot", str(path), "--plan", str(tmp_path / "plan"), "--master", master]
    assert main(["plan", "verify", *where]) == int(starts)


def test_dh_6_a_drain_says_what_would_be_lost_if_its_brokers_went_now(tmp_path: Path) -> None:
    """t-0 and t-1 have no in-sync replica elsewhere; t-2 has one, which is fewer than 2. Topic u asks for one."""
    path = tmp_path / "snapshot"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, f"r{broker}", "h", 1, 1000, 900, True) for broker in (1, 2, 3, 4))
        for topic_, index, replicas, isr in (
            ("t", 0, [1, 2], [1]),
            ("t", 1, [1, 2], [1, 2]),
            ("t", 2, [3, 1], [3, 1]),
            ("t", 3, [3, 4], [3, 4]),
            ("u", 0, [3, 2], [3, 2]),
        ):
            writer.partitions.add((topic_, index, replicas, isr[0], isr, [], [], 10, None, None, None))
        writer.configs.add(("topic", "t", "min.insync.replicas", "2", 1))
        writer.configs.add(("broker", "", "follower.replication.throttled.rate", "700", OF_ALL_BROKERS))
        writer.finish(SnapshotMeta("c", 5))
    before = "brokers 1, 2 may not go before the plan has moved their replicas:"
    expected = [
        f"{before} 2 partitions lose the last in-sync replica without them (t-0, t-1)",
        f"{before} 3 partitions fall under min.insync.replicas without them (t-0, t-1, t-2)",
    ]
    made = plan_job.run_here(PlanJob(path, tmp_path / "here", Goal(GoalKind.DRAIN, (1, 2))))
    assert [note for note in made.notes if "cordon" not in note] == expected
    throttled = PlanOptions(network=NetworkLimits(100_000, throttle=9_000), effort=Effort.QUICK)
    other = plan_job.run_here(PlanJob(path, tmp_path / "other", Goal(GoalKind.DRAIN, (4,)), throttled))
    assert sum("goes on: 700 B/s to receive on brokers 1,2,3,4" in note for note in other.notes) == 1
    assert [note for note in other.notes if "may not go" in note] == [
        "broker 4 may not go before the plan has moved its replicas: 1 partition falls under min.insync.replicas"
        " without it (t-3)"
    ]
