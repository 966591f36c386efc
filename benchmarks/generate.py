"""Compares plans with the stock tool's --generate on the same cluster: bytes to copy, and the balance afterwards.

python -m benchmarks generate [--quick]
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cluster import Cluster, controlling, zipf
from benchmarks.tables import show
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.client.text_format import size
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import export
from kafka_reassign_rpc.pipeline.spark_session import session
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from tests.stock.generate import Figures, Placement, figures, generated, planned
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools

BROKERS, NEW, DRAINED = range(1, 28), (28, 29, 30), 7
PARTITIONS, QUICK = 20_000, 2_000


class Case(NamedTuple):
    """A task: the brokers that join before, the goal of our plan, and the brokers that --generate may use."""

    name: str
    coming: Sequence[int]
    goal: Goal
    brokers: Sequence[int]


CASES = (
    Case("1 of 27 brokers leaves", (), Goal(GoalKind.DRAIN, (DRAINED,)), [b for b in BROKERS if b != DRAINED]),
    Case("3 brokers come to 27", NEW, Goal(GoalKind.EXPAND, NEW), [*BROKERS, *NEW]),
)
HEADER = ("", "", "moves", "copied", "bytes", "replicas", "leaders")
NOTES = (
    "bytes, replicas, leaders: the broker furthest from the mean of those that may hold replicas; plans are asked for",
    "10 % or better.",
)


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    topics = zipf(QUICK if quick else PARTITIONS, 1_000_000)
    counts = {name: count for name, (count, _) in topics.items()}
    asked: list[tuple[Case, Path, Placement]] = []
    async with Cluster(zookeeper, "generate", directory, brokers=BROKERS) as cluster:
        server = await cluster.server()
        await controlling(server.address)
        bootstrap = "{}:{}".format(*server.address)
        for name, (count, each) in topics.items():
            await cluster.create(server.address, {name: count}, 3, each, place=_home)
        with Tools(BROKER_VERSION) as tools:
            for number, case in enumerate(CASES):
                if case.coming:
                    await cluster.more_brokers(*case.coming)
                    await cluster.shown(counts)
                snapshot = directory / f"generate-snapshot-{number}"
                await asyncio.to_thread(_export, bootstrap, snapshot)
                theirs = await generated(tools, bootstrap, list(topics), case.brokers, directory / "topics.json")
                asked.append((case, snapshot, theirs))
    rows = []
    with session("generate", master="local[2]") as spark:
        for case, snapshot, theirs in asked:
            out = snapshot.with_name(f"{snapshot.name}-plan")
            await asyncio.to_thread(plan_job.run, spark, PlanJob(snapshot, out, case.goal))
            rows.append(_row(case.name, "plan", figures(snapshot, planned(out), case.brokers)))
            rows.append(_row("", "--generate", figures(snapshot, theirs, case.brokers)))
    return show(f"{sum(counts.values())} partitions, moved by a plan and by --generate", HEADER, rows, NOTES)


def _home(index: int, replicas: int) -> list[int]:
    """The replicas that --generate's own rule assigns from broker 1 on (AdminUtils without racks)."""
    first, turn = index % len(BROKERS), index // len(BROKERS)
    others = [(first + 1 + (turn + place) % (len(BROKERS) - 1)) % len(BROKERS) for place in range(replicas - 1)]
    return [BROKERS[place] for place in (first, *others)]


def _export(bootstrap: str, out: Path) -> None:
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        found = export(client, out, source=bootstrap, show_status=lambda _: None)
    if found.warnings:
        raise RuntimeError(f"the snapshot is not whole: {found.warnings}")


def _row(name: str, how: str, found: Figures) -> Sequence[str]:
    shares = (f"{share:.1%}" for share in (found.bytes, found.replicas, found.leaders))
    return (name, how, f"{found.moves:,}", size(found.copied), *shares)
