"""Plans of generated clusters: time, memory, balance, and bytes copied beyond the necessary.

    python -m benchmarks pipeline [--quick]

Each plan runs in its own process, which makes its memory measurable: in one process without Spark, on Spark as by
default, and on standalone Spark, in turns. Master, workers and driver of that share this machine's cores: its rows show
which work is spread and what that costs, not the speed of separate machines.
"""

import asyncio
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import snapshots
from benchmarks.tables import show
from kafka_reassign_rpc.pipeline.spark_master import LOCAL, NO_SPARK
from kafka_reassign_rpc.support.human_units import duration
from tests.pipeline.spark_cluster import PYTHON, can_unshare, spark_cluster


class Case(NamedTuple):
    """Plans of one snapshot. `workers`: of standalone Spark, with a core and `executor_mb` of memory each; 0: none."""

    partitions: int
    brokers: int
    workers: int = 2
    executor_mb: int = 1024
    goals: tuple[str, ...] = ("heal", "drain", "rebalance")
    masters: tuple[str, ...] = (NO_SPARK, LOCAL)
    rounds: int = 3


CASES = (
    Case(42, 6, workers=0),
    Case(10_000, 30),
    Case(100_000, 60),
    Case(1_000_000, 200, executor_mb=2048),
    Case(10_000_000, 400, 4, 3072, ("heal",), (NO_SPARK,), rounds=1),
)
"""The tables have the medians, by CPU."""
_QUICK = (CASES[0], CASES[1]._replace(goals=("heal",)))
GOALS = {"heal": (), "drain": (0, 1), "rebalance": ()}
"""The brokers of each goal."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: the parent of processes whose own has ended."""
_LOOK_EVERY_S = 0.2
_LEAST_RATIO_OF_S = 0.5
"""Of fewer CPU seconds no ratio is shown."""
LIMIT_S = 3600.0
"""Limit for one plan: several times that of ten million partitions on an idle machine."""


class Measured(NamedTuple):
    """One plan: `wall`, `cpu` and `start` in seconds, `peak` in bytes, and `found`, what the process printed at its
    end. `start`: what of `cpu` imports and the start of Spark took. `of_workers`: what of `cpu` workers and their
    executors took; `workers_peak`: their memory.
    """

    goal: str
    master: str
    partitions: int
    wall: float
    cpu: float
    start: float
    peak: int
    found: dict[str, Any]
    of_workers: float = 0.0
    workers_peak: int = 0


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    """The table of all sizes; with `quick` the two smallest, once."""
    rows = []
    for case in _QUICK if quick else CASES:
        rows += await asyncio.to_thread(_rows, case._replace(rounds=1) if quick else case, directory)
    return show("Plans on this machine", HEADER, rows, NOTES)


def _rows(case: Case, directory: Path) -> list[tuple[str, ...]]:
    rows = []
    for goal in case.goals:
        path = directory / f"{goal}-{case.partitions}"
        snapshots.write(path, case.partitions, case.brokers, lost=int(goal == "heal"))
        with _standalone(case, directory) as (standalone, workers):
            masters = [*case.masters, *standalone]
            measured: dict[str, list[Measured]] = {master: [] for master in masters}
            for master in masters * case.rounds:
                on = workers if master in standalone else ()
                measured[master].append(measure(path, goal, master, workers=on, executor_mb=case.executor_mb))
                shutil.rmtree(_plan_path(path))
        here = _middle(measured[NO_SPARK])
        rows += [_row(_middle(measured[master]), None if master == NO_SPARK else here) for master in masters]
        shutil.rmtree(path)
    return rows


@contextmanager
def _standalone(case: Case, directory: Path) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """URLs of masters, at most one, and the processes of its workers."""
    if not case.workers or not can_unshare():
        yield (), ()
        return
    logs = directory / "logs"
    logs.mkdir()
    memory = case.executor_mb + _BESIDE_HEAP_MB
    with spark_cluster(logs, workers=case.workers, shared=directory, memory_mb=memory) as cluster:
        yield (cluster.master,), tuple(worker.pid for worker in cluster.workers)
    shutil.rmtree(logs)


_BESIDE_HEAP_MB = 256
HEADER = (
    "partitions",
    "goal",
    "master",
    "wall",
    "CPU",
    "of it start",
    "of it workers",
    "over none",
    "memory",
    "of workers",
    "moves",
    "copied/bound",
    "takes",
    "time/bound",
    "before",
    "after",
)
NOTES = (
    "CPU: of all processes, Java included; of it start: imports and Spark's start, with its executors; over none: the",
    "rest, over the rest without Spark; memory: at its peak, of the command, or of the driver and, apart, of all",
    "workers; copied/bound: bytes copied over those that any plan must copy for the same bytes on each broker (moves",
    "for the other goals come on top); takes: the plan as it is simulated, at 100 MB/s for each broker; time/bound:",
    "that over what the busiest broker needs for the same moves; before, after: the broker furthest from its target",
    "of bytes. Wall and CPU include the verification. Workers of standalone Spark have a core each, on this machine.",
)


