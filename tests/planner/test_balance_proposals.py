"""EXPAND and REBALANCE: how even the brokers become, and how few bytes a plan copies for it."""

import msgspec
import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerTopic
from tests.planner.clusters import MIB, random_cluster, worst
from tests.planner.column_plans import make_plan

NEW = (12, 13)


def grown() -> PlannerCluster:
    """Twelve brokers that hold replicas, and the new ones."""
    stood = random_cluster(12, 4, 2000)
    new = [PlannerBroker(n, f"r{n % 4}", True, 10**13) for n in NEW]
    return PlannerCluster([*stood.brokers, *new], stood.topics)


def test_dp_2_new_brokers_get_their_share_and_lead_no_more_than_that() -> None:
    made = make_plan(grown(), Goal(GoalKind.EXPAND, NEW), PlanOptions(tolerance=0.1))
    for broker in NEW:
        share = dict(zip(("bytes", "replicas", "leaders"), made.summary.targets[broker], strict=False))
        assert made.summary.after[broker].bytes >= 0.9 * share["bytes"]
        assert made.summary.after[broker].replicas >= 0.9 * share["replicas"]
        assert 0.9 * share["leaders"] <= made.summary.after[broker].leaders <= 1.1 * share["leaders"]
    for move in made.moves:
        assert set(move.target) - set(move.original), "no move but for a new broker"
        assert set(move.target) - set(move.original) <= set(NEW)
    assert made.summary.bytes <= 1.2 * made.summary.lower_bound


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.long) for part in (0.0, 0.5)] + [0.1])
def test_dp_2_an_expansion_copies_as_much_as_its_max_bytes_allow(part: float) -> None:
    cluster = grown()
    goal = Goal(GoalKind.EXPAND, NEW)
    limit = int(part * make_plan(cluster, goal).summary.bytes)
    made = make_plan(cluster, goal, PlanOptions(max_bytes=limit))
    assert 0.9 * limit <= made.summary.bytes <= limit
    assert sum(move.bytes for move in made.moves) == made.summary.bytes
    arrived = [made.summary.after[broker].bytes for broker in NEW]
    assert sum(arrived) == made.summary.bytes
    assert min(arrived) >= 0.3 * limit, "both new brokers get a part of it"


@pytest.mark.release
@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_dp_2_a_rebalance_copies_little_more_than_it_must(seed: int) -> None:
    stood = random_cluster(30, 5, 10_000, seed=seed)
    fuller = [shifted(one) for one in stood.topics]
    made = make_plan(PlannerCluster(stood.brokers, fuller), Goal(GoalKind.REBALANCE)).summary
    assert made.imbalance_before["bytes"] > 0.4
    assert worst(made) <= 0.1
    assert made.bytes <= 1.3 * made.lower_bound


def shifted(one: PlannerTopic, by: int = 25) -> PlannerTopic:
    """A third of the first five brokers' replicas lies `by` brokers further, in the same racks; sizes are capped."""
    parts = []
    for held in one.partitions:
        replicas = tuple(b + by if b < 5 and held.index % 3 == 0 else b for b in held.replicas)
        spread = replicas if len(set(replicas)) == len(replicas) else held.replicas
        size = min(held.bytes, 64 * MIB)
        parts.append(msgspec.structs.replace(held, replicas=spread, isr=spread, leader=spread[0], bytes=size))
    return PlannerTopic(one.name, parts)
