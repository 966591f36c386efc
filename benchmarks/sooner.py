"""How soon a cluster is whole: the time of plans beside the least that their moves need, in virtual time.

    python -m benchmarks sooner [--quick]

Plans are made in memory, and simulated: no cluster runs. `python -m benchmarks carried` carries plans out.
"""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import show
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.planner.in_memory_planner import make_plan
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Plan, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.move_batching import BatchLimits, into_batches
from kafka_reassign_rpc.planner.scheduling.plan_estimate import estimate
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Caps, simulate_batches
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from kafka_reassign_rpc.support.human_units import duration, size
from tests.planner.shapes import SHAPES, shaped

BROKERS, PARTITIONS = 30, 2_000
QUICK_BROKERS, QUICK_PARTITIONS = 12, 300
NETWORK = NetworkLimits(100_000)
"""A thousandth of what is usual: so are the partitions of these clusters (1 MiB in the middle)."""
HEADER = ("", "", "moves", "copied", "least", "now", "batches", "before", "at a time", "bytes", "racks")
NOTES = (
    "least: no order of these moves takes less; now: moves start as others end, in the order of the plan; batches: the",
    "same moves, each batch after the one before; before: batches of the moves in random order, as plans were made",
    "until now. All at 100 kB/s for each broker, over the least. at a time: moves of a broker, as the plan chooses.",
    "bytes: the broker furthest from its target after it; racks: partitions that moved and are on fewer racks than",
    "they could be",
)


async def run(_zookeeper: str, _directory: Path, *, quick: bool) -> str:
    """The table of all shapes and goals."""
    brokers, partitions = (QUICK_BROKERS, QUICK_PARTITIONS) if quick else (BROKERS, PARTITIONS)
    fresh = tuple(range(brokers - max(1, brokers // 10), brokers))
    goals = (
        (Goal(GoalKind.HEAL), 1, 0),
        (Goal(GoalKind.DRAIN, (0, 1)), 0, 0),
        (Goal(GoalKind.EXPAND, fresh), 0, len(fresh)),
        (Goal(GoalKind.REBALANCE), 0, 0),
    )
    rows = []
    for shape in SHAPES:
        for goal, lost, new in goals:
            cluster = shaped(shape, brokers, partitions, lost=lost, fresh=new)
            plan = await asyncio.to_thread(make_plan, cluster, goal)
            rows.append((shape, str(goal.kind), *await asyncio.to_thread(_figures, cluster, plan)))
    return show(f"{partitions} partitions on {brokers} brokers, in virtual time", HEADER, rows, NOTES)


def _figures(cluster: PlannerCluster, plan: Plan) -> Sequence[str]:
    in_order = _batched(in_start_order(plan.moves, NETWORK))
    at_random = _batched(sorted(plan.moves, key=lambda move: (move.priority, _chance(move))))
    found = estimate(in_order, NETWORK, Caps(), chooses_cap=True)
    least = found.bound.seconds
    if not least:
        return f"{len(plan.moves):,}", "-", "-", "-", "-", "-", "-", "-", "-"
    before = simulate_batches(at_random, NETWORK)
    return (
        f"{len(plan.moves):,}",
        size(plan.summary.bytes),
        duration(least),
        *(f"{one.seconds / least:.2f}" for one in (found.carried_out, found.in_batches, before)),
        str(found.caps.per_broker),
        f"{plan.summary.imbalance_after['bytes']:.1%}",
        f"{_on_few_racks(cluster, plan.moves):,}",
    )


def _chance(move: PlannedMove) -> float:
    return random.Random(f"{move.topic} {move.partition}").random()


def _batched(moves: Sequence[PlannedMove]) -> CopyTable:
    table = CopyTable()
    for batch in into_batches(moves, BatchLimits()):
        for move in batch.moves:
            table.add(move)
        table.end_batch()
    return table


def _on_few_racks(cluster: PlannerCluster, moves: Sequence[PlannedMove]) -> int:
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    possible = len({broker.rack for broker in cluster.brokers if broker.live})
    return sum(len({racks[broker] for broker in move.target}) < min(possible, len(move.target)) for move in moves)
