"""The jobs on a standalone Spark cluster whose machines share nothing but the store, against `local[*]`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath, store_path
from tests.conftest import run
from tests.jvm import QUICK
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.spark_cluster import MEMORY_MB, PYTHON, ROOT, SparkCluster, can_unshare, spark_cluster
from tests.pipeline.test_audit import FIRST, SECOND, write_event_file
from tests.pipeline.test_history import EVENTS
from tests.pipeline.test_plan_job import written
from tests.planner.clusters import random_cluster
from tests.stock.jars import JarsUnavailable, s3_jars
from tests.waiting import eventually

pytestmark = [pytest.mark.in_ci, pytest.mark.timeout(1500)]

GOALS = {
    "heal": ["heal"],
    "drain": ["drain", "--brokers", "3,7"],
    "expand": ["expand", "--brokers", "11"],
    "set-rf": ["set-rf", "--topics", "*", "--replication-factor", "2"],
    "rebalance": ["rebalance", "--tolerance", "0.02"],
}
LAST = "rebalance"
"""The plan during which a worker is lost: it has several rounds."""


@pytest.fixture(scope="module")
def jars() -> str:
    try:
        return ",".join(sorted(map(str, s3_jars().glob("*.jar"))))
    except JarsUnavailable as error:
        pytest.fail(f"the jars for s3a cannot be resolved: {error}")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    assert can_unshare(), "this test needs mount namespaces: root, or user namespaces"
    with spark_cluster(tmp_path) as started:
        yield started


def settings(jars: str) -> dict[str, str]:
    quick = " ".join(QUICK)
    return ({"spark.jars": jars} if jars else {}) | {
        "spark.pyspark.python": str(PYTHON),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": f"{MEMORY_MB - 128}m",
        "spark.executor.memoryOverhead": "128m",
        "spark.executor.extraJavaOptions": quick,
        "spark.sql.shuffle.partitions": "2",
    }


def prepare(store: StorePath) -> None:
    """Two snapshots for an audit, one cluster to plan for, and events."""
    lost = random_cluster(12, 3, 1200, dead=(5,))
    written(store / "cluster", lost)
    for number, partitions in enumerate((FIRST, SECOND), 1):
        with SnapshotWriter(store / "times" / f"s{number}") as writer:
            for broker in (1, 2, 3, 4):
                writer.brokers.add((broker, "ab"[broker % 2], "h", 9092, None, None, True))
            for topic, index, replicas, isr in partitions:
                writer.partitions.add((topic, index, replicas, isr[0], isr, [], [], 10, None, None))
            writer.finish(SnapshotMeta(cluster_id="c", at=number * 60_000))
    write_event_file(store / "events", EVENTS)


def commands(store: str, out: str) -> list[list[str]]:
    """Every job, with its results below `out`; the plan with the loss of a worker, and what follows it, last."""
    snapshot = ["--snapshot", f"{store}/cluster"]
    made = [["plan", *goal, *snapshot, "--out", f"{out}/{name}"] for name, goal in GOALS.items()]
    made.append(["plan", "verify", *snapshot, "--plan", f"{out}/{LAST}"])
    events = ["--events", f"{store}/events"]
    made.append(["audit", "--snapshots", f"{store}/times", *events, "--out", f"{out}/audit"])
    made.append(["history", *events, "--snapshot", f"{store}/times/s1", "--out", f"{out}/history"])
    return made


def start(master: str, chosen: dict[str, str], jobs: list[list[str]]) -> "subprocess.Popen[str]":
    arguments = [master, json.dumps(chosen), json.dumps(jobs)]
    command = [sys.executable, "-m", "tests.pipeline.jobs_on_master", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def content(s3: S3, directory: str) -> dict[str, bytes]:
    found = {}
    for name in s3.names(directory):
        with s3.file_system().open_input_file(f"{BUCKET}/{name}") as file:
            found[name.removeprefix(f"{directory}/")] = file.readall()
    return found


def test_dp_6_every_job_gives_the_same_on_a_cluster_that_loses_a_machine_as_here(
    cluster: SparkCluster, jars: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_endpoint() as s3, in_environment(s3, monkeypatch):
        prepare(store_path(f"s3a://{BUCKET}/in"))
        own_python = {key: value for key, value in settings(jars).items() if key != "spark.pyspark.python"}
        here = start("local[2]", own_python, commands(f"s3a://{BUCKET}/in", f"s3a://{BUCKET}/here"))
        said_here, error = here.communicate(timeout=600)
        assert here.returncode == 0, error
        assert [line[0] for line in codes(said_here)] == ["0"] * len(GOALS) + ["0", "3", "0"], error
        there = start(cluster.master, settings(jars), commands(f"s3a://{BUCKET}/in", f"s3a://{BUCKET}/there"))
        with there:
            run(eventually(lambda: kept_rounds(s3) or there.poll() is not None, within=600))
            assert there.poll() is None, there.communicate()[1][-3000:]
            cluster.kill_worker(0)
            said_there, error = there.communicate(timeout=600)
        assert there.returncode == 0, error
        assert codes(said_there) == codes(said_here)
        assert len(codes(said_there)) == len(GOALS) + 3
        expected, found = content(s3, "here"), content(s3, "there")
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
        assert {name.partition("/")[0] for name in found} == {*GOALS, "audit", "history"}, "nothing else is left"


def codes(said: str) -> list[str]:
    """The lines with exit codes, as jobs_on_master prints them."""
    return [line for line in said.splitlines() if line[:1].isdigit() and line.split()[1:2] != []]


def kept_rounds(s3: S3) -> list[str]:
    """The rounds of the last plan that are in the store: it has begun, and decides."""
    return [name for name in s3.names("there") if f".{LAST}.rounds" in name and "/rdd-" in name]


@pytest.mark.parametrize("case", ["a path of this machine", "no such Python", "not installed"])
def test_dp_6_one_line_says_what_an_executor_lacks(cluster: SparkCluster, tmp_path: Path, case: str) -> None:
    prepare(tmp_path)
    chosen = settings("")
    more = []
    if case == "no such Python":
        chosen["spark.pyspark.python"] = "/no/python"
    if case == "not installed":
        more = ["--executor-packages", "installed"]
    flags = [part for key, value in chosen.items() if value for part in ("--conf", f"{key}={value}")]
    command = ["plan", "heal", "--snapshot", str(tmp_path / "cluster"), "--out", str(tmp_path / "plan")]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *command, "--master", cluster.master, *flags, *more],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1, done
    [line] = done.stderr.splitlines()
    expected = {
        "a path of this machine": f"does not see {tmp_path}/cluster/brokers.parquet (No such file or directory)",
        "no such Python": "executors do not run the Python /no/python (",
        "not installed": "cannot import",
    }[case]
    assert expected in line
    assert not (tmp_path / "plan").exists()


def test_dp_6_a_folder_that_all_machines_see_is_a_store(tmp_path: Path) -> None:
    assert can_unshare(), "this test needs mount namespaces: root, or user namespaces"
    shared = tmp_path / "shared"
    shared.mkdir()
    prepare(shared)
    with spark_cluster(tmp_path, workers=1, shared=shared) as cluster:
        jobs = [
            job
            for job in commands(f"file:{shared}/in".replace("/in", ""), f"file:{shared}/out")
            if LAST in " ".join(job)
        ]
        done = start(cluster.master, settings(""), jobs)
        said, error = done.communicate(timeout=600)
    assert done.returncode == 0, error
    assert [line[0] for line in said.splitlines() if line.split()[1:2] == ["plan"]] == ["0", "0"]
    assert [path.name for path in (shared / "out").iterdir()] == [LAST]
