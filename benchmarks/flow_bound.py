"""What any rebalance of a large cluster copies at least, by a linear program: parts of partitions may move.

Partitions with the same replicas are one flow, and each measure of replicas is alone: so the program has some hundred
variables, whatever the cluster has. A plan inside the tolerance is a solution of each, so none exists where one has no
solution; that each has one proves nothing. The rules are those of `benchmarks.solver`.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping

from benchmarks.solver import Optimum, Unsolved
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster, PlannerPartition
from tests.planner.exact_clusters import SIZE_UNIT

_MEASURES: Mapping[str, Callable[[PlannerPartition], int]] = {
    "bytes": lambda one: one.bytes // SIZE_UNIT,
    "replicas": lambda _: 1,
    "produce": lambda one: one.produce,
}


def flow_bound(
    found: PlannerCluster, tolerance: float, shares: Callable[[str], Mapping[int, float]]
) -> Optimum | Unsolved:
    """An Optimum that places nothing: no plan copies fewer bytes."""
    least = [_least_arriving(found, name, tolerance, shares(name)) for name in _MEASURES]
    if None in least or least[0] is None:
        return Unsolved.NONE_EXISTS
    copied = math.floor(least[0]) * SIZE_UNIT
    return Optimum(copied, copied, {})


def _least_arriving(found: PlannerCluster, measure: str, tolerance: float, shares: Mapping[int, float]) -> float | None:
    """How much has to come to brokers until each is within the tolerance; None: no flow brings them there."""
    from ortools.linear_solver import pywraplp

    racks = {one.id: one.rack for one in found.brokers}
    flows = Counter[tuple[int, ...]]()
    for topic in found.topics:
        for one in topic.partitions:
            flows[tuple(sorted(one.replicas))] += _MEASURES[measure](one)
    whole = sum(size * len(replicas) for replicas, size in flows.items())
    if not whole:
        return 0.0
    solver = pywraplp.Solver.CreateSolver("GLOP")
    holds = {(replicas, broker): solver.NumVar(0, size, "") for replicas, size in flows.items() for broker in racks}
    names = sorted(set(racks.values()), key=str)
    for replicas, size in flows.items():
        solver.Add(sum(holds[replicas, broker] for broker in racks) == size * len(replicas))
        before = sorted(Counter(racks[broker] for broker in replicas).values(), reverse=True)
        for taken in range(1, len(names)):
            for some in itertools.combinations(names, taken):
                inside = [holds[replicas, broker] for broker, rack in racks.items() if rack in some]
                solver.Add(sum(inside) <= size * sum(before[:taken]))
    for broker in racks:
        target = whole * shares[broker] / sum(shares.values())
        held = sum(holds[replicas, broker] for replicas in flows)
        solver.Add(held >= target * (1 - tolerance))
        solver.Add(held <= target * (1 + tolerance))
    solver.Minimize(sum(part for (replicas, broker), part in holds.items() if broker not in replicas))
    return solver.Objective().Value() if solver.Solve() == pywraplp.Solver.OPTIMAL else None
