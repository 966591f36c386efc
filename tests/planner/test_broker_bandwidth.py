"""Brokers with a bandwidth of their own: plans give them as many bytes to receive and to send as fit the time."""

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from tests.planner.clusters import MIB, brokers, partition, topic
from tests.planner.column_plans import make_plan
from tests.planner.placement_bound import received_most
from tests.planner.shapes import PLAIN_FIRST, roomy, shaped
from tests.planner.test_time import DRAIN, GOALS, assert_near_the_best_placement, drained_leader, pour

FAST = 100_000_000


def with_bandwidth(by_broker: Mapping[int, int], throttle: int = -1) -> PlanOptions:
    return PlanOptions(network=NetworkLimits(FAST, by_broker, throttle), rounds=6, effort=Effort.QUICK)


def received(made: Plan) -> Counter[int]:
    """Copies by the broker that gets them."""
    return Counter(broker for move in made.moves for broker in set(move.target) - set(move.original))


def half_are_slow(cluster: PlannerCluster, seed: int) -> dict[int, int]:
    chance = random.Random(seed)
    return {one.id: FAST // chance.choice((4, 4, 2, 1, 1, 1)) for one in cluster.brokers}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.release) for seed in (2, 3))])
@pytest.mark.parametrize("shape", PLAIN_FIRST)
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_no_broker_takes_much_longer_than_the_slowest_in_the_best_placement(
    kind: str, shape: str, seed: int
) -> None:
    goal, lost = GOALS[kind]
    cluster = roomy(shaped(shape, 12, 1800, lost=lost, seed=seed))
    bandwidth = half_are_slow(cluster, seed)
    made = make_plan(cluster, goal, with_bandwidth(bandwidth))
    assert made.summary.bytes == made.summary.lower_bound > 0
    assert_near_the_best_placement(cluster, goal, made, bandwidth)


@pytest.mark.long
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_where_many_partitions_are_poured_slow_brokers_get_as_much_as_fits_the_time(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pour(monkeypatch)
    goal, lost = GOALS[kind]
    cluster = roomy(shaped("plain", 12, 2500, lost=lost))
    bandwidth = half_are_slow(cluster, 5)
    assert_near_the_best_placement(cluster, goal, make_plan(cluster, goal, with_bandwidth(bandwidth)), bandwidth)


@pytest.mark.long
@pytest.mark.release
@pytest.mark.parametrize("shape", ["plain", "few big"])
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_with_thousands_of_moves_slow_brokers_get_as_much_as_fits_the_time_either(kind: str, shape: str) -> None:
    goal, lost = GOALS[kind]
    cluster = roomy(shaped(shape, 12, 15_000, lost=lost))
    bandwidth = half_are_slow(cluster, 2)
    assert_near_the_best_placement(cluster, goal, make_plan(cluster, goal, with_bandwidth(bandwidth)), bandwidth)


def replicas_to_spare(goal: Goal) -> PlannerCluster:
    """Each goal copies 370 partitions to any of brokers 3 to 12, in rack b; brokers 1 and 2 are in rack a."""
    placed = (2, 1) if goal.kind is GoalKind.RACKS else (1,) if goal.kind is GoalKind.SET_FACTOR else (1, 2)
    dead = (1,) if goal.kind is GoalKind.HEAL else ()
    parts = [partition(n, *placed, live=[one for one in placed if one not in dead]) for n in range(370)]
    return PlannerCluster(brokers([*"aabbbbbbbbbb"], dead=dead), [topic("t", *parts)])


@pytest.mark.parametrize(
    "goal",
    [Goal(GoalKind.HEAL), DRAIN, Goal(GoalKind.SET_FACTOR, factor=2), Goal(GoalKind.RACKS)],
    ids=lambda goal: goal.kind,
)
def test_dp_7_of_ten_equal_receivers_one_with_a_quarter_of_the_bandwidth_gets_a_quarter_of_what_others_get(
    goal: Goal,
) -> None:
    """370 copies: 40 for each of nine brokers and ten for the other, all in the same time."""
    got = received(make_plan(replicas_to_spare(goal), goal, with_bandwidth({9: FAST // 4})))
    assert sum(got.values()) == 370
    assert set(got) == set(range(3, 13))
    assert 9 <= got.pop(9) <= 11
    assert max(got.values()) <= 41


def test_dp_7_a_large_partition_does_not_go_to_a_slow_broker_though_it_is_the_emptiest() -> None:
    """The first to be placed: at a tenth of the bandwidth it would take ten times as long."""
    parts = [partition(0, 1, 2, live=[2], size=50 * MIB), *(partition(n, 1, 2, live=[2]) for n in range(1, 60))]
    held = [partition(n, 4, 5, size=MIB) for n in range(6)]
    cluster = PlannerCluster(brokers([None] * 5, dead=[1]), [topic("t", *parts), topic("u", *held)])
    made = make_plan(cluster, Goal(GoalKind.HEAL), with_bandwidth({3: FAST // 10}))
    assert received_most(made.moves, {3: FAST // 10, 4: FAST, 5: FAST}) <= 60 * MIB / FAST


def test_dp_7_without_a_weight_for_time_a_slow_broker_gets_as_much_as_others() -> None:
    options = PlanOptions(network=NetworkLimits(FAST, {9: FAST // 4}), weights=GoalWeights(time=0))
    assert received(make_plan(replicas_to_spare(DRAIN), DRAIN, options))[9] == 37


def test_dp_7_a_throttle_below_the_bandwidth_of_slow_brokers_makes_all_alike() -> None:
    cluster = replicas_to_spare(DRAIN)
    assert received(make_plan(cluster, DRAIN, with_bandwidth({9: FAST // 4}, throttle=FAST // 4)))[9] == 37
    assert 18 <= received(make_plan(cluster, DRAIN, with_bandwidth({9: FAST // 4}, throttle=FAST // 2)))[9] <= 20


@pytest.mark.parametrize(
    "goal",
    [*(goal for goal, _ in GOALS.values()), pytest.param(Goal(GoalKind.REBALANCE), marks=pytest.mark.long)],
)
def test_dp_7_bandwidths_that_do_not_differ_change_nothing(goal: Goal) -> None:
    cluster = shaped("plain", 12, 900, lost=int(goal.kind is GoalKind.HEAL))
    named = with_bandwidth({one.id: FAST for one in cluster.brokers})
    assert make_plan(cluster, goal, named) == make_plan(cluster, goal, with_bandwidth({}))


def senders(made: Plan) -> Counter[int]:
    return Counter(move.sender for move in made.moves)


def test_dp_7_a_slow_broker_sends_less() -> None:
    """Of 60 moves 26 or 27 each for brokers 1 and 3, a quarter of that for broker 2."""
    slow = make_plan(drained_leader(), DRAIN, with_bandwidth({2: FAST // 4}))
    assert senders(slow)[2] <= 7
    assert max(senders(slow).values()) <= 28


def test_dp_7_a_drained_broker_that_is_slow_lets_others_send_even_where_it_could_lead_on() -> None:
    """It would stay below what others send in bytes, and takes ten times as long for them."""
    sent = senders(make_plan(drained_leader(), DRAIN, with_bandwidth({1: FAST // 10})))
    assert sent[1] <= 4


def test_dp_7_what_clients_take_counts_against_the_bandwidth_of_the_broker_itself() -> None:
    """Consumers take nine tenths of what broker 2 can send: half of the bandwidth of the others, who serve none."""
    own = dict.fromkeys(range(1, 13), 2 * MIB) | {2: MIB}
    sent = senders(make_plan(drained_leader(fetch=MIB * 9 // 10), DRAIN, with_bandwidth(own)))
    assert sent[2] <= 4
    assert max(sent.values()) <= 32