def measure(
    path: Path, goal: str, master: str, limit_s: float = LIMIT_S, *, workers: Sequence[int] = (), executor_mb: int = 0
) -> Measured:
    """Run one plan in its own process. `workers`: processes of a standalone `master`. Raises RuntimeError if it fails
    or exceeds the limit.
    """
    began = time.perf_counter()
    started = _started_path(path)
    started.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pipeline", str(path), goal, master, str(executor_mb)],
        stdout=subprocess.PIPE,
        text=True,
    )
    peak, workers_peak, late = 0, 0, False
    before, of_workers, of_plan, at_start = _cpu_of(workers), dict[int, float](), dict[int, float](), 0.0
    with process:
        try:
            while process.poll() is None and not late:
                peak = max(peak, look(process.pid))
                of_plan |= family(process.pid)
                workers_peak = max(workers_peak, sum(map(look, workers)))
                for worker in workers:
                    of_workers |= family(worker)
                if not started.exists():
                    at_start = sum(of_workers.values())
                late = time.perf_counter() - began > limit_s
                time.sleep(_LOOK_EVERY_S)
        finally:
            if process.poll() is None:
                _kill(process.pid)
        wall = time.perf_counter() - began
        assert process.stdout is not None
        out = process.stdout.read()
    if late:
        raise RuntimeError(f"the plan of {path} took more than {limit_s:.0f} s")
    if process.returncode:
        raise RuntimeError(f"the plan of {path} failed with {process.returncode}")
    found = json.loads(out.splitlines()[-1])
    there = sum(of_workers.values()) - before
    # PySpark's daemon waits for none of its workers: what they took is in no sum of its own
    here = max(found["cpu"], sum(of_plan.values()))
    cpu, start = here + there, found["start"] + max(0.0, at_start - before)
    return Measured(goal, master, found["partitions"], wall, cpu, start, peak, found, there, workers_peak)


def _cpu_of(roots: Sequence[int]) -> float:
    return sum(sum(family(root).values()) for root in roots)


def _started_path(path: Path) -> Path:
    """The plan's process makes this file once Spark has started."""
    return path.with_name(f"{path.name}-started")


def _middle(measured: list[Measured]) -> Measured:
    return sorted(measured, key=lambda one: one.cpu)[len(measured) // 2]


def _row(measured: Measured, here: Measured | None) -> tuple[str, ...]:
    """`here`: the same plan without Spark."""
    found = measured.found
    return (
        f"{measured.partitions:,}",
        measured.goal,
        "standalone" if measured.workers_peak else measured.master,
        f"{measured.wall:.1f} s",
        f"{measured.cpu:.1f} s",
        f"{measured.start:.1f} s",
        f"{measured.of_workers:.1f} s" if measured.workers_peak else "-",
        "-"
        if here is None or here.cpu - here.start < _LEAST_RATIO_OF_S
        else f"{(measured.cpu - measured.start) / (here.cpu - here.start):.2f}x",
        f"{measured.peak / 2**30:.1f} GiB",
        f"{measured.workers_peak / 2**30:.1f} GiB" if measured.workers_peak else "-",
        f"{found['moves']:,}",
        f"{found['bytes'] / max(1, found['bound']):.2f}",
        duration(found["seconds"]),
        f"{found['seconds'] / found['least']:.3f}" if found["least"] else "-",
        f"{found['before']:.1%}",
        f"{found['after']:.1%}",
    )


def look(root: int) -> int:
    """Memory of a process and all its descendants in bytes; shared pages are divided among them (Linux: PSS)."""
    total = 0
    for pid in family(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def family(root: int) -> dict[int, float]:
    """A process and all its descendants, with the CPU seconds of each."""
    children: dict[int, list[int]] = {}
    ticks = os.sysconf("SC_CLK_TCK")
    times = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            times[int(entry.name)] = (int(fields[11]) + int(fields[12])) / ticks
    found, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        if pid in times:
            found[pid] = times[pid]
    return found


def _kill(root: int) -> None:
    """End a process and all its descendants: a JVM outlives the process that started it."""
    for pid in family(root):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _cpu_of_all() -> float:
    """Of this process and all that it started, which have ended or end now."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _plan_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-plan")


def _settings(executor_mb: int) -> dict[str, str]:
    """Of standalone Spark, whose workers see another file system."""
    return {
        "spark.pyspark.python": str(PYTHON),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": f"{executor_mb}m",
    }


def _plan(path: Path, goal: str, master: str, executor_mb: int) -> None:
    """The entry point of a plan's own process."""
    from kafka_reassign_rpc.pipeline.planning import plan_job
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind

    def say(text: str) -> None:
        if not text.startswith("batch"):
            print(f"{time.perf_counter() - began:7.1f} s  {text}", file=sys.stderr, flush=True)

    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter()
    wanted = Goal(GoalKind(goal), GOALS[goal])
    job = PlanJob(path, _plan_path(path), wanted, chooses_cap=True)
    if master == NO_SPARK:
        start = time.process_time()
        summary = plan_job.run_here(job, say)
    else:
        from kafka_reassign_rpc.pipeline.executor_probe import require_executors
        from kafka_reassign_rpc.pipeline.spark_session import session

        rows = snapshot_files.count_partitions(path)
        settings = _settings(executor_mb) if master.startswith("spark:") else None
        with session("benchmark", master=master, rows=rows, in_python=True, settings=settings) as spark:
            require_executors(spark, path, out=job.out)
            start = sum(family(os.getpid()).values())
            _started_path(path).touch()
            summary = plan_job.run(spark, job, say)
    found = {
        "cpu": _cpu_of_all(),
        "start": start,
        "partitions": summary.partitions,
        "moves": summary.moves,
        "bytes": summary.bytes,
        "bound": summary.lower_bound,
        "seconds": summary.expected_seconds,
        "least": summary.bound_seconds,
        "before": summary.imbalance_before["bytes"],
        "after": summary.imbalance_after["bytes"],
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _plan(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
