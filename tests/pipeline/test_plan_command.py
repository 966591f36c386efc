"""`kafka-reassign-rpc plan`: flags, exit codes, output."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.auditing import audit_job
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_summary, plan_writer
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import META, PARTITIONS, SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster
from tests.pipeline.test_plan_job import written
from tests.planner.clusters import brokers, partition, random_cluster, topic
from tests.planner.shapes import roomy, shaped
from tests.processes import children_of
from tests.waiting import eventually

pytestmark = pytest.mark.gate


@pytest.fixture
def path(tmp_path: Path, shared: None) -> Path:
    """A snapshot of four brokers and two partitions."""
    brokers = [PlannerBroker(number, rack) for number, rack in ((1, "a"), (2, "b"), (3, "a"), (4, "b"))]
    return written(tmp_path / "snapshot", PlannerCluster(brokers, [topic("t", partition(0, 1, 2), partition(1, 3, 4))]))


def test_dp_2_the_command_plans_a_drain_prints_its_costs_and_verifies_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = path.with_name("plan")
    where = ("--snapshot", str(path), "--out", str(out))
    assert main(["plan", "drain", "--brokers", "1", *where]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: 1 of 2 partitions moves in 1 batch\n  copied    1.0 MB; at least 1.0 MB would")
    assert said.endswith(f"  report    {out / 'report.html'}\n")
    assert "<svg" in (out / "report.html").read_text()
    assert plan_summary.read_summary(out).brokers[0].after == plan_summary.LoadFigures()
    assert main(["plan", "verify", "--snapshot", str(path), "--plan", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 1 move, no rule is broken\n"
    next((out / plan_summary.ROLLBACK).iterdir()).unlink()
    assert main(["plan", "verify", "--snapshot", str(path), "--plan", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.err == "rollback: t-0: batch 1 in the table, in no file\n"
    assert main(["plan", "drain", "--brokers", "1", *where]) == 2
    assert "exists already" in capsys.readouterr().err


def test_dp_2_nothing_to_move_has_an_exit_code_of_its_own(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("plan")
    assert main(["plan", "heal", "--snapshot", str(path), "--out", str(out)]) == 3
    page = out / "report.html"
    assert capsys.readouterr().out == f"{out}: nothing to move among 2 partitions\n  report    {page}\n"
    assert "Nothing has to move." in page.read_text()
    assert plan_summary.read_summary(out).moves == 0


def test_dh_2_a_drain_of_a_lost_broker_says_what_the_cordon_does_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [PlannerBroker(number, None, live=number != 2) for number in (1, 2, 3, 4)]
    path = written(tmp_path / "snapshot", PlannerCluster(listed, [topic("t", partition(0, 1, 2, live=[1]))]))
    assert main(["plan", "drain", "--brokers", "1,2", "--snapshot", str(path), "--out", str(tmp_path / "plan")]) == 0
    said = capsys.readouterr().err.splitlines()
    [first] = [
        line for line in said if line.startswith("note: `submit` cordons brokers 1, 2 first where the controller")
    ]
    assert said[said.index(first) + 1] == (
        "note: broker 2 is lost: the cordon keeps it empty after a return, until somebody opens it"
    )


def test_dp_2_a_drain_that_cannot_empty_the_brokers_says_so_first_and_has_an_exit_code_of_its_own(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = path.with_name("plan")
    assert main(["plan", "drain", "--brokers", "2,3,4", "--snapshot", str(path), "--out", str(out)]) == 4
    said = capsys.readouterr()
    incomplete = "incomplete: brokers 2, 3, 4 keep 3 replicas, 2 partitions are left out"
    assert said.out.splitlines()[:2] == [f"{out}: {incomplete}", f"{out}: nothing to move among 2 partitions"]
    assert "replication factor 2 is larger than the 1 broker that can hold a replica (t-0, t-1)" in said.err
    assert incomplete in (out / "report.html").read_text()
    assert not plan_summary.read_summary(out).complete


def test_dp_8_a_plan_that_ends_on_fewer_racks_says_so_and_ends_with_6_until_that_is_accepted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers 2 and 4 are all of rack b."""
    drain = ["plan", "drain", "--brokers", "2,4", "--snapshot", str(path), "--out"]
    said = "2 partitions end on fewer racks than before: the loss of one costs more"
    out, accepted = path.with_name("plan"), path.with_name("accepted")
    assert main([*drain, str(out)]) == 6
    assert f"  risks     {said}\n" in capsys.readouterr().out
    assert f"{said.capitalize()}." in (out / "report.html").read_text()
    assert main([*drain, str(accepted), "--allow-fewer-racks"]) == 0
    assert "--allow-fewer-racks" in (accepted / "report.html").read_text()
    capsys.readouterr()
    assert main(["plan", "show", str(out)]) == 0
    assert capsys.readouterr().out.endswith(f"{out}: {said}\n")
    assert main(["plan", "verify", "--snapshot", str(path), "--plan", str(out)]) == 0


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("drain", "--brokers", "66"), "drain: the snapshot has no broker 66"),
        (("expand", "--brokers", "66"), "expand: the snapshot has no broker 66"),
        (("heal", "--brokers", "1"), "heal: broker 1 is live"),
        (("set-rf", "--topics", "*", "--replication-factor", "5"), "is larger than the 4 live brokers"),
        (
            ("heal", "--broker-bandwidth", "1=5MB", "--broker-bandwidth", "999=5MB"),
            "broker-bandwidth: the snapshot has no broker 999: it has 1, 2, 3, 4\n",
        ),
    ],
)
def test_dp_2_a_goal_that_needs_no_data_to_be_refused_is_refused_before_spark_starts(
    arguments: tuple[str, ...],
    saying: str,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def started(*_: object, **__: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("kafka_reassign_rpc.pipeline.spark_session.session", started)
    assert main(["plan", *arguments, "--snapshot", str(path), "--out", str(path.with_name("plan"))]) == 2
    assert saying in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("heal", "--brokers", ""), "--brokers"),
        (("heal", "--to", " , "), "--to"),
        (("drain", "--brokers", ""), "--brokers"),
        (("set-rf", "--replication-factor", "2", "--topics", ""), "--topics"),
        (("rebalance", "--exclude-topics", ""), "--exclude-topics"),
        (("combine", "--heal", "", "--drain", "3"), "--heal"),
        (("combine", "--heal", "--drain", ","), "--drain"),
        (("disks", "--brokers", ""), "--brokers"),
        (("disks", "--topics", ","), "--topics"),
    ],
)
def test_dp_2_an_empty_list_as_of_an_unset_variable_does_not_mean_all(
    arguments: tuple[str, ...], flag: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *arguments, "--snapshot", str(path), "--out", str(path.with_name("plan"))]) == 2
    assert f"{flag}: an empty list names nothing, and does not mean all" in capsys.readouterr().err


