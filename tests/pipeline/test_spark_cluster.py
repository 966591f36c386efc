"""Plans on a standalone Spark cluster whose machines share nothing but the store, against `local[*]`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_reassign_rpc.pipeline.store_paths import StorePath, store_path
from tests.conftest import run
from tests.jvm import QUICK
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.spark_cluster import MEMORY_MB, PYTHON, ROOT, SparkCluster, can_unshare, spark_cluster
from tests.pipeline.test_plan_job import written
from tests.planner.clusters import random_cluster
from tests.stock.jars import JarsUnavailable, s3_jars
from tests.waiting import eventually

pytestmark = [pytest.mark.in_ci, pytest.mark.timeout(1500)]

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
    """A cluster to plan for, one of whose brokers is dead."""
    written(store / "cluster", random_cluster(12, 3, 300, dead=(5,)))


def plan_commands(store: str, out: str) -> list[list[str]]:
    """A plan of several rounds, below `out`, and its verification."""
    snapshot = ["--snapshot", f"{store}/cluster"]
    plan = f"{out}/{LAST}"
    made = ["plan", LAST, "--tolerance", "0.02", *snapshot, "--out", plan]
    return [made, ["plan", "verify", *snapshot, "--plan", plan]]


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


def test_dp_6_a_plan_and_its_verification_give_the_same_on_a_cluster_that_loses_a_machine_as_here(
    cluster: SparkCluster, jars: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_endpoint() as s3, in_environment(s3, monkeypatch):
        store = f"s3a://{BUCKET}/in"
        prepare(store_path(store))
        own_python = {key: value for key, value in settings(jars).items() if key != "spark.pyspark.python"}
        here = start("local[2]", own_python, plan_commands(store, f"s3a://{BUCKET}/here"))
        said_here, error = here.communicate(timeout=600)
        assert here.returncode == 0, error
        assert codes(said_here) == ["0 plan rebalance", "0 plan verify"], error
        with start(cluster.master, settings(jars), plan_commands(store, f"s3a://{BUCKET}/there")) as there:
            run(eventually(lambda: kept_rounds(s3) or there.poll() is not None, within=600))
            assert there.poll() is None, there.communicate()[1][-3000:]
            cluster.kill_worker(0)
            said_there, error = there.communicate(timeout=600)
        assert there.returncode == 0, error
        assert codes(said_there) == codes(said_here)
        expected, found = content(s3, "here"), content(s3, "there")
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
        assert {name.partition("/")[0] for name in found} == {LAST}, "nothing else is left"


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
        jobs = plan_commands(f"file:{shared}", f"file:{shared}/out")
        done = start(cluster.master, settings(""), jobs)
        said, error = done.communicate(timeout=600)
    assert done.returncode == 0, error
    assert [line[0] for line in said.splitlines() if line.split()[1:2] == ["plan"]] == ["0", "0"]
    assert [path.name for path in (shared / "out").iterdir()] == [LAST]
