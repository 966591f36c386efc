"""No plan brings a broker more than an operator lets it hold."""

from collections.abc import Sequence

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.brokers.broker_room import BrokerRoom, room_of
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.placement.spare_loads import SpareRooms
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, Volume
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, OUT
from tests.planner.clusters import partition, random_cluster, topic
from tests.planner.column_plans import make_plan

GOALS = (
    Goal(GoalKind.HEAL),
    Goal(GoalKind.DRAIN, (1,)),
    Goal(GoalKind.EXPAND, (8,)),
    Goal(GoalKind.REBALANCE),
    Goal(GoalKind.SET_FACTOR, factor=3),
    Goal(GoalKind.COMBINE, parts={GoalKind.HEAL: (), GoalKind.EXPAND: (8,)}),
)


def drain_of_two(limit: dict[int, int], sizes: Sequence[int] = (60, 60)) -> Plan:
    """Broker 1 is emptied, and only 3 can take what it has: it holds 10 bytes."""
    parts = [partition(index, 1, 2, size=size) for index, size in enumerate(sizes)]
    cluster = PlannerCluster(
        [PlannerBroker(each) for each in (1, 2, 3)], [topic("t", *parts, partition(9, 3, size=10))]
    )
    return make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), PlanOptions(broker_max={"bytes": limit}))


def test_dp_2_what_a_broker_may_not_hold_does_not_come_to_it_and_the_plan_says_what_is_left_out() -> None:
    assert len(drain_of_two({}).moves) == len(drain_of_two({3: 130}).moves) == 2
    for limit in (129, 70):
        made = drain_of_two({3: limit})
        assert len(made.moves) == 1
        assert [one.reason for one in made.left_out] == ["no broker has room for it"]
    assert drain_of_two({3: 69}).moves == ()


def test_dp_2_a_broker_that_holds_more_than_it_may_gets_nothing_and_the_plan_says_so() -> None:
    made = drain_of_two({3: 5, 2: 500})
    assert made.moves == ()
    assert made.summary.notes == ("broker 3 holds more than --broker-max-bytes allows already: nothing comes to it",)


