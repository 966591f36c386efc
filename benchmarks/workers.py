"""Plans on a standalone Spark cluster: time over partitions and over workers, and the share of the driver alone.

    python -m benchmarks workers [--quick]

Master, workers and driver share this machine's cores. So two workers show which work is spread, but not the speed of
separate machines. The store is a folder. Each plan runs in its own process.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

from benchmarks import snapshots
from benchmarks.pipeline import family
from benchmarks.tables import show
from tests.pipeline.spark_cluster import PYTHON, ROOT, spark_cluster

SIZES = ((10_000, 30), (100_000, 60), (1_000_000, 200))
"""(partitions, brokers)."""
WORKERS = (1, 2)
MEMORY_MB = {10_000: 768, 100_000: 1024, 1_000_000: 2048}
GOAL = "rebalance"
_LOOK_EVERY_S = 0.5
_PHASES = {"reading": "read", "round": "rounds", "writing": "write", "verifying": "verify"}
"""The first word of a status -> the phase that begins with it."""


class Timed(NamedTuple):
    """One plan: seconds of each phase, CPU seconds of the driver with its JVM and of the workers with their executors,
    and the moves and rounds that it found.
    """

    partitions: int
    workers: int
    seconds: dict[str, float]
    driver_cpu: float
    workers_cpu: float
    moves: int
    rounds: int


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    """The table of all sizes and workers; with `quick` of the smallest size alone."""
    rows = []
    for partitions, brokers in SIZES[:1] if quick else SIZES:
        path = directory / f"workers-{partitions}"
        await asyncio.to_thread(snapshots.write, path, partitions, brokers, lost=0)
        rows += [_row(await asyncio.to_thread(measure, path, partitions, workers)) for workers in WORKERS]
        await asyncio.to_thread(shutil.rmtree, path)
    return show("Plans on standalone Spark", HEADER, rows, NOTES)


HEADER = (
    *("partitions", "workers", "start", "read", "rounds", "write", "verify", "in all"),
    *("CPU of the driver", "CPU of workers", "number of rounds", "moves"),
)
NOTES = (
    "start: Spark, its executors and their probe; read: the snapshot, once; rounds: proposals on executors, decisions,",
    "checkpoints; write: the driver alone writes moves and batches, in order; verify: joins on executors. Workers have",
    "one core each, on one machine with the driver and the master. CPU tells more than time where that is a busy one.",
)


def measure(path: Path, partitions: int, workers: int) -> Timed:
    """Start a cluster and make one plan on it. Raises RuntimeError if the plan fails."""
    logs, out = path.with_name(f"{path.name}-logs-{workers}"), path.with_name(f"{path.name}-plan-{workers}")
    logs.mkdir()
    with spark_cluster(logs, workers=workers, shared=path.parent, memory_mb=MEMORY_MB[partitions]) as cluster:
        memory = f"{MEMORY_MB[partitions] - 256}m"
        command = [sys.executable, "-m", "benchmarks.workers", cluster.master, str(path), str(out), memory]
        log = logs / "driver.log"
        with log.open("w") as errors, subprocess.Popen(command, cwd=ROOT, stdout=PIPE, stderr=errors, text=True) as job:
            driver_cpu, workers_cpu = _cpu_until_end(job, [worker.pid for worker in cluster.workers])
            assert job.stdout is not None
            said = job.stdout.read()
    if job.returncode:
        raise RuntimeError(f"the plan of {path} failed with {job.returncode}: {log.read_text()[-2000:]}")
    found = json.loads(said.splitlines()[-1])
    shutil.rmtree(out)
    return Timed(partitions, workers, found["seconds"], driver_cpu, workers_cpu, found["moves"], found["rounds"])


def _cpu_until_end(job: "subprocess.Popen[str]", workers: list[int]) -> tuple[float, float]:
    """Wait for the end; the CPU seconds of the job and of the workers, with all their descendants, at the last look."""
    of_job, of_workers = dict[int, float](), dict[int, float]()
    before = sum(sum(family(worker).values()) for worker in workers)
    while job.poll() is None:
        of_job |= family(job.pid)
        for worker in workers:
            of_workers |= family(worker)
        time.sleep(_LOOK_EVERY_S)
    return sum(of_job.values()), sum(of_workers.values()) - before


def _row(timed: Timed) -> tuple[str, ...]:
    times = [timed.seconds.get(name, 0.0) for name in ("start", *_PHASES.values())]
    return (
        f"{timed.partitions:,}",
        str(timed.workers),
        *(f"{one:.0f} s" for one in (*times, sum(times), timed.driver_cpu, timed.workers_cpu)),
        str(timed.rounds),
        f"{timed.moves:,}",
    )


def _plan(master: str, path: Path, out: Path, memory: str) -> None:
    """The entry point of a plan's own process."""
    from kafka_reassign_rpc.pipeline.planning import plan_job
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.spark_session import session
    from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind

    seconds: dict[str, float] = {}
    phase, began = "start", time.perf_counter()

    def enter(text: str) -> None:
        nonlocal phase, began
        now = time.perf_counter()
        seconds[phase] = seconds.get(phase, 0.0) + now - began
        # A round is reported at its end: what follows the survey are rounds
        phase, began = _PHASES.get(text.split(maxsplit=1)[0], phase), now

    settings = {
        "spark.pyspark.python": str(PYTHON),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": memory,
        "spark.sql.shuffle.partitions": "4",
    }
    with session("benchmark", master=master, settings=settings) as spark:
        summary = plan_job.run(spark, PlanJob(path, out, Goal(GoalKind(GOAL))), enter)
        enter("end")
    print(json.dumps({"seconds": seconds, "moves": summary.moves, "rounds": summary.rounds}), flush=True)


if __name__ == "__main__":
    _plan(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
