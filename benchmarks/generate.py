"""Compares plans with the stock tool's --generate, and with DataDog's topicmappr, on the same cluster: bytes to copy,
time, and the balance afterwards.

    python -m benchmarks generate [--quick]
    TOPICMAPPR=/path/of/topicmappr python -m benchmarks generate [--quick]

All times are those of the planner's simulation: moves start as others end, the most urgent first.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cluster import SERVER_ID, Cluster, controlling, zipf
from benchmarks.tables import show
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import export
from kafka_reassign_rpc.pipeline.spark_session import session
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.plan_simulation import simulate
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from kafka_reassign_rpc.support.human_units import duration, size
from tests.stock import topicmappr
from tests.stock.generate import Figures, Placement, figures, generated, planned, planned_moves
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools

BROKERS, NEW, DRAINED = range(1, 31), (31, 32, 33), 7
RACKS = 5
PARTITIONS, QUICK = 20_000, 2_000


class Case(NamedTuple):
    """A task: the brokers that join before it, the goal of our plan, the brokers that the others may use, and the
    arguments for topicmappr.
    """

    name: str
    coming: Sequence[int]
    goal: Goal
    brokers: Sequence[int]
    asked: Sequence[str]


LEFT, ALL = [broker for broker in BROKERS if broker != DRAINED], [*BROKERS, *NEW]
ANY_SIZE = ("--partition-size-threshold", "0", "--tolerance", "0.1")
CASES = (
    Case("1 of 30 brokers leaves", (), Goal(GoalKind.DRAIN, (DRAINED,)), LEFT, ("rebuild", "--placement", "storage")),
    Case("3 brokers come to 30", NEW, Goal(GoalKind.EXPAND, NEW), ALL, ("scale", *ANY_SIZE)),
    Case("3 of 33 are empty", (), Goal(GoalKind.REBALANCE), ALL, ("rebalance", "--storage-threshold", "0", *ANY_SIZE)),
)
NAME = "generate"
NETWORK = PlanOptions().network
HEADER = ("", "", "moves", "copied", "time", "racks", "bytes", "replicas", "leaders")
NOTES = (
    "time: simulated, at 100 MB/s for each broker; racks: partitions on fewer racks than they could be; bytes,",
    "replicas, leaders: the broker furthest from the mean of those that may hold replicas; plans are asked for 10 % or",
    "better.",
)


class Found(NamedTuple):
    """A case with its first snapshot, and the replicas that each of the other tools chooses, by the tool's name."""

    case: Case
    snapshot: Path
    others: Mapping[str, Placement]


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    topics = zipf(QUICK if quick else PARTITIONS, 1_000_000)
    counts = {name: count for name, (count, _) in topics.items()}
    found: list[Found] = []
    async with Cluster(zookeeper, NAME, directory, brokers=BROKERS, racks=_rack) as cluster:
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
                file = directory / "topics.json"
                others = {"--generate": await generated(tools, bootstrap, list(topics), case.brokers, file)}
                if topicmappr.program() is not None:
                    others[f"topicmappr {case.asked[0]}"] = await _topicmappr(zookeeper, bootstrap, case, snapshot)
                found.append(Found(case, snapshot, others))
    rows = []
    with session("generate", master="local[2]") as spark:
        for case, snapshot, elsewhere in found:
            out = snapshot.with_name(f"{snapshot.name}-plan")
            ours = await asyncio.to_thread(plan_job.run, spark, PlanJob(snapshot, out, case.goal))
            took, kind = ours.expected_seconds, f"plan {case.goal.kind}"
            rows.append(_row(case.name, kind, took, figures(snapshot, planned(out), case.brokers)))
            for name, placed in elsewhere.items():
                took = await asyncio.to_thread(_seconds, planned_moves(snapshot, placed))
                rows.append(_row("", name, took, figures(snapshot, placed, case.brokers)))
    return show(f"{sum(counts.values())} partitions, moved by plans and by others", HEADER, rows, NOTES)


async def _topicmappr(zookeeper: str, bootstrap: str, case: Case, snapshot: Path) -> Placement:
    await topicmappr.tell_sizes(zookeeper, snapshot, SERVER_ID)
    arguments = (*case.asked, "--brokers", ",".join(map(str, case.brokers)))
    maps = snapshot.with_name(f"{snapshot.name}-map")
    maps.mkdir()
    return await topicmappr.mapped(zookeeper, NAME, bootstrap, arguments, maps)


def _rack(broker: int) -> str:
    return f"r{broker % RACKS}"


def _home(index: int, replicas: int) -> list[int]:
    """Replicas in different racks. Each broker has the same number of replicas over all partitions."""
    first, turn = index % len(BROKERS), index // len(BROKERS) % RACKS
    return [BROKERS[(first + place * (1 + RACKS * turn)) % len(BROKERS)] for place in range(replicas)]


def _seconds(moves: Sequence[PlannedMove]) -> float:
    return simulate(CopyTable(in_start_order(moves, NETWORK)).arrays(), NETWORK, PlanCaps()).seconds


def _export(bootstrap: str, out: Path) -> None:
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        found = export(client, out, source=bootstrap, show_status=lambda _: None)
    if found.warnings:
        raise RuntimeError(f"the snapshot is not whole: {found.warnings}")


def _row(name: str, how: str, seconds: float, found: Figures) -> Sequence[str]:
    shares = (f"{share:.1%}" for share in (found.bytes, found.replicas, found.leaders))
    return (name, how, f"{found.moves:,}", size(found.copied), duration(seconds), f"{found.on_few_racks:,}", *shares)
