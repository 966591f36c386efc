"""Commands on a small cluster, from start to end: the time that a user waits.

    python -m benchmarks small [--quick]

The cluster has 42 partitions on six brokers, one of them lost; the audit gets three snapshots of it. Each command runs
in its own process, first without the file of Spark's classes, then with it (`kafka-reassign-rpc prepare`). There is no
warm-up: each process starts cold, as a user's does.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks import snapshots
from benchmarks.tables import duration, middle, show
from kafka_reassign_rpc.support.connection_flags import SPARK_CLASSES

PARTITIONS, BROKERS = 42, 6
ROUNDS = 3
COMMANDS: tuple[tuple[str, int], ...] = (
    ("plan heal --snapshot {0}/series/1 --out {0}/out", 0),
    ("plan rebalance --snapshot {0}/series/1 --out {0}/out", 0),
    ("audit --snapshots {0}/series/1 --out {0}/out", 3),
    ("audit --snapshots {0}/series --out {0}/out", 3),
    ("plan heal --snapshot {0}/none --out {0}/out", 2),
)
"""Each command with its exit code: the audits find the lost broker, and the last command has a wrong path."""


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    """The table; with `quick` one round, without the file of classes."""
    series = directory / "series"
    series.mkdir()
    for number in range(1, 4):
        await asyncio.to_thread(snapshots.write, series / str(number), PARTITIONS, BROKERS, lost=1, at=number * 60_000)
    return await asyncio.to_thread(_table, directory, rounds=1 if quick else ROUNDS, prepares=not quick)


def _table(directory: Path, *, rounds: int, prepares: bool) -> str:
    archive = directory / "classes.jsa"
    environment = {**os.environ, SPARK_CLASSES: str(archive)}
    cold = [_measure(command, code, directory, environment, rounds) for command, code in COMMANDS]
    warm: list[float | None] = [None] * len(COMMANDS)
    if prepares:
        _run("prepare", 0, environment)
        warm = [_measure(command, code, directory, environment, rounds) for command, code in COMMANDS]
    rows = [
        (command.replace("{0}/", ""), duration(before), duration(after))
        for (command, _), before, after in zip(COMMANDS, cold, warm, strict=True)
    ]
    title = f"Commands on {PARTITIONS} partitions, medians of {rounds}"
    return show(title, ("kafka-reassign-rpc", "time", "after prepare"), rows)


def _measure(command: str, code: int, directory: Path, environment: Mapping[str, str], rounds: int) -> float | None:
    took = []
    for _ in range(rounds):
        shutil.rmtree(directory / "out", ignore_errors=True)
        took.append(_run(command.format(directory), code, environment))
    return middle(took)


def _run(command: str, code: int, environment: Mapping[str, str]) -> float:
    """The command's time in seconds. Raises RuntimeError if it ends with another code."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *command.split()],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    took = time.perf_counter() - began
    if done.returncode != code:
        raise RuntimeError(f"{command}: exit code {done.returncode}: {done.stderr}")
    return took
