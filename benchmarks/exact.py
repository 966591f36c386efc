"""Holds rebalance plans against the best that a solver finds: bytes to copy, and the tolerance.

    pip install 'ortools==9.15.*'
    python -m benchmarks exact [--quick]

The clusters of one row are the same in each run, those of the other one are new in each. Unlike: racks of unequal size,
several replication factors, disks or weights of brokers. The solver begins with our
plan, so that it is never worse, and ends after some seconds. No plan copies less than the bound that it proves. Large
and unlike: a bound by flows alone, since no solver ends in time.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benchmarks.flow_bound import flow_bound
from benchmarks.solver import Optimum, Unsolved, optimum
from benchmarks.tables import show
from kafka_reassign_rpc.planner.brokers.broker_targets import is_within
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from tests.planner.clusters import worst
from tests.planner.column_plans import make_plan
from tests.planner.exact_clusters import UnlikeCluster, cluster, unlike

CLUSTERS, QUICK = 100, 4
SECONDS, QUICK_SECONDS = 5.0, 1.0
LARGE = 1_001, 5_000
HEADER = (
    "clusters",
    "solver inside",
    "no plan can be",
    "we inside of these",
    "we inside alone",
    "bytes over the solver's",
    "at worst",
    "over its bound",
    "seconds",
    "at worst",
)
NOTES = (
    "inside: every broker within 10 % of its target of bytes, replicas, leaders and rates. no plan can be: the solver",
    "has proved it; of the others it has found none in time. Bytes are compared where both are. seconds: of CPU, for",
    "our plan. Large: the bound by flows is in place of the solver.",
)


class Compared(NamedTuple):
    """One cluster. `copied`: bytes of our plan; `solved`: what the solver finds inside the tolerance."""

    is_inside: bool
    copied: int
    seconds: float
    solved: Optimum | Unsolved


async def run(_zookeeper: str, _directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    count, seconds = (QUICK, QUICK_SECONDS) if quick else (CLUSTERS, SECONDS)
    fresh = time.time_ns()
    rows = []
    for kind, draw in (("", _alike), ("unlike, ", unlike), ("unlike, large, ", _large)):
        solving = 0.0 if draw is _large else seconds
        for name, seeds in ((f"seeds 0 to {count - 1}", range(count)), ("fresh", range(fresh, fresh + count))):
            found = [await asyncio.to_thread(compared, draw(seed), solving) for seed in seeds]
            rows.append(_row(f"{count}, {kind}{name}", found))
    return show(f"Rebalances beside the optimum, {seconds:g} s for the solver (CP-SAT)", HEADER, rows, NOTES)


def _alike(seed: int) -> UnlikeCluster:
    return UnlikeCluster(cluster(seed), {})


def _large(seed: int) -> UnlikeCluster:
    return unlike(seed, LARGE)


def compared(drawn: UnlikeCluster, seconds: float) -> Compared:
    """`seconds`: for the solver; 0: the bound by flows in its place."""
    made, options = drawn.cluster, PlanOptions(lead_first=False, broker_weights=drawn.broker_weights)
    began = time.process_time()
    plan = make_plan(made, Goal(GoalKind.REBALANCE), options)
    took = time.process_time() - began
    hint = {(move.topic, move.partition): move.target for move in plan.moves}
    if seconds:
        solved = optimum(made, options.tolerance, seconds, hint, shares=drawn.shares)
    else:
        solved = flow_bound(made, options.tolerance, drawn.shares)
    is_inside = is_within(worst(plan.summary), options.tolerance)
    return Compared(is_inside, plan.summary.bytes, took, solved)


def _row(name: str, found: Sequence[Compared]) -> Sequence[str]:
    inside = [(one, one.solved) for one in found if isinstance(one.solved, Optimum)]
    both = [(one, solved) for one, solved in inside if one.is_inside]
    over = [one.copied / solved.copied for one, solved in both if solved.copied] or [1.0]
    least = [one.copied / solved.bound for one, solved in both if solved.bound] or [1.0]
    return (
        name,
        f"{len(inside)}",
        f"{sum(one.solved is Unsolved.NONE_EXISTS for one in found)}",
        f"{len(both)}",
        f"{sum(one.is_inside and isinstance(one.solved, Unsolved) for one in found)}",
        f"{mean(over):.3f}",
        f"{max(over):.3f}",
        f"{mean(least):.3f}",
        f"{mean(one.seconds for one in found):.2f} s",
        f"{max(one.seconds for one in found):.2f} s",
    )
