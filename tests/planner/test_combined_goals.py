"""Several goals in one plan: one final set of replicas for each partition, and no byte is copied twice."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerTopic
from tests.effort import examples
from tests.planner.clusters import clusters, goals, partition, random_cluster, topic
from tests.planner.column_plans import make_plan

PARTS = {GoalKind.HEAL: (7,), GoalKind.DRAIN: (3,), GoalKind.EXPAND: (10, 11)}
SEVEN_LOST = [*map(PlannerBroker, (1, 2, 3, 9)), PlannerBroker(7, live=False)]


def grown(seed: int) -> PlannerCluster:
    """Broker 7 of ten is lost, and two new ones are empty."""
    cluster = random_cluster(10, 3, 300, seed=seed, dead=(7,))
    cluster.brokers += [PlannerBroker(broker, f"r{broker % 3}", True, 10**13) for broker in (10, 11)]
    return cluster


def carried_out(cluster: PlannerCluster, plan: Plan) -> PlannerCluster:
    targets = {move[:2]: move.target for move in plan.moves}
    live = {broker.id for broker in cluster.brokers if broker.live}
    topics = []
    for one in cluster.topics:
        moved = []
        for held in one.partitions:
            replicas = targets.get((one.name, held.index), held.replicas)
            isr = tuple(broker for broker in replicas if broker in live)
            moved.append(msgspec.structs.replace(held, replicas=replicas, isr=isr, leader=isr[0]))
        topics.append(PlannerTopic(one.name, moved))
    return PlannerCluster(cluster.brokers, topics)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("order", [list(PARTS), list(reversed(PARTS))], ids=["heal_first", "expand_first"])
def test_dp_2_one_plan_for_several_goals_copies_less_than_one_plan_after_the_other(
    seed: int, order: list[GoalKind]
) -> None:
    cluster = grown(seed)
    one = make_plan(cluster, Goal(GoalKind.COMBINE, parts=PARTS))
    copied, now = 0, cluster
    for kind in order:
        made = make_plan(now, Goal(kind, PARTS[kind]))
        copied, now = copied + made.summary.bytes, carried_out(now, made)
    assert one.summary.bytes < 0.95 * copied
    assert one.summary.bytes >= one.summary.lower_bound > 0
    assert one.left_out == ()
    after = one.summary.after
    assert after[3].replicas == after[7].replicas == 0
    for broker in (10, 11):
        assert after[broker].replicas > 0.75 * one.summary.targets[broker][1]


def test_dp_2_each_move_and_each_partition_left_out_says_which_goals_ask_for_it() -> None:
    held = [
        partition(0, 7, 1, live=[1]),
        partition(1, 3, 1),
        partition(2, 7, 3, live=[3]),
        partition(3, 1, 2),
        partition(4, 3, 2, moving=True),
        partition(5, 7, 2, live=[]),
    ]
    cluster = PlannerCluster(SEVEN_LOST, [topic("t", *held)])
    parts = {GoalKind.HEAL: (7,), GoalKind.DRAIN: (3,), GoalKind.EXPAND: (9,)}
    made = make_plan(cluster, Goal(GoalKind.COMBINE, parts=parts))
    assert {move.partition: move.reason.split(":")[0] for move in made.moves if move.partition < 3} == {
        0: "heal",
        1: "drain",
        2: "heal, drain",
    }
    assert {move.partition: (move.priority, move.rule) for move in made.moves if move.partition < 3} == {
        0: (1, "live-brokers"),
        1: (2, "drain"),
        2: (1, "live-brokers"),
    }
    assert [(one.partition, one.reason, one.missed) for one in made.left_out] == [
        (4, "drain: its reassignment is in flight", True),
        (5, "heal: no live replica is in sync: there is nothing to copy from", True),
    ]


@given(st.data())
@pytest.mark.more
@settings(max_examples=examples(150))
def test_dp_2_a_combined_plan_moves_or_names_all_that_its_parts_force_and_brings_the_rest_to_new_brokers(
    data: st.DataObject,
) -> None:
    cluster = data.draw(clusters())
    goal = data.draw(goals(cluster, (GoalKind.COMBINE,)))
    live = frozenset(broker.id for broker in cluster.brokers if broker.live)
    try:
        made = make_plan(cluster, goal, PlanOptions(rounds=6))
    except PlanError:
        return
    leaving = goal.leaving(range(1, 9), live)
    stood = {(one.name, held.index): held.replicas for one in cluster.topics for held in one.partitions}
    named = {move[:2] for move in made.moves} | {left[:2] for left in made.left_out}
    assert named >= {name for name, replicas in stood.items() if leaving & set(replicas)}
    for move in made.moves:
        gone, added = set(move.original) - set(move.target), set(move.target) - set(move.original)
        assert not leaving & set(move.target)
        assert len(added - set(goal.joining)) <= len(gone & leaving)


@pytest.mark.parametrize(
    ("parts", "saying"),
    [
        ({GoalKind.DRAIN: (3,)}, "combine: name at least two of --heal, --drain and --expand"),
        (
            {GoalKind.DRAIN: (3, 2), GoalKind.EXPAND: (3,)},
            "combine: broker 3 stands in --drain and in --expand: it can have one part",
        ),
        (
            {GoalKind.DRAIN: (3, 4), GoalKind.EXPAND: (3, 4)},
            "combine: brokers 3, 4 stand in --drain and in --expand: each can have one part",
        ),
        ({GoalKind.HEAL: (), GoalKind.DRAIN: (7,)}, "combine --drain: broker 7 is not live: --heal takes lost brokers"),
        ({GoalKind.HEAL: (3,), GoalKind.EXPAND: (9,)}, "heal: broker 3 is live; drain empties a live broker"),
        ({GoalKind.HEAL: (7,), GoalKind.EXPAND: (8,)}, "expand: the snapshot has no broker 8"),
        ({GoalKind.HEAL: (8,), GoalKind.DRAIN: (3,)}, "heal: the snapshot has no broker 8"),
        ({GoalKind.HEAL: (), GoalKind.DRAIN: (1, 2, 3, 9)}, "drain: no live broker would be left"),
    ],
)
def test_dp_2_goals_that_contradict_each_other_are_refused(parts: dict[GoalKind, tuple[int, ...]], saying: str) -> None:
    with pytest.raises(PlanError, match=saying):
        make_plan(PlannerCluster(SEVEN_LOST, [topic("t", partition(0, 1, 2))]), Goal(GoalKind.COMBINE, parts=parts))
