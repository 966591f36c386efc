"""For every cluster and goal: no plan breaks a hard rule, and the plan does not depend on chunks or processes."""

import copy
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import InMemoryPlanner
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from tests.effort import examples
from tests.planner.clusters import broken_rules, clusters, goals, random_cluster
from tests.planner.column_plans import make_plan, plan_of_chunks
from tests.planner.shapes import shaped


@given(st.data())
@pytest.mark.more
@settings(max_examples=examples(200))
def test_dp_2_no_plan_breaks_a_hard_rule(data: st.DataObject) -> None:
    cluster = data.draw(clusters())
    goal = data.draw(goals(cluster))
    options = PlanOptions(seed=data.draw(st.integers(0, 3)), rounds=6, effort=Effort.QUICK)
    before = copy.deepcopy(cluster)
    try:
        made = make_plan(cluster, goal, options)
    except PlanError:
        return
    assert cluster == before
    assert broken_rules(cluster, goal, made, options.headroom) == []
    assert not {move[:2] for move in made.moves} & {left[:2] for left in made.left_out}


@given(st.data())
@pytest.mark.more
@settings(max_examples=examples(100))
def test_dp_2_healing_and_draining_leave_nothing_out_without_a_reason(data: st.DataObject) -> None:
    cluster = data.draw(clusters())
    goal = data.draw(goals(cluster, (GoalKind.HEAL, GoalKind.DRAIN)))
    live = {broker.id for broker in cluster.brokers if broker.live}
    leaving = set(goal.brokers) if goal.kind is GoalKind.DRAIN else set(range(1, 9)) - live
    concerned = {
        (topic.name, held.index)
        for topic in cluster.topics
        for held in topic.partitions
        if leaving & set(held.replicas)
    }
    try:
        made = make_plan(cluster, goal)
    except PlanError:
        return
    assert {move[:2] for move in made.moves} | {left[:2] for left in made.left_out} == concerned
    assert all(left.reason for left in made.left_out)
    assert all(set(move.target) - set(move.original) for move in made.moves)
    for move in made.moves:  # only the leaving replicas are replaced, each at its place
        assert [a for a, b in zip(move.original, move.target, strict=True) if a != b] == [
            broker for broker in move.original if broker in leaving
        ]


@pytest.mark.long
@pytest.mark.parametrize("kind", list(GoalKind))
def test_dp_2_the_plan_is_the_same_however_the_topics_are_cut_into_chunks(kind: GoalKind) -> None:
    dead = (5,) if kind is GoalKind.HEAL else ()
    cluster = shaped("plain", 12, 500) if kind is GoalKind.RACKS else random_cluster(12, 3, 500, dead=dead)
    of_kinds = {GoalKind.DRAIN: (2, 3), GoalKind.EXPAND: (11,), GoalKind.DEMOTE: (2, 3)}
    parts = {k: of_kinds[k] for k in (GoalKind.DRAIN, GoalKind.EXPAND)} if kind is GoalKind.COMBINE else {}
    goal = Goal(kind, of_kinds.get(kind, ()), factor=2 if kind is GoalKind.SET_FACTOR else 0, parts=parts)
    network = NetworkLimits(100_000_000, {0: 25_000_000, 7: 50_000_000})
    options = PlanOptions(seed=4, tolerance=0.08, rounds=10, network=network, effort=Effort.QUICK)
    whole = make_plan(cluster, goal, options)
    assert whole.moves
    for count in (3, 17):
        topics = list(copy.deepcopy(cluster).topics)
        random.Random(count).shuffle(topics)
        chunks = [topics[start::count] for start in range(count)]
        assert plan_of_chunks(cluster, goal, options, chunks) == whole


def test_dp_2_another_seed_gives_another_plan_that_is_as_good() -> None:
    cluster = random_cluster(12, 3, 1500, dead=(5,))
    one, other = (make_plan(cluster, Goal(GoalKind.HEAL), PlanOptions(seed=seed)) for seed in (1, 2))
    assert one.moves != other.moves
    assert one.summary.bytes == other.summary.bytes
    assert abs(one.summary.imbalance_after["bytes"] - other.summary.imbalance_after["bytes"]) < 0.05


@pytest.mark.long
def test_46_3_a_plan_is_made_in_slices_that_never_take_long() -> None:
    cluster = random_cluster(10, 5, 20_000, dead=(3,))
    planning = InMemoryPlanner(PlannerCluster(cluster.brokers, iter(cluster.topics)), Goal(GoalKind.HEAL))
    slices = sum(1 for _ in planning.steps())
    moves = planning.plan.moves
    assert len(moves) > 5000
    assert slices > 20_000 / 256 + len(moves) / 256
    assert [move.priority for move in moves] == sorted(move.priority for move in moves)
