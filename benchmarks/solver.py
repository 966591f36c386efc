"""The best rebalance of a small cluster, by OR-tools' CP-SAT.

The model is written from docs/pipeline.md, and shares nothing with the planner: distinct live brokers, racks as even as
before, and every broker within the tolerance by bytes, replicas, leaders and rates. It is for clusters in which all
brokers live, all replicas are in sync, and there is room everywhere.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from tests.planner.exact_clusters import SIZE_UNIT

Placement = Mapping[tuple[str, int], tuple[int, ...]]
"""By topic and partition: the replicas, the preferred leader first."""


_ALIKE = 1e-9


class Unsolved(Enum):
    """Why the solver has no plan with every broker within the tolerance."""

    NONE_EXISTS = "none exists"
    NONE_FOUND = "none found in time"


class Optimum(NamedTuple):
    """`copied`: the fewest bytes that the solver found; `bound`: no plan copies fewer."""

    copied: int
    bound: int
    placed: Placement


def optimum(
    found: PlannerCluster,
    tolerance: float,
    seconds: float,
    hint: Placement,
    workers: int = 1,
    shares: Callable[[str], Mapping[int, float]] | None = None,
) -> Optimum | Unsolved:
    """The plan that copies least with every broker within the tolerance of its target. `shares`: by measure and broker;
    None: all alike.
    """
    from ortools.sat.python import cp_model

    model, brokers = cp_model.CpModel(), [one.id for one in found.brokers]
    racks = {one.id: one.rack for one in found.brokers}
    parts = {(topic.name, one.index): one for topic in found.topics for one in topic.partitions}
    holds = {(name, broker): model.new_bool_var("") for name in parts for broker in brokers}
    leads = {(name, broker): model.new_bool_var("") for name in parts for broker in brokers}
    for name, one in parts.items():
        model.add(sum(holds[name, broker] for broker in brokers) == len(one.replicas))
        model.add_exactly_one(leads[name, broker] for broker in brokers)
        for broker in brokers:
            model.add_implication(leads[name, broker], holds[name, broker])
        before = sorted(Counter(racks[broker] for broker in one.replicas).values(), reverse=True)
        names = sorted(set(racks.values()), key=str)
        for taken in range(1, len(names)):
            for some in itertools.combinations(names, taken):
                inside = [holds[name, broker] for broker in brokers if racks[broker] in some]
                model.add(sum(inside) <= sum(before[:taken]))
    factors = [len(one.replicas) for one in parts.values()]
    for measure, terms, weights, times in (
        ("bytes", holds, {name: one.bytes // SIZE_UNIT for name, one in parts.items()}, factors),
        ("replicas", holds, dict.fromkeys(parts, 1), factors),
        ("leaders", leads, dict.fromkeys(parts, 1), [1] * len(parts)),
        ("produce", holds, {name: one.produce for name, one in parts.items()}, factors),
        ("fetch", leads, {name: one.fetch for name, one in parts.items()}, [1] * len(parts)),
        ("bytes_in", leads, {name: one.produce for name, one in parts.items()}, [1] * len(parts)),
    ):
        whole = sum(weight * factor for weight, factor in zip(weights.values(), times, strict=True))
        of_brokers = dict.fromkeys(brokers, 1.0) if shares is None else shares(measure)
        for broker in brokers if whole else ():
            target = whole * of_brokers[broker] / sum(of_brokers.values())
            held = sum(weight * terms[name, broker] for name, weight in weights.items())
            least, most = math.ceil(target * (1 - tolerance) - _ALIKE), math.floor(target * (1 + tolerance) + _ALIKE)
            model.add_linear_constraint(held, least, most)
    model.minimize(
        sum(
            one.bytes // SIZE_UNIT * holds[name, broker]
            for name, one in parts.items()
            for broker in brokers
            if broker not in one.replicas
        )
    )
    for name, one in parts.items():
        target_replicas = hint.get(name, one.replicas)
        for broker in brokers:
            model.add_hint(holds[name, broker], broker in target_replicas)
            model.add_hint(leads[name, broker], broker == target_replicas[0])
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, workers
    ended = solver.solve(model)
    if ended not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Unsolved.NONE_EXISTS if ended == cp_model.INFEASIBLE else Unsolved.NONE_FOUND
    placed = {}
    for name in parts:
        led = next(broker for broker in brokers if solver.value(leads[name, broker]))
        others = [broker for broker in brokers if solver.value(holds[name, broker]) and broker != led]
        placed[name] = (led, *others)
    copied, bound = round(solver.objective_value) * SIZE_UNIT, math.ceil(solver.best_objective_bound - 1e-6) * SIZE_UNIT
    return Optimum(copied, bound, placed)
