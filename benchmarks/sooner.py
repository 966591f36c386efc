"""How soon a cluster is whole: the time of plans beside the minimum that their moves need.

    python -m benchmarks sooner [--quick]

It makes plans in memory and simulates them. Then `carried_out` carries out some of them on a fleet, which takes half an
hour.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benchmarks import carried_out
from benchmarks.tables import show
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, GoalKind
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Plan, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from kafka_reassign_rpc.planner.scheduling.move_batching import in_sooner_order
from kafka_reassign_rpc.planner.scheduling.plan_simulation import PlanEstimate, estimate, simulate_batches
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from kafka_reassign_rpc.support.human_units import duration, size
from tests.planner.batched_moves import batched, batched_as_they_come
from tests.planner.column_plans import make_plan
from tests.planner.shapes import SHAPES, shaped

BROKERS, PARTITIONS = 30, 2_000
QUICK_BROKERS, QUICK_PARTITIONS = 12, 300
MANY = ((12, 1_000), (12, 2_000), (30, 2_000))
"""Brokers and partitions of the clusters that are measured in every shape with every seed."""
SEEDS = 4
QUICK_MANY = ((12, 300),)
ALLOWED = 1.10
NETWORK = NetworkLimits(100_000)
"""A thousandth of the usual, like the partitions of these clusters (1 MiB in the middle)."""
CAPS = PlanCaps(BatchLimits().moves_per_broker, BatchLimits().moves_per_batch)
HEADER = ("", "", "moves", "copied", "least", "now", "batches", "before", "at a time", "bytes", "racks")
NOTES = (
    "least: no order of these moves takes less; now: moves start as others end, in the order of the plan; batches: the",
    "same moves, each batch after the one before; before: batches filled one after the other from the moves in random",
    "order, as plans were once made. All at 100 kB/s for each broker, over the least. at a time: moves of a broker, as",
    "the plan chooses.",
    "bytes: the broker furthest from its target after it; racks: partitions that moved and are on fewer racks than",
    "they could be",
)

MANY_HEADER = ("brokers x partitions", "", "plans", "mean", "worst", f"over {ALLOWED:.2f}")


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Returns three tables: all shapes and goals, many clusters, and plans carried out on a fleet."""
    brokers, partitions = (QUICK_BROKERS, QUICK_PARTITIONS) if quick else (BROKERS, PARTITIONS)
    rows = []
    for shape in SHAPES:
        for case in _cases(brokers):
            cluster = case.cluster(shape, brokers, partitions, seed=1)
            plan = await asyncio.to_thread(make_plan, cluster, case.goal)
            rows.append((shape, str(case.goal.kind), *await asyncio.to_thread(_figures, cluster, plan)))
    of_one = show(f"{partitions} partitions on {brokers} brokers, in virtual time", HEADER, rows, NOTES)
    of_many = await asyncio.to_thread(_of_many, quick)
    return "\n".join((of_one, of_many, await carried_out.run(zookeeper, directory, quick=quick)))


class _Case(NamedTuple):
    """A goal, with as many lost and empty brokers as it needs."""

    goal: Goal
    lost: int = 0
    fresh: int = 0

    def cluster(self, shape: str, brokers: int, partitions: int, seed: int) -> PlannerCluster:
        return shaped(shape, brokers, partitions, seed=seed, lost=self.lost, fresh=self.fresh)


def _cases(brokers: int) -> Sequence[_Case]:
    fresh = tuple(range(brokers - max(1, brokers // 10), brokers))
    return (
        _Case(Goal(GoalKind.HEAL), lost=1),
        _Case(Goal(GoalKind.DRAIN, (0, 1))),
        _Case(Goal(GoalKind.EXPAND, fresh), fresh=len(fresh)),
        _Case(Goal(GoalKind.REBALANCE)),
    )


def _of_many(quick: bool) -> str:
    """Mean and worst of many clusters."""
    rows, seeds = [], 1 if quick else SEEDS
    for brokers, partitions in QUICK_MANY if quick else MANY:
        for case in _cases(brokers):
            over = list(_over_bound(case, brokers, partitions, seeds))
            above = sum(one > ALLOWED for one in over)
            row = (f"{brokers} x {partitions:,}", str(case.goal.kind), f"{len(over)}")
            rows.append((*row, f"{mean(over):.3f}", f"{max(over):.2f}", f"{above}"))
            print(f"  {rows[-1]}", flush=True)
    note = f"seeds of each of the {len(SHAPES)} shapes: {seeds}; what copies nothing is left out"
    return show("many clusters: time of plans over the least", MANY_HEADER, rows, [note])


def _over_bound(case: _Case, brokers: int, partitions: int, seeds: int) -> Iterator[float]:
    """For each plan that copies anything, its time over the minimum that its moves need."""
    for shape in SHAPES:
        for seed in range(1, seeds + 1):
            plan = make_plan(case.cluster(shape, brokers, partitions, seed), case.goal)
            found = _estimated(plan)
            if found.bound.seconds:
                yield found.carried_out.seconds / found.bound.seconds


def _estimated(plan: Plan) -> PlanEstimate:
    moves = in_sooner_order(in_start_order(plan.moves, NETWORK), NETWORK, BatchLimits(), CAPS, chooses_cap=True)
    return estimate(batched(moves, NETWORK), NETWORK, CAPS, chooses_cap=True)


def _figures(cluster: PlannerCluster, plan: Plan) -> Sequence[str]:
    at_random = batched_as_they_come(sorted(plan.moves, key=lambda move: (move.priority, _chance(move))))
    found = _estimated(plan)
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


def _on_few_racks(cluster: PlannerCluster, moves: Sequence[PlannedMove]) -> int:
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    possible = len({broker.rack for broker in cluster.brokers if broker.live})
    return sum(len({racks[broker] for broker in move.target}) < min(possible, len(move.target)) for move in moves)
