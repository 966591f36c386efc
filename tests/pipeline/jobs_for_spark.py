"""Jobs for a Spark cluster: its settings, what they work on, and the process that runs them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_reassign_rpc.pipeline.store_paths import StorePath
from tests.jvm import QUICK
from tests.pipeline.spark_cluster import MEMORY_MB, PYTHON, ROOT
from tests.pipeline.test_plan_job import written
from tests.planner.clusters import random_cluster

LAST = "rebalance"
"""A plan of several rounds."""


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
