"""One worker of a standalone Spark cluster that sees none of the driver's folders but one: what it lacks is said in one
line, and the folder that all see is a store.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jvm import QUICK
from tests.pipeline.jobs_for_spark import LAST, plan_commands, prepare, settings, started
from tests.pipeline.spark_cluster import ROOT, SparkCluster, can_unshare, spark_cluster

pytestmark = [pytest.mark.release, pytest.mark.timeout(3600)]


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
    chosen["spark.driver.extraJavaOptions"] = " ".join(QUICK)
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
