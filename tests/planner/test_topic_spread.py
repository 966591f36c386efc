"""An even spread of each topic: its replicas and its leaders over brokers."""

from collections import Counter

import pytest

from kafka_reassign_rpc.planner.columns.topic_spread import SpreadCounts, spread_reason
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from kafka_reassign_rpc.planner.proposals.round_parameters import SpreadParameters
from tests.planner.clusters import broken_rules, brokers, partition, random_cluster, topic, worst
from tests.planner.column_plans import make_plan, plan_of_chunks

REBALANCE = Goal(GoalKind.REBALANCE)
SPREAD = PlanOptions(weights=GoalWeights(topic_replicas=1, topic_leaders=1))


def halves(racks: list[str | None]) -> PlannerCluster:
    """Two topics on half of the brokers each: brokers hold the same, and each is idle for one of the topics."""
    parts = [[partition(n, first + n % 3, first + (n + 1) % 3) for n in range(24)] for first in (1, 4)]
    return PlannerCluster(brokers(racks), [topic(name, *of) for name, of in zip("ab", parts, strict=True)])


def after(cluster: PlannerCluster, made: Plan) -> dict[str, tuple[Counter[int], Counter[int]]]:
    """By topic: replicas and leaders of each broker."""
    targets = {move[:2]: move.target for move in made.moves}
    placed = {
        one.name: [targets.get((one.name, held.index), held.replicas) for held in one.partitions]
        for one in cluster.topics
    }
    return {
        name: (Counter(broker for of in held for broker in of), Counter(of[0] for of in held))
        for name, held in placed.items()
    }


@pytest.mark.parametrize("racks", [[None] * 6, [*"abcabc"]], ids=["no racks", "racks"])
def test_dp_13_topics_on_half_of_the_brokers_each_are_spread_over_all(racks: list[str | None]) -> None:
    cluster = halves(racks)
    assert not make_plan(cluster, REBALANCE).moves, "nothing to move without the weights"
    made = make_plan(cluster, REBALANCE, SPREAD)
    assert (made.summary.topics_before.replicas, made.summary.topics_before.leaders) == (2 * 3 * 7, 2 * 3 * 3)
    for replicas, leaders in after(cluster, made).values():
        assert max(replicas.values()) <= 9
        assert max(leaders.values()) <= 5
    assert not any(made.summary.topics_after)
    assert worst(made.summary) <= 0.1
    assert broken_rules(cluster, REBALANCE, made, 0.05) == []


def test_dp_13_leaders_alone_are_spread_without_a_copy() -> None:
    cluster = PlannerCluster(brokers([None] * 3), [
        topic("a", *(partition(n, 1, 2, 3) for n in range(9))), topic("b", *(partition(n, 2, 3, 1) for n in range(9))),
        topic("c", *(partition(n, 3, 1, 2) for n in range(9))),
    ])  # fmt: skip
    made = make_plan(cluster, REBALANCE, PlanOptions(weights=GoalWeights(topic_leaders=1)))
    assert made.summary.bytes == 0
    assert all(max(leaders.values()) <= 4 for _, leaders in after(cluster, made).values())


@pytest.mark.gate
def test_dp_13_a_random_cluster_is_even_by_topics_and_by_brokers_also_in_chunks() -> None:
    cluster = random_cluster(12, 3, 600, seed=4)
    made = make_plan(cluster, REBALANCE, SPREAD)
    before, now = made.summary.topics_before, made.summary.topics_after
    assert now.replicas + now.leaders < 0.1 * (before.replicas + before.leaders)
    assert worst(made.summary) < 0.15
    assert broken_rules(cluster, REBALANCE, made, 0.05) == []
    chunks = [[one] for one in random_cluster(12, 3, 600, seed=4).topics]
    assert plan_of_chunks(cluster, REBALANCE, SPREAD, chunks).summary == made.summary


def test_dp_13_what_is_uneven_before_a_plan_that_mends_racks_first_is_counted_before_racks_are_mended() -> None:
    cluster = PlannerCluster(brokers([*"aabb"]), [topic("t", *(partition(n, 1, 2) for n in range(8)))])
    made = make_plan(cluster, Goal(GoalKind.REBALANCE, racks=True), PlanOptions(weights=GoalWeights(topic_replicas=1)))
    assert made.summary.topics_before.replicas == 2 * (8 - 5)
    assert made.summary.topics_after.replicas == 0


def test_dp_13_topics_are_spread_with_no_more_bytes_than_allowed() -> None:
    cluster = halves([None] * 6)
    most = make_plan(cluster, REBALANCE, SPREAD).summary.bytes // 3
    made = make_plan(cluster, REBALANCE, PlanOptions(weights=SPREAD.weights, max_bytes=most))
    assert 0 < made.summary.bytes <= most


@pytest.mark.parametrize("racks", [[None] * 6, [*"abcabc"]], ids=["no racks", "racks"])
def test_dp_13_leaders_alone_are_spread_by_copies_where_no_replica_of_the_others_can_lead(
    racks: list[str | None],
) -> None:
    cluster = halves(racks)
    options = PlanOptions(weights=GoalWeights(topic_leaders=1), effort=Effort.NONE)
    made = make_plan(cluster, REBALANCE, options)
    assert made.moves, "brokers 4, 5 and 6 lead none of topic a"
    assert all(max(leaders.values()) <= 5 for _, leaders in after(cluster, made).values())
    assert not made.summary.topics_after.leaders
    assert broken_rules(cluster, REBALANCE, made, 0.05) == []
    none = PlanOptions(weights=options.weights, effort=Effort.NONE, max_bytes=0)
    assert not make_plan(cluster, REBALANCE, none).summary.bytes


def test_dp_13_a_move_that_spreads_a_topic_is_explained_by_a_broker_that_it_takes_something_from() -> None:
    """Broker 1 has three of four leaders and replicas, 2 has the others; two would be even."""
    shares = dict.fromkeys((1, 2), 0.5)
    spread = SpreadParameters(shares, shares, now=True, proposes=True, copies_leaders=False)
    stood = SpreadCounts([(1,), (1,), (1,), (2,)], spread)
    told = {"replicas": "broker 1 has 3 replicas of the topic, 2 would be even", "leaders": "broker 1 has 3 leaders of"}
    for original, target, what in (
        ((1, 3), (2, 3), "replicas"),
        ((1, 3), (3, 1), "leaders"),
        ((1, 3), (1, 2), ""),
        ((2, 3), (4, 3), ""),
    ):
        reason, rule = spread_reason(partition(0, *target, original=original), stood)
        assert rule == (f"topic_{what}" if what else "")
        assert reason.startswith(told[what]) if what else not reason