def write_large_snapshot(path: Path, partitions: int) -> None:
    """Rows as columns, which takes a moment: brokers 0 to 9 have most of the replicas."""
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, f"r{broker % 3}", "h", 9092, None, None, True) for broker in range(30))
        writer.finish(SnapshotMeta("c", 5))
    (path / META).write_text('{"cluster_id": "c", "at": 5}')  # it names no rows: those of partitions come now
    number = np.arange(partitions)
    first = np.where(number % 3 > 0, number % 10, number % 30)
    replicas = np.stack([first, (first + 1) % 30, (first + 2) % 30], axis=1).ravel().astype(np.int32)
    lists = pa.ListArray.from_arrays(np.arange(0, 3 * partitions + 1, 3, dtype=np.int32), replicas)
    nothing = pa.array([[]] * partitions, PARTITIONS.field("adding").type)
    columns = {
        "topic": pa.array(np.char.add("t", (number // 100).astype(str))),
        "partition": pa.array((number % 100).astype(np.int32)),
        "replicas": lists, "leader": pa.array(first.astype(np.int32)), "isr": lists,
        "adding": nothing, "removing": nothing, "bytes": pa.array(1000 + number * 7919 % 100_000),
    }  # fmt: skip
    others = [field for field in PARTITIONS if field.name not in columns]
    arrays = {field.name: pa.nulls(partitions, field.type) for field in others}
    table = pa.table({**columns, **arrays}).select(PARTITIONS.names).cast(PARTITIONS)
    pq.write_table(table, snapshot_files.table_path(path, "partitions") / "part-00000.parquet")


@pytest.mark.parametrize(
    "goal",
    [
        ("rebalance",),
        pytest.param(("combine", "--drain", "2", "--expand", "29"), marks=pytest.mark.release),
        pytest.param(("drain", "--brokers", "2"), marks=pytest.mark.release),
    ],
    ids=lambda goal: goal[0],
)
async def test_dp_3_a_large_plan_that_gets_sigterm_ends_within_five_seconds_and_leaves_no_temporary_file(
    tmp_path: Path, goal: Sequence[str]
) -> None:
    """In the middle of its rounds: the folder of the plan is there, under its hidden name. Five seconds of CPU time,
    since a busy machine takes longer."""
    snapshot, scratch, out = tmp_path / "snapshot", tmp_path / "scratch", tmp_path / "plan"
    write_large_snapshot(snapshot, 300_000)
    scratch.mkdir()
    arguments = ["plan", *goal, "--snapshot", str(snapshot), "--out", str(out)]
    command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *arguments]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE) as plan:
        hidden = tmp_path / f".plan.{plan.pid}"
        await eventually(lambda: hidden.exists() or plan.poll() is not None, within=300)
        used = sum(map(cpu_seconds, [plan.pid, *children_of(plan.pid)]))  # Spark's Java is one of them
        plan.send_signal(signal.SIGTERM)
        _, status, usage = await asyncio.to_thread(os.wait4, plan.pid, 0)
        plan.returncode = os.waitstatus_to_exitcode(status)
    assert plan.returncode == 143
    assert usage.ru_utime + usage.ru_stime - used < 5.0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["scratch", "snapshot"]
    assert list(scratch.iterdir()) == []


def cpu_seconds(process: int) -> float:
    """What it has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


GOALS: dict[str, tuple[str, ...]] = {
    "heal": (),
    "drain": ("--brokers", "2"),
    "expand": ("--brokers", "8,9", "--tolerance", "0.2"),
    "rebalance": ("--tolerance", "0.1", "--max-bytes", "20000000"),
    "set-rf": ("--replication-factor", "3", "--topics", "t0,t1"),
}


DONE_ELSEWHERE = ("heal", "drain")
"""Goals that other tests plan for in each run: these in CI alone."""


@pytest.mark.parametrize(
    "goal", [pytest.param(goal, marks=[pytest.mark.gate] if goal in DONE_ELSEWHERE else []) for goal in GOALS]
)
@pytest.mark.usefixtures("shared")
def test_dp_2_the_command_plans_and_verifies_every_goal_and_the_plan_reaches_it(
    goal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stood = random_cluster(8, 4, 60, factor=2, dead=(5,) if goal == "heal" else ())
    new = [PlannerBroker(number, f"r{number % 4}", True, 10**13) for number in (8, 9)] if goal == "expand" else []
    cluster = PlannerCluster([*stood.brokers, *new], stood.topics)
    where = ("--snapshot", str(written(tmp_path / "snapshot", cluster)))
    out = tmp_path / "plan"

    assert main(["plan", goal, *GOALS[goal], *where, "--out", str(out), "--max-moves-per-broker", "4"]) == 0
    assert " partitions move in " in capsys.readouterr().out
    if goal in ("expand", "set-rf"):  # `plan` itself verifies every plan
        assert main(["plan", "verify", *where, "--plan", str(out)]) == 0
        assert capsys.readouterr().out.endswith("no rule is broken\n")

    summary = plan_summary.read_summary(out)
    partitions = {(one.name, held.index): held.replicas for one in cluster.topics for held in one.partitions}
    moved = {
        (row["topic"], row["partition"]): tuple(row["to_replicas"])
        for row in parquet_files.read(out / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    }
    after = partitions | moved
    if goal in ("heal", "drain"):
        assert not any({"heal": 5, "drain": 2}[goal] in replicas for replicas in after.values())
        assert summary.bytes == summary.lower_bound
    elif goal == "set-rf":
        assert {(name[0] in ("t0", "t1"), len(replicas)) for name, replicas in after.items()} == {(True, 3), (False, 2)}
        assert all(moved[name][:2] == partitions[name] for name in moved), "what was there stays, in its order"
        assert all(len({broker % 4 for broker in replicas}) == 3 for replicas in moved.values())
    elif goal == "expand":
        assert all(set(replicas) - set(partitions[name]) <= {8, 9} for name, replicas in moved.items())
        shares = [one.after.replicas / one.target.replicas for one in summary.brokers if one.broker in (8, 9)]
        assert all(share >= 0.8 for share in shares), shares
    else:
        assert summary.imbalance_after["bytes"] < summary.imbalance_before["bytes"]
        assert 15_000_000 < summary.bytes <= 20_000_000, "as much as it may"
        less = summary.bytes - 1
        text = (out / plan_summary.SUMMARY).read_text()
        (out / plan_summary.SUMMARY).write_text(text.replace('"max_bytes": 20000000', f'"max_bytes": {less}'))
        assert main(["plan", "verify", *where, "--plan", str(out)]) == 1
        first, *others = capsys.readouterr().err.splitlines()
        assert first == f"max-bytes: plan: copies {summary.bytes} bytes"
        assert {line.partition(":")[0] for line in others} <= {"why"}, "a reason names the limit"
    assert sum(one.moves for one in summary.batches) == summary.moves == len(moved)
    assert summary.moves_at_a_time == summary.requested.moves_per_broker == 4


@pytest.mark.usefixtures("shared")
def test_dp_2_the_command_plans_an_expansion_within_its_max_bytes(tmp_path: Path) -> None:
    stood = random_cluster(8, 4, 60, factor=2)
    cluster = PlannerCluster([*stood.brokers, PlannerBroker(8, "r0", True, 10**13)], stood.topics)
    where = ("--snapshot", str(written(tmp_path / "snapshot", cluster)), "--out", str(tmp_path / "plan"))
    assert main(["plan", "expand", "--brokers", "8", "--max-bytes", "5MB", *where]) == 0
    summary = plan_summary.read_summary(tmp_path / "plan")
    assert summary.requested.max_bytes == 5_000_000
    assert 3_500_000 < summary.bytes <= 5_000_000


@pytest.mark.usefixtures("shared")
def test_dp_7_a_plan_is_carried_out_with_as_many_moves_at_a_time_as_make_it_done_sooner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broker 1 can send to forty others at a time: each of these takes two partitions of 1 MiB at 1 MiB/s."""
    cluster = PlannerCluster(brokers([None] * 41), [topic("t", *(partition(index, 1) for index in range(80)))])
    where = ("--snapshot", str(written(tmp_path / "snapshot", cluster)), "--out", str(tmp_path / "plan"))
    rates = ("--bandwidth", "1MiB", "--broker-bandwidth", "1=40MiB")
    assert main(["plan", "drain", "--brokers", "1", *where, *rates]) == 0
    summary = plan_summary.read_summary(tmp_path / "plan")
    assert (summary.requested.moves_per_broker, summary.moves_at_a_time) == (10, 80)
    assert (summary.expected_seconds, summary.bound_seconds) == pytest.approx((2, 2))
    assert summary.batches_seconds >= 8, "a batch has ten moves of broker 1"
    assert ", 80 moves to and as many from a broker at a time\n" in capsys.readouterr().out
    assert read_plan(tmp_path / "plan").summary.moves_per_broker == 80


GIVEN = ("--snapshot", "nowhere", "--out", "out")


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("heal", *GIVEN), "nowhere: no such directory"),
        (("heal", *GIVEN, "--seed", "x"), "--seed: expected a whole number, got [hidden]"),
        (("drain", *GIVEN, "--brokers", "1,x"), "--brokers: expected a whole number, got [hidden]"),
        (
            ("combine", "--heal", "7", "--drain", "3", *GIVEN, "--until", "0.05"),
            "--until is about the brokers of --expand: give both",
        ),
        (("rebalance", *GIVEN, "--tolerance", "2"), "--tolerance: expected a number from 0.001 to 1.0, got '2'"),
        (("rebalance", *GIVEN, "--weight", "colour=1"), "--weight: expected one of bytes, replicas"),
        (
            ("expand", "--brokers", "3", *GIVEN, "--weight", "topic_leaders=1"),
            "--weight: rebalance alone spreads topics",
        ),
        (("drain", "--brokers", "3", *GIVEN, "--within", "soon"), "--within: expected a whole number, got [hidden]"),
        (("drain", "--brokers", "3", *GIVEN, "--to", "x"), "--to: expected a whole number, got [hidden]"),
        (("rebalance", *GIVEN, "--weight", "bytes=x"), "--weight: expected a number, got [hidden]"),
        (("set-rf", *GIVEN, "--topics", "*", "--replication-factor", "0"), "--replication-factor: expected"),
        (("heal", *GIVEN, "--max-bytes-per-batch", "0"), "--max-bytes-per-batch: expected"),
        (("verify", "--snapshot", "nowhere", "--plan", "out"), "nowhere: no such directory"),
    ],
)
def test_dp_2_wrong_flags_are_named(
    arguments: tuple[str, ...],
    saying: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("kafka-reassign-rpc plan: ")
    assert saying in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("goal", [("rebalance",), ("expand", "--brokers", "3"), ("disks",)])
def test_dp_2_a_tolerance_is_given_once(goal: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["plan", *goal, *GIVEN, "--tolerance", "0.1", "--until", "0.05"])
    assert "argument --until: not allowed with argument --tolerance" in capsys.readouterr().err


@pytest.mark.parametrize(
    "goal",
    # tests/planner/test_racks.py balances with racks in each run
    [
        pytest.param(("racks",), id="racks"),
        pytest.param(("rebalance", "--racks"), id="rebalance", marks=pytest.mark.gate),
    ],
)
@pytest.mark.usefixtures("shared")
def test_dp_8_audit_reports_no_rack_violation_after_a_plan_that_mends_racks(
    goal: tuple[str, ...], tmp_path: Path, spark: SparkSession
) -> None:
    cluster, out = roomy(shaped("plain", 8, 150, seed=2)), tmp_path / "plan"
    before = written(tmp_path / "before", cluster)
    assert main(["plan", *goal, "--snapshot", str(before), "--out", str(out)]) == 0
    rows = parquet_files.read(out / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    moved = {(row["topic"], row["partition"]): row for row in rows}
    reported = violations(spark, before)
    assert reported
    assert reported <= moved.keys()
    for one in cluster.topics:
        for held in one.partitions:
            if (one.name, held.index) in moved:
                held.replicas = tuple(moved[one.name, held.index]["to_replicas"])
    assert violations(spark, written(tmp_path / "after", cluster)) == set()
    if goal == ("racks",):
        assert reported == moved.keys()
        victim = out / plan_directory.MOVES / "part-00000.parquet"
        with parquet_files.TableWriter(victim, plan_writer.MOVES_SCHEMA) as writer:
            writer.extend(tuple(row.values()) for row in rows[1:])
        broken = verify(CallOnSpark(spark, 1), before, out)
        assert {one.name for one in broken if one.rule == "forgotten"} == {f"{rows[0]['topic']}-{rows[0]['partition']}"}


def violations(spark: SparkSession, path: Path) -> set[tuple[str, int]]:
    """The partitions that `audit` reports to be on fewer racks than possible."""
    taken = [snapshot_files.FoundSnapshot(path, snapshot_files.check(path))]
    tables = audit_job.audit_tables(CallOnSpark(spark, 1), taken, None)
    return {(row["topic"], row["partition"]) for row in tables["rack_violations"].to_pylist()}


@pytest.mark.parametrize("goal", [*GOALS, "racks"])
def test_dp_2_help_names_exit_codes_and_an_example(goal: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["plan", goal, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "exit codes: 0 planned" in said
    assert "--max-moves-per-broker" in said


def test_dp_2_several_goals_make_one_plan_and_each_move_says_which_of_them_asks_for_it(
    tmp_path: Path, shared: None, capsys: pytest.CaptureFixture[str]
) -> None:
    held = [partition(0, 7, 1, live=[1]), partition(1, 3, 1), partition(2, 7, 3, live=[3])]
    held += [partition(index, *((1, 2), (2, 1))[index % 2]) for index in range(3, 9)]
    there = [*map(PlannerBroker, (1, 2, 3, 9)), PlannerBroker(7, live=False)]
    snapshot = str(written(tmp_path / "snapshot", PlannerCluster(there, [topic("t", *held)])))
    out = tmp_path / "plan"
    where = ("--snapshot", snapshot, "--out", str(out))
    assert main(["plan", "combine", "--drain", "3", "--heal", "--expand", "3", *where]) == 2
    assert "combine: broker 3 stands in --drain and in --expand: it can have one part" in capsys.readouterr().err
    assert main(["plan", "combine", "--drain", "3", "--heal", "--expand", "9", *where]) == 0
    summary = plan_summary.read_summary(out)
    assert summary.requested.parts == {"heal": [], "drain": [3], "expand": [9]}
    assert [one.after.replicas for one in summary.brokers if one.broker in (3, 7)] == [0, 0]
    title = "Replicas of lost broker 7 move to live ones; Broker 3 is drained; New broker 9 takes its share"
    assert title in (out / "report.html").read_text()
    assert main(["plan", "verify", "--snapshot", snapshot, "--plan", str(out)]) == 0
    capsys.readouterr()
    assert main(["plan", "show", str(out), "--reason", "expand:"]) == 0
    expanding = capsys.readouterr().out.splitlines()
    assert expanding[:-1]
    assert main(["plan", "show", str(out)]) == 0
    for line in capsys.readouterr().out.splitlines()[:-1]:
        is_forced = any(name in line.split("→")[0] for name in ("[7,", "[3,", ",3]"))
        assert line in expanding or is_forced


def test_dp_2_a_rebalance_that_leaves_partitions_uneven_for_lack_of_time_is_incomplete(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both partitions of t are uneven once 2 and 3 share a rack with their neighbours."""
    there = [PlannerBroker(number, rack) for number, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"))]
    held = [partition(0, 1, 2, size=10**9), partition(1, 3, 4, size=10**9)]
    uneven = written(path.with_name("uneven"), PlannerCluster(there, [topic("t", *held)]))
    out = path.with_name("plan")
    limit = ("--within", "1s", "--bandwidth", "1MB")
    assert main(["plan", "rebalance", "--racks", *limit, "--snapshot", str(uneven), "--out", str(out)]) == 4
    said = capsys.readouterr()
    assert said.out.startswith(f"{out}: incomplete: 2 partitions are left out\n")
    assert "there is no time for it within 1 s (--within) (t-0, t-1)" in said.err
    assert plan_summary.read_summary(out).missed == 2
