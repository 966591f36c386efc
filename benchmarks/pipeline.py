"""Plans of generated clusters: time, memory, balance, and bytes copied beyond the necessary.

    python -m benchmarks pipeline [--quick]

Each plan runs in its own process, which makes its memory measurable: on Spark, as by default, and without.
"""

import asyncio
import json
import os
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
from kafka_reassign_rpc.cli.spark_arguments import LOCAL
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from kafka_reassign_rpc.support.human_units import duration

SIZES = ((30_000, 30), (300_000, 60), (1_000_000, 200))
"""(partitions, brokers)."""
GOALS = {"heal": (), "drain": (0, 1), "rebalance": ()}
"""The brokers of each goal."""
MASTERS = (LOCAL, NO_SPARK)
_LOOK_EVERY_S = 0.5
LIMIT_S = 1800.0
"""Limit for one plan: three times the limit of a million partitions on an idle machine."""


class Measured(NamedTuple):
    """One plan: `cpu` and `wall` in seconds, `peak` in bytes, and `found`, the figures that the process printed at its
    end.
    """

    goal: str
    master: str
    partitions: int
    wall: float
    cpu: float
    peak: int
    found: dict[str, Any]


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    """The table of all sizes; with `quick` only the smallest."""
    rows = []
    smaller: dict[tuple[str, str], Measured] = {}
    for partitions, brokers in SIZES[:1] if quick else SIZES:
        for goal in GOALS:
            path = directory / f"{goal}-{partitions}"
            await asyncio.to_thread(snapshots.write, path, partitions, brokers, lost=int(goal == "heal"))
            for master in MASTERS:
                measured = await asyncio.to_thread(measure, path, goal, master)
                rows.append(_row(measured, smaller.get((goal, master))))
                smaller[goal, master] = measured
                await asyncio.to_thread(shutil.rmtree, _plan_path(path))
            await asyncio.to_thread(shutil.rmtree, path)
    return show("Plans on this machine", HEADER, rows, NOTES)


HEADER = (
    "partitions",
    "goal",
    "master",
    "wall",
    "CPU",
    "growth",
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
    "growth: CPU for each partition, over that of the row with fewer partitions; memory: at its",
    "peak; copied/bound: bytes copied over those that any plan must copy for the same bytes on each broker",
    "(moves for the other goals come on top); takes: the plan as it is simulated, at 100 MB/s for each broker;",
    "time/bound: that over what the busiest broker needs for the same moves; before, after: the broker furthest from",
    "its target of bytes. Wall and CPU include the verification.",
)


def measure(path: Path, goal: str, master: str, limit_s: float = LIMIT_S) -> Measured:
    """Run one plan in its own process. Raises RuntimeError if it fails or exceeds the limit."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pipeline", str(path), goal, master], stdout=subprocess.PIPE, text=True
    )
    peak, used, late = 0, dict[int, float](), False
    with process:
        try:
            while process.poll() is None and not late:
                peak = max(peak, look(process.pid, used))
                late = time.perf_counter() - began > limit_s
                time.sleep(_LOOK_EVERY_S)
        finally:
            if process.poll() is None:
                _kill(process.pid)
        wall = time.perf_counter() - began
        assert process.stdout is not None
        out = process.stdout.read()
    if late:
        raise RuntimeError(f"the plan of {path} took more than {limit_s:.0f} s, {sum(used.values()):.0f} s of CPU")
    if process.returncode:
        raise RuntimeError(f"the plan of {path} failed with {process.returncode}")
    found = json.loads(out.splitlines()[-1])
    return Measured(goal, master, found["partitions"], wall, sum(used.values()), peak, found)


def _row(measured: Measured, smaller: Measured | None) -> tuple[str, ...]:
    found = measured.found
    growth = measured.cpu / measured.partitions / (smaller.cpu / smaller.partitions) if smaller else None
    return (
        f"{measured.partitions:,}",
        measured.goal,
        measured.master,
        f"{measured.wall:.0f} s",
        f"{measured.cpu:.0f} s",
        "-" if growth is None else f"{growth:.2f}x",
        f"{measured.peak / 2**30:.1f} GiB",
        str(found["rounds"]),
        f"{found['moves']:,}",
        f"{found['bytes'] / max(1, found['bound']):.2f}",
        duration(found["seconds"]),
        f"{found['seconds'] / found['least']:.3f}" if found["least"] else "-",
        f"{found['before']:.1%}",
        f"{found['after']:.1%}",
    )


def look(root: int, used: dict[int, float]) -> int:
    """Memory of a process and all its descendants in bytes; shared pages are divided among them (Linux: PSS).

    Writes the CPU seconds of each process so far into `used`.
    """
    total = 0
    for pid, seconds in family(root).items():
        used[pid] = seconds
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

    began = time.perf_counter()
    wanted = Goal(GoalKind(goal), GOALS[goal])
    job = PlanJob(path, _plan_path(path), wanted, chooses_cap=True)
    if master == NO_SPARK:
        summary = plan_job.run_here(job, say)
    else:
        from kafka_reassign_rpc.pipeline.spark_session import session

        rows = snapshot_files.count_partitions(path)
        with session("benchmark", master=master, rows=rows, in_python=True) as spark:
            summary = plan_job.run(spark, job, say)
    found = {
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
