"""Plans of generated clusters: time, memory, balance, and bytes copied beyond the necessary.

    python -m benchmarks pipeline [--quick]

Each plan runs in its own process, which makes its memory measurable: in one process without Spark, and on Spark as by
default, in turns.
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
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import snapshots
from benchmarks.tables import show
from kafka_reassign_rpc.cli.spark_arguments import DEFAULT_MASTER
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from kafka_reassign_rpc.support.human_units import duration

SIZES = ((42, 6), (10_000, 30), (100_000, 60), (1_000_000, 200))
"""(partitions, brokers)."""
GOALS = {"heal": (), "drain": (0, 1), "rebalance": ()}
"""The brokers of each goal."""
MASTERS = (NO_SPARK, DEFAULT_MASTER)
ROUNDS = 3
"""The table has the medians, by CPU."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: the parent of processes whose own has ended."""
_LOOK_EVERY_S = 0.5
_LEAST_RATIO_OF_S = 0.5
"""Of fewer CPU seconds no ratio is shown."""
LIMIT_S = 1800.0
"""Limit for one plan: three times the limit of a million partitions on an idle machine."""


class Measured(NamedTuple):
    """One plan: `wall`, `cpu` and `start` in seconds, `peak` in bytes, and `found`, what the process printed at its
    end. `start`: what of `cpu` imports and the start of Spark took.
    """

    goal: str
    master: str
    partitions: int
    wall: float
    cpu: float
    start: float
    peak: int
    found: dict[str, Any]


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    """The table of all sizes; with `quick` the two smallest, once."""
    rows = []
    for partitions, brokers in SIZES[:2] if quick else SIZES:
        for goal in GOALS:
            path = directory / f"{goal}-{partitions}"
            await asyncio.to_thread(snapshots.write, path, partitions, brokers, lost=int(goal == "heal"))
            measured: dict[str, list[Measured]] = {master: [] for master in MASTERS}
            for master in MASTERS * (1 if quick else ROUNDS):
                measured[master].append(await asyncio.to_thread(measure, path, goal, master))
                await asyncio.to_thread(shutil.rmtree, _plan_path(path))
            here, on_spark = (_middle(measured[master]) for master in MASTERS)
            rows += [_row(here, None), _row(on_spark, here)]
            await asyncio.to_thread(shutil.rmtree, path)
    return show("Plans on this machine", HEADER, rows, NOTES)


HEADER = (
    "partitions",
    "goal",
    "master",
    "wall",
    "CPU",
    "of it start",
    "over none",
    "memory",
    "rounds",
    "moves",
    "copied/bound",
    "takes",
    "time/bound",
    "before",
    "after",
)
NOTES = (
    "CPU: of all processes, Java included; of it start: imports and Spark's start; over none: the rest, over the rest",
    "without Spark; memory: at its peak; copied/bound: bytes copied over those that any plan must copy for the same",
    "bytes on each broker (moves for the other goals come on top); takes: the plan as it is simulated, at 100 MB/s for",
    "each broker; time/bound: that over what the busiest broker needs for the same moves; before, after: the broker",
    "furthest from its target of bytes. Wall and CPU include the verification.",
)


def measure(path: Path, goal: str, master: str, limit_s: float = LIMIT_S) -> Measured:
    """Run one plan in its own process. Raises RuntimeError if it fails or exceeds the limit."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pipeline", str(path), goal, master], stdout=subprocess.PIPE, text=True
    )
    peak, late = 0, False
    with process:
        try:
            while process.poll() is None and not late:
                peak = max(peak, look(process.pid))
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
    return Measured(goal, master, found["partitions"], wall, found["cpu"], found["start"], peak, found)


def _middle(measured: list[Measured]) -> Measured:
    return sorted(measured, key=lambda one: one.cpu)[len(measured) // 2]


def _row(measured: Measured, here: Measured | None) -> tuple[str, ...]:
    """`here`: the same plan without Spark."""
    found = measured.found
    return (
        f"{measured.partitions:,}",
        measured.goal,
        measured.master,
        f"{measured.wall:.1f} s",
        f"{measured.cpu:.1f} s",
        f"{measured.start:.1f} s",
        "-"
        if here is None or here.cpu - here.start < _LEAST_RATIO_OF_S
        else f"{(measured.cpu - measured.start) / (here.cpu - here.start):.2f}x",
        f"{measured.peak / 2**30:.1f} GiB",
        str(found["rounds"]),
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


def _plan(path: Path, goal: str, master: str) -> None:
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
        from kafka_reassign_rpc.pipeline.spark_session import session

        rows = snapshot_files.count_partitions(path)
        with session("benchmark", master=master, rows=rows, in_python=True) as spark:
            start = sum(family(os.getpid()).values())
            summary = plan_job.run(spark, job, say)
    found = {
        "cpu": _cpu_of_all(),
        "start": start,
        "partitions": summary.partitions,
        "rounds": summary.rounds,
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
    _plan(Path(sys.argv[1]), *sys.argv[2:])
