"""`submit` carries out plans on a fleet: its time beside that of the simulation and the bound.

The brokers copy no bytes, but take as long as the bytes would at their bandwidth. Thirty brokers, ZooKeeper, the server
and submit share this machine. If it has no idle time, the table shows the limits of the machine.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cluster import Cluster, controlling, zipf
from benchmarks.tables import duration, show
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.client.text_format import size
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import export
from kafka_reassign_rpc.pipeline.spark_session import session
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import ProgressOutput
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.plan_simulation import simulate

BROKERS, LOST, DRAINED = range(1, 30), 30, 7
PARTITIONS, QUICK_PARTITIONS = 20_000, 2_000
BANDWIDTH, QUICK_BANDWIDTH = 500_000, 1_000_000
"""Low, so that a move takes seconds and the bytes outweigh all other costs of a move, as in practice."""
SMALLEST = 100_000
"""Bytes of the smallest partitions; the largest have 13 times as many."""
GOALS = (Goal(GoalKind.REBALANCE), Goal(GoalKind.DRAIN, (DRAINED,)), Goal(GoalKind.HEAL, (LOST,)))
HEADER = ("", "moves", "copied", "bound", "planned", "actual", "actual / planned", "actual / bound")
NOTES = (
    "bound: bytes of the broker that sends or receives most, over the bandwidth; planned: the simulation with the caps",
    "of the plan; actual: by the clock, from the start of submit to its end.",
)


class _Planned(NamedTuple):
    moves: int
    bytes: int
    bound: float
    seconds: float


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    partitions, bandwidth = (QUICK_PARTITIONS, QUICK_BANDWIDTH) if quick else (PARTITIONS, BANDWIDTH)
    rows = []
    async with Cluster(zookeeper, "carried-out", directory, bandwidth=bandwidth, brokers=BROKERS) as cluster:
        server = await cluster.server()
        await controlling(server.address)
        fragile = await cluster.more_brokers(LOST)
        for name, (count, each) in zipf(partitions, SMALLEST).items():
            await cluster.create(server.address, {name: count}, 3, each, place=_home)
        bootstrap = "{}:{}".format(*server.address)
        for goal in GOALS:
            if goal.kind is GoalKind.HEAL:
                await fragile.kill()
                await asyncio.to_thread(_until_gone, bootstrap, LOST)
            snapshot, plan = (directory / f"{goal.kind}-{what}" for what in ("snapshot", "plan"))
            job = PlanJob(snapshot, plan, goal, PlanOptions(network=NetworkLimits(bandwidth)), chooses_cap=True)
            await asyncio.to_thread(_plan, bootstrap, snapshot, job)
            planned = _planned(plan, bandwidth)
            actual = await asyncio.to_thread(_carry_out, bootstrap, plan)
            rows.append(_row(str(goal.kind), planned, actual))
    return show(f"{partitions:,} partitions on 30 brokers, plans carried out by submit", HEADER, rows, NOTES)


def _home(index: int, replicas: int) -> list[int]:
    """An uneven start: a third of all partitions has its replicas on the first ten brokers."""
    count = 10 if index % 3 == 0 else 30
    return [1 + (index // 3 + place * (1 + index % 3)) % count for place in range(replicas)]


def _plan(bootstrap: str, snapshot: Path, job: PlanJob) -> None:
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        found = export(client, snapshot, source=bootstrap, show_status=lambda _: None)
    if found.warnings and job.goal.kind is not GoalKind.HEAL:
        raise RuntimeError(f"the snapshot is not whole: {found.warnings}")
    with session("carried out", master="local[2]") as spark:
        plan_job.run(spark, job)


def _planned(plan: Path, bandwidth: int) -> _Planned:
    info, network, table = read_plan(plan).summary, NetworkLimits(bandwidth), CopyTable()
    rows = parquet_files.read(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    for row in rows:
        first = -1 if row["first_leader"] is None else row["first_leader"]
        original, target = tuple(row["from_replicas"]), tuple(row["to_replicas"])
        where = (row["topic"], row["partition"], original, target, row["leader"], row["bytes"])
        table.add(PlannedMove(*where, row["priority"], row["reason"], row["rule"], first))
    copies = table.arrays()
    found = simulate(copies, network, PlanCaps(info.moves_per_broker, info.requested.moves_per_batch))
    return _Planned(len(rows), sum(row["bytes"] for row in rows), time_bound(copies, network).seconds, found.seconds)


def _carry_out(bootstrap: str, plan: Path) -> float:
    """Returns the seconds that submit takes."""
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        submission = Submission(client, plan, read_plan(plan), ProgressOutput(lambda _: None, lambda _: None))
        began = time.perf_counter()
        submission.execute()
        return time.perf_counter() - began


def _until_gone(bootstrap: str, broker: int) -> None:
    """Wait until the session of a killed broker has ended."""
    end = time.monotonic() + 120
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        while any(node.id == broker for node in client.describe_cluster()):
            if time.monotonic() > end:
                raise TimeoutError(f"broker {broker} is still there")
            time.sleep(0.2)


def _row(name: str, planned: _Planned, actual: float) -> Sequence[str]:
    times = (duration(planned.bound), duration(planned.seconds), duration(actual))
    ratios = (f"{actual / planned.seconds:.2f}", f"{actual / planned.bound:.2f}") if planned.bound else ("-", "-")
    return (name, f"{planned.moves:,}", size(planned.bytes), *times, *ratios)
