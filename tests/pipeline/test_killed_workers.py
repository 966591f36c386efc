"""What a plan on Spark survives on one machine: Python workers that are killed while they work on a round."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from tests.pipeline.test_plan_in_memory import write_random_snapshot
from tests.pipeline.test_plan_job import files
from tests.waiting import eventually

pytestmark = pytest.mark.gate

LIMIT_S = 120.0


def python_workers(jvm: int) -> set[int]:
    """They are forked by a daemon, which the JVM has started."""
    return {worker for daemon in _children(jvm) for worker in _children(daemon)}


def _children(parent: int) -> set[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


def has_input(process: int) -> bool:
    """Bytes have come to one of its sockets that it has not read."""
    links = [os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir()]
    sockets = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return any(line[9] in sockets and int(line[4].partition(":")[2], 16) > 0 for line in lines)


class Killer:
    """After the first round it stops the idle workers, and kills them once one has work of the next round."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._rounds, self.killed = spark, 0, set[int]()
        self._thread = threading.Thread(target=self._kill_busy)

    def show_status(self, text: str) -> None:
        self._rounds += text.startswith("round ")
        if text.startswith("round ") and self._rounds == 1:
            self.killed = python_workers(self._spark.sparkContext._gateway.proc.pid)
            for worker in self.killed:
                os.kill(worker, signal.SIGSTOP)
            self._thread.start()

    def _kill_busy(self) -> None:
        asyncio.run(eventually(lambda: any(map(has_input, self.killed)), within=LIMIT_S))
        for worker in self.killed:
            os.kill(worker, signal.SIGKILL)

    def join(self) -> None:
        self._thread.join(LIMIT_S)


def failed_tasks(spark: SparkSession) -> int:
    store = spark.sparkContext._jsc.sc().statusStore()
    defaults = [getattr(store, f"stageList$default${place}")() for place in (4, 5)]
    stages = store.stageList(None, False, False, *defaults)
    return sum(stages.apply(place).numFailedTasks() for place in range(stages.size()))


def test_dp_6_workers_killed_in_the_middle_of_a_round_change_no_byte_of_the_plan(
    tmp_path: Path, spark: SparkSession
) -> None:
    path, goal = write_random_snapshot(tmp_path / "snapshot", seed=8), Goal(GoalKind.REBALANCE)
    expected = plan_job.run_here(PlanJob(path, tmp_path / "here", goal))
    killer, before = Killer(spark), failed_tasks(spark)
    found = plan_job.run(spark, PlanJob(path, tmp_path / "there", goal), killer.show_status)
    killer.join()
    assert killer.killed
    assert not any(Path(f"/proc/{worker}/exe").exists() for worker in killer.killed)
    assert failed_tasks(spark) > before
    assert found == expected
    assert files(tmp_path / "there") == files(tmp_path / "here")