def test_dp_2_a_limit_counts_what_moves_have_yet_to_bring_and_is_of_all_volumes_together() -> None:
    broker = PlannerBroker(1, None, True, 2_000, 950, 30, 2, (Volume(1_000, 550), Volume(1_000, 400)))
    room = room_of(broker, 100, 10, 0.0, 900)
    assert room == BrokerRoom(950 - 50, 550 - 50, 2, 900 - 100 - 30 - 20)
    assert [room.left(arrived) for arrived in (0, 300, 740, 750)] == [500, 300, 10, 0]
    assert room_of(broker, 100, 10, 0.0).left(740) == 80


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: str(goal.kind))
@pytest.mark.parametrize("effort", [Effort.NONE, Effort.QUICK])
def test_dp_2_no_goal_brings_a_broker_over_its_limit(goal: Goal, effort: Effort) -> None:
    for seed in range(3):
        factor = 2 if goal.kind is GoalKind.SET_FACTOR else 3
        lost = () if goal.kind is GoalKind.SET_FACTOR else (0,)

        def plan(limits: dict[int, int], seed: int = seed, factor: int = factor, lost: Sequence[int] = lost) -> Plan:
            cluster = random_cluster(8, 4, 150, factor=factor, seed=seed, dead=lost)
            cluster.brokers.append(PlannerBroker(8, "r0"))
            return make_plan(cluster, goal, PlanOptions(effort=effort, broker_max={"bytes": limits}))

        free = plan({}).summary
        before, after = free.before, free.after
        grown = [broker for broker in after if after[broker].bytes > before[broker].bytes]
        assert grown
        limits = {broker: (before[broker].bytes + after[broker].bytes) // 2 for broker in grown}
        found = plan(limits).summary
        assert all(found.after[broker].bytes <= most for broker, most in limits.items())


def held_by(plan: Plan, cluster: PlannerCluster, broker: int) -> Load:
    """The most that it holds at any time: what it had, and what the plan brings."""
    parts = {(of.name, one.index): one for of in cluster.topics for one in of.partitions}
    load = plan.summary.before[broker]
    for move in plan.moves:
        one = parts[move.topic, move.partition]
        if broker in move.target and broker not in move.original:
            load = load.plus(replica_load(one, one.bytes, leads=broker == move.target[0]))
        elif broker == move.target[0] != move.original[0]:
            load = load.plus(leadership_load(one))
    return load


OTHERS = [name for name in MEASURES if name != "bytes"]
COPYING = [one for one in GOALS if one.kind is not GoalKind.SET_FACTOR]


@pytest.mark.parametrize("measure", OTHERS)
@pytest.mark.parametrize("goal", COPYING, ids=lambda one: str(one.kind))
def test_dp_13_no_goal_brings_a_broker_over_another_limit_at_any_time(goal: Goal, measure: str) -> None:
    cluster = random_cluster(8, 4, 150, dead=(0,))
    cluster.brokers.append(PlannerBroker(8, "r0"))
    for one in (one for of in cluster.topics for one in of.partitions):
        one.messages, one.cpu = one.produce // 7, one.fetch // 5

    def plan(limits: dict[int, int]) -> Plan:
        weights = GoalWeights(potential_out=1, messages_in=1, cpu=1)
        return make_plan(cluster, goal, PlanOptions(rounds=10, weights=weights, broker_max={measure: limits}))

    free = plan(dict.fromkeys(range(9), 2**50))
    before = {one: getattr(free.summary.before[one], measure) for one in range(9)}
    most = {one: getattr(held_by(free, cluster, one), measure) for one in range(9)}
    limits = {one: (before[one] + most[one]) // 2 for one in most if most[one] > before[one] + 1}
    assert limits, "the plan brings some"
    found = plan(limits)
    assert found.moves
    held = {one: getattr(held_by(found, cluster, one), measure) for one in limits}
    assert {one: (held[one], limit) for one, limit in limits.items() if held[one] > max(limit, before[one])} == {}


@pytest.mark.parametrize(
    "goal", [Goal(GoalKind.DEMOTE, (1,)), Goal(GoalKind.SET_FACTOR, factor=2)], ids=["demote", "rf"]
)
def test_dp_13_a_limit_of_leaders_is_refused_where_replicas_that_are_there_begin_to_lead(goal: Goal) -> None:
    with pytest.raises(PlanError, match="so --broker-max-leaders cannot be kept: leave it out"):
        make_plan(random_cluster(6, 3, 30), goal, PlanOptions(broker_max={"leaders": {2: 3}}))


def test_dp_13_a_broker_with_as_many_replicas_as_it_may_have_gets_none_and_a_note_names_one_with_more() -> None:
    parts = [partition(index, 1, 2, size=60) for index in range(2)]
    cluster = PlannerCluster([PlannerBroker(each) for each in (1, 2, 3)], [topic("t", *parts, partition(9, 3, size=1))])
    made = make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), PlanOptions(broker_max={"replicas": {3: 2}}))
    assert (len(made.moves), [one.reason for one in made.left_out]) == (1, ["no broker has room for it"])
    made = make_plan(cluster, Goal(GoalKind.DRAIN, (1,)), PlanOptions(broker_max={"replicas": {3: 0}}))
    assert made.moves == ()
    why = "broker 3 holds more than --broker-max-replicas allows already: nothing comes to it"
    assert made.summary.notes == (why,)


def test_dp_2_a_copy_that_is_taken_back_comes_to_no_broker_that_is_at_its_limit() -> None:
    listed = {broker: PlannerBroker(broker) for broker in (1, 2, 3)}
    before = dict.fromkeys(listed, Load(bytes=100, replicas=5))
    limited = PlanOptions(broker_max={"replicas": {1: 8, 3: 9}})
    rooms = SpareRooms(listed, [*listed], before, 1, limited)
    rooms.bring(1, Load(bytes=10, replicas=2))
    wide = Load(bytes=1_000, replicas=100)
    found = rooms.within_limits({(1, IN): wide, (1, OUT): wide, (2, IN): wide})
    assert found == {(1, IN): wide._replace(replicas=1), (1, OUT): wide, (2, IN): wide}
