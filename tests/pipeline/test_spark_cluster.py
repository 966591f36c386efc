"""All jobs on a standalone Spark cluster whose machines share nothing but the store, against those on `local[2]`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.embedded_kraft.kafka_jars import JarsUnavailable
from kafka_reassign_rpc.pipeline.store_paths import StorePath, store_path
from tests.conftest import run
from tests.jvm import QUICK
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.spark_cluster import MEMORY_MB, PYTHON, ROOT, SparkCluster, can_unshare, spark_cluster
from tests.pipeline.test_plan_job import written
from tests.planner.clusters import random_cluster
from tests.stock.jars import s3_jars
from tests.waiting import eventually

pytestmark = [pytest.mark.release, pytest.mark.timeout(3600)]

LIMIT_S = 1500.0
"""Seconds for all jobs on both masters: they take a few minutes on an idle machine."""
LAST = "rebalance"
"""The plan during which a worker is lost: it has several rounds."""
CODES = [
    *("0 plan heal", "0 plan drain", "0 plan expand", "0 plan set-rf", "0 plan rebalance", "0 plan verify"),
    *("3 audit --snapshots", "0 history --snapshot"),
]
"""The jobs in their order, with their exit codes. No partition is on the lost broker and on the drained one, and each
that loses a replica to set-rf keeps live ones. What expand and rebalance leave out does not make them incomplete. The
audit finds a changed replication factor."""
RESULTS = {"heal", "drain", "expand", "set-rf", LAST, "audit", "history"}


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


@pytest.fixture(scope="module")
def seen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the machine of `cluster_with_folder` sees: none of the folders of tests is in it."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def cluster_with_folder(tmp_path_factory: pytest.TempPathFactory, seen_folder: Path) -> Iterator[SparkCluster]:
    """One worker, which no test may harm: to start one takes longer than what most tests do with it."""
    assert can_unshare(), "this test needs mount namespaces: root, or user namespaces"
    with spark_cluster(tmp_path_factory.mktemp("cluster"), workers=1, shared=seen_folder) as started:
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
    """A cluster to plan for, one of whose brokers is dead."""
    written(store / "cluster", random_cluster(12, 3, 300, dead=(5,)))


def plan_commands(store: str, out: str) -> list[list[str]]:
    """A plan of several rounds, below `out`, and its verification."""
    snapshot = ["--snapshot", f"{store}/cluster"]
    plan = f"{out}/{LAST}"
    made = ["plan", LAST, "--tolerance", "0.02", *snapshot, "--out", plan]
    return [made, ["plan", "verify", *snapshot, "--plan", plan]]


def all_commands(store: str, out: str) -> list[list[str]]:
    """A plan for every goal, the last one as above; then an audit and a history of what was exported."""
    snapshot = ["--snapshot", f"{store}/cluster"]
    goals = {
        "heal": [],
        "drain": ["--brokers", "2"],
        "expand": ["--brokers", "3"],
        "set-rf": ["--replication-factor", "2", "--topics", "t0"],
    }
    plans = [["plan", goal, *more, *snapshot, "--out", f"{out}/{goal}"] for goal, more in goals.items()]
    audit = ["audit", "--snapshots", f"{store}/exported", "--events", f"{store}/events", "--out", f"{out}/audit"]
    history = ["history", "--snapshot", f"{store}/exported/one", "--events", f"{store}/events"]
    return [*plans, *plan_commands(store, out), audit, [*history, "--out", f"{out}/history"]]


def export_before_and_after_a_move(client: ReassignmentClient, bootstrap: str, store: str) -> None:
    """Two snapshots of a cluster, between which a partition gets one more replica, and the events of that."""
    topic = client.describe_topics(["orders"])["orders"]
    assert not isinstance(topic, KafkaError)
    held = topic[0].replicas
    grown = {TopicPartition("orders", 0): (*held, next(one for one in range(1, 7) if one not in held))}
    for name in ("one", "two"):
        if name == "two":
            assert not any(client.alter_partition_reassignments(grown).values())
            run(eventually(lambda: not client.list_partition_reassignments(), within=120))
        out = ["--out", f"{store}/exported/{name}", "--events", f"{store}/events"]
        assert main(["export", "--bootstrap-server", bootstrap, *out]) == 0


@contextmanager
def started(master: str, chosen: dict[str, str], jobs: list[list[str]]) -> "Iterator[subprocess.Popen[str]]":
    """The jobs in a process, which ends with the block."""
    arguments = [master, json.dumps(chosen), json.dumps(jobs)]
    command = [sys.executable, "-m", "tests.pipeline.jobs_on_master", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def content(s3: S3, directory: str) -> dict[str, bytes]:
    """The files by name. Pages name their own directory in commands."""
    found, place = {}, f"{BUCKET}/{directory}/".encode()
    for name in s3.names(directory):
        with s3.file_system().open_input_file(f"{BUCKET}/{name}") as file:
            found[name.removeprefix(f"{directory}/")] = file.readall().replace(place, b"")
    return found


def test_dp_6_every_job_gives_the_same_on_a_cluster_that_loses_a_machine_as_here(
    cluster: SparkCluster, jars: str, monkeypatch: pytest.MonkeyPatch, client: ReassignmentClient, bootstrap: str
) -> None:
    with s3_endpoint() as s3, in_environment(s3, monkeypatch):
        store = f"s3a://{BUCKET}/in"
        prepare(store_path(store))
        export_before_and_after_a_move(client, bootstrap, store)
        own_python = {key: value for key, value in settings(jars).items() if key != "spark.pyspark.python"}
        with (
            started("local[2]", own_python, all_commands(store, f"s3a://{BUCKET}/here")) as here,
            started(cluster.master, settings(jars), all_commands(store, f"s3a://{BUCKET}/there")) as there,
        ):
            run(eventually(lambda: kept_rounds(s3) or there.poll() is not None, within=LIMIT_S))
            assert there.poll() is None, there.communicate()[1][-3000:]
            cluster.kill_worker(0)
            said_there, error_there = there.communicate(timeout=LIMIT_S)
            said_here, error_here = here.communicate(timeout=LIMIT_S)
        assert (here.returncode, there.returncode) == (0, 0), error_here + error_there
        assert codes(said_here) == CODES, error_here
        assert said_there.replace(f"{BUCKET}/there/", f"{BUCKET}/here/") == said_here
        expected, found = content(s3, "here"), content(s3, "there")
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
        assert {name.partition("/")[0] for name in found} == RESULTS, "nothing else is left"


def codes(said: str) -> list[str]:
    """The lines with exit codes, as jobs_on_master prints them."""
    return [line for line in said.splitlines() if line[:1].isdigit() and line.split()[1:2] != []]


def kept_rounds(s3: S3) -> list[str]:
    """The rounds of the last plan that are in the store: it has begun, and decides."""
    return [name for name in s3.names("there") if f".{LAST}.rounds" in name and "/rdd-" in name]


@pytest.mark.parametrize("case", ["a path of this machine", "no such Python", "not installed"])
def test_dp_6_one_line_says_what_an_executor_lacks(
    cluster_with_folder: SparkCluster, tmp_path: Path, case: str
) -> None:
    prepare(tmp_path)
    chosen = settings("")
    more = []
    if case == "no such Python":
        chosen["spark.pyspark.python"] = "/no/python"
    if case == "not installed":
        more = ["--executor-packages", "installed"]
    flags = ["--master", cluster_with_folder.master]
    flags += [part for key, value in chosen.items() if value for part in ("--conf", f"{key}={value}")]
    command = ["plan", "heal", "--snapshot", str(tmp_path / "cluster"), "--out", str(tmp_path / "plan")]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *command, *flags, *more],
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


def test_dp_6_a_folder_that_all_machines_see_is_a_store(cluster_with_folder: SparkCluster, seen_folder: Path) -> None:
    prepare(seen_folder)
    jobs = plan_commands(f"file:{seen_folder}", f"file:{seen_folder}/out")
    with started(cluster_with_folder.master, settings(""), jobs) as done:
        said, error = done.communicate(timeout=600)
    assert done.returncode == 0, error
    assert [line[0] for line in said.splitlines() if line.split()[1:2] == ["plan"]] == ["0", "0"]
    assert [path.name for path in (seen_folder / "out").iterdir()] == [LAST]
