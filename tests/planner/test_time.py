"""Plans know the time: the most loaded broker gets and sends little more than in the best of all placements."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.placement import first_leaders, forced_rounds
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import OUT
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums
from kafka_reassign_rpc.support.slices import finished
from tests.planner.clusters import MIB, broken_rules, brokers, partition, topic
from tests.planner.column_plans import make_plan
from tests.planner.placement_bound import (
    EVEN,
    least_received,
    least_received_for_balance,
    least_sent,
    received_most,
    sent_most,
)
from tests.planner.shapes import PLAIN_FIRST, SHAPES, roomy, shaped
from tests.tables import for_each

DRAIN = Goal(GoalKind.DRAIN, (1,))
GOALS = {"heal": (Goal(GoalKind.HEAL), 1), "drain": (Goal(GoalKind.DRAIN, (1, 2)), 0)}


def assert_near_the_best_placement(
    cluster: PlannerCluster, goal: Goal, made: Plan, bandwidth: Mapping[int, int] = EVEN
) -> None:
    places = [one.id for one in cluster.brokers if one.live and one.id not in goal.brokers]
    least = least_received(cluster, made.moves, places, bandwidth)
    assert received_most(made.moves, bandwidth) <= 1.15 * least
    assert sent_most(made.moves, bandwidth) <= 1.15 * max(least, least_sent(cluster, made.moves, bandwidth))
    assert broken_rules(cluster, goal, made, 0.05) == []


def pour(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a million partitions: the coordinator sees large ones and a sample of the others, and places the last."""
    monkeypatch.setattr(forced_rounds, "FEW", 100)
    monkeypatch.setattr(forced_rounds, "_SAMPLE", 200)
    monkeypatch.setattr(first_leaders, "MOVES_IN_ROUND", 1000)


@pytest.mark.parametrize("shape", PLAIN_FIRST)
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_no_broker_gets_or_sends_much_more_than_the_busiest_in_the_best_placement(kind: str, shape: str) -> None:
    goal, lost = GOALS[kind]
    cluster = roomy(shaped(shape, 12, 2500, lost=lost))
    made = make_plan(cluster, goal)
    assert made.summary.bytes == made.summary.lower_bound > 0
    assert_near_the_best_placement(cluster, goal, made)
    assert made.summary.rounds <= 4


@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_where_many_partitions_are_poured_the_busiest_receiver_gets_little_more_too(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pour(monkeypatch)
    goal, lost = GOALS[kind]
    cluster = roomy(shaped("plain", 12, 2500, lost=lost))
    made = make_plan(cluster, goal)
    assert_near_the_best_placement(cluster, goal, made)
    assert made.summary.rounds <= 9


@pytest.mark.release
@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_with_thousands_of_moves_no_broker_gets_or_sends_much_more_either(
    kind: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 7,500 moves: small replicas are distributed, and the senders of some at a time are chosen."""
    monkeypatch.setattr(first_leaders, "MOVES_IN_ROUND", 2000)
    goal, lost = GOALS[kind]
    cluster = roomy(shaped(shape, 12, 15_000, lost=lost))
    made = make_plan(cluster, goal)
    assert_near_the_best_placement(cluster, goal, made)


@pytest.mark.release
@pytest.mark.long
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "few big"])
@pytest.mark.parametrize("goal", [Goal(GoalKind.EXPAND, (18, 19)), Goal(GoalKind.REBALANCE)], ids=lambda one: one.kind)
def test_dp_7_a_balancing_plan_brings_no_broker_much_more_than_its_balance_asks_for(goal: Goal, shape: str) -> None:
    """Other receivers would gain no time, unless brokers may stay further from their targets.

    Where capacities differ tenfold brokers give and get: replicas are to be even, and bytes as the capacities are.
    A rebalance ends anywhere within its tolerance: so a broker may get a little more than the least.
    """
    cluster = shaped(shape, 20, 800, fresh=2 if goal.kind is GoalKind.EXPAND else 0)
    made = make_plan(cluster, goal)
    least = least_received_for_balance(made.moves)
    assert received_most(made.moves) <= 1.17 * least
    assert sent_most(made.moves) <= 1.15 * max(least, least_sent(cluster, made.moves))


def test_dp_7_a_lone_empty_broker_does_not_get_all_that_a_lost_one_held_unless_time_does_not_count() -> None:
    """Brokers 1 to 9 hold as much as the lost one held; broker 11 is empty. All get the same, or it gets twice that."""
    parts = [partition(n, 10, 1 + n % 9, live=[1 + n % 9], size=MIB) for n in range(900)]
    cluster = PlannerCluster(brokers([None] * 11, dead=[10]), [topic("t", *parts)])
    fast, even = (
        make_plan(cluster, Goal(GoalKind.HEAL), PlanOptions(weights=GoalWeights(time=weight))) for weight in (30.0, 0.0)
    )
    assert received_most(fast.moves) <= 110 * MIB
    assert received_most(even.moves) >= 140 * MIB
    assert even.summary.imbalance_after["bytes"] < fast.summary.imbalance_after["bytes"]


def test_dp_7_where_racks_have_too_little_room_other_racks_take_the_rest() -> None:
    """Factor 3 to 4 on four racks; the brokers of rack d have room for a tenth of it. Nothing is left out."""
    listed = [PlannerBroker(n, "abcd"[n % 4], True, 10**6, 10**6 if n % 4 != 3 else 500 * 20) for n in range(8)]
    parts = [partition(n, n % 2 * 4, 1 + n // 2 % 2 * 4, 2 + n // 4 % 2 * 4, size=100) for n in range(2000)]
    cluster = PlannerCluster(listed, [topic("t", *parts)])
    made = make_plan(cluster, Goal(GoalKind.SET_FACTOR, factor=4), PlanOptions(headroom=0.0))
    assert made.left_out == ()
    assert sum(3 in move.target or 7 in move.target for move in made.moves) >= 150


def drained_leader(followers: Sequence[int] = (3,), *, produce: int = 0, fetch: int = 0) -> PlannerCluster:
    """Broker 1 leads 60 partitions that brokers 2 and 3 hold as well; broker 2 leads one that clients use."""
    parts = [partition(n, 1, 2, 3) for n in range(60)]
    used = partition(0, 2, *followers, size=1, produce=produce, fetch=fetch)
    return PlannerCluster(brokers([None] * 12), [topic("t", *parts), topic("u", used)])


def test_dp_7_a_drained_broker_does_not_send_all_that_it_led() -> None:
    made = make_plan(drained_leader(), DRAIN)
    senders = Counter(move.sender for move in made.moves)
    assert set(senders) == {1, 2, 3}
    assert max(senders.values()) <= 24
    assert {move.first_leader for move in made.moves} == {-1, 2, 3}
    assert received_most(made.moves) <= 22 * MIB


@pytest.mark.parametrize("options", [PlanOptions(lead_first=False), PlanOptions(weights=GoalWeights(time=0))])
def test_dp_7_leaders_stay_where_that_is_asked_for_or_time_does_not_count(options: PlanOptions) -> None:
    made = make_plan(drained_leader(), DRAIN, options)
    assert {move.first_leader for move in made.moves} == {-1}


def test_dp_7_a_broker_whose_clients_take_its_bandwidth_does_not_lead_first() -> None:
    """Broker 2 can send 1 MiB/s, and its consumers take nearly all of that."""
    options = PlanOptions(network=NetworkLimits(MIB))
    made = make_plan(drained_leader(fetch=MIB * 9 // 10), DRAIN, options)
    senders = Counter(move.sender for move in made.moves)
    assert senders[2] < senders[3] // 2
    assert senders[1] < 40


def test_dp_7_what_followers_fetch_of_new_records_takes_bandwidth_of_their_leader_too() -> None:
    """Producers write 0.3 MiB/s to broker 2, and each of three followers fetches that, of its 1 MiB/s."""
    options = PlanOptions(network=NetworkLimits(MIB))
    used = {followers: drained_leader(followers, produce=MIB * 3 // 10) for followers in ((3,), (4, 5, 6))}
    sent = {key: Counter(one.sender for one in make_plan(held, DRAIN, options).moves) for key, held in used.items()}
    assert sent[4, 5, 6][2] < sent[4, 5, 6][3] // 2
    assert sent[4, 5, 6][1] < 40
    assert sent[3,][2] > sent[3,][3] // 2, "one follower takes a third of that"


def test_dp_7_only_a_live_replica_in_sync_leads_first() -> None:
    """Broker 2 is lost, broker 3 is not in sync: broker 1 sends all."""
    parts = [partition(n, 1, 2, 3, live=[1]) for n in range(30)]
    cluster = PlannerCluster(brokers([None] * 6, dead=[2]), [topic("t", *parts)])
    made = make_plan(cluster, Goal(GoalKind.HEAL))
    assert {(move.sender, move.first_leader) for move in made.moves} == {(1, -1)}


def test_dp_2_without_a_weight_for_time_replicas_leave_a_lost_broker_where_only_full_ones_have_places() -> None:
    """Broker 3 is alone in rack b and holds the other replica: only broker 2, a full one, can get this one."""
    parts = [partition(0, 1, 3, live=[3]), *(partition(n, 2) for n in range(1, 9))]
    cluster = PlannerCluster(brokers([*"aab"], dead=[1]), [topic("t", *parts)])
    made = make_plan(cluster, Goal(GoalKind.HEAL), PlanOptions(weights=GoalWeights(time=0)))
    assert made.left_out == ()
    assert [move.target for move in made.moves] == [(2, 3)]


def test_dp_2_a_lost_broker_that_still_leads_in_the_snapshot_is_no_sender_to_choose_from() -> None:
    """A broker may be lost between the look at the partitions and the look at the brokers."""
    led_by_lost = [PlannerPartition(index, (3, 1, 2), 3, (3, 1, 2), bytes=MIB) for index in range(6)]
    others = [partition(index, 1, 2, 3, live=[1, 2]) for index in range(6, 40)]
    made = make_plan(
        PlannerCluster(brokers([None] * 5, dead=(3,)), [topic("t", *led_by_lost, *others)]), Goal(GoalKind.HEAL)
    )
    assert len(made.moves) == 40
    assert all(3 not in move.target for move in made.moves)
    assert {move.first_leader for move in made.moves} == {-1, 2}
    assert all(move.first_leader == -1 for move in made.moves if move.leader == 3)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.release) for seed in (2, 3))])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", GOALS)
def test_dp_7_time_first_leaves_brokers_little_further_from_their_targets(kind: str, shape: str, seed: int) -> None:
    """The broker furthest from its share of bytes is at most a fifth of it further than where time does not count."""
    goal, lost = GOALS[kind]
    cluster = shaped(shape, 12, 1500, lost=lost, seed=seed)
    fast, even = (
        make_plan(cluster, goal, PlanOptions(weights=GoalWeights(time=weight))).summary.imbalance_after["bytes"]
        for weight in (GoalWeights().time, 0.0)
    )
    assert fast <= even + 0.2


@for_each(
    ("sent", "proposals", "rounds"),
    [
        ((100, 100, 100), 1, 1),
        ((102, 99, 99), 1, 1),
        ((104, 98, 98), 1, 2),
        ((300, 0, 0), 50_000, 2),
        ((300, 0, 0), 50_001, 3),
        ((300, 0, 0), 150_000, 4),
    ],
)
def test_dp_7_senders_are_chosen_until_they_are_even_or_each_part_of_the_moves_was_seen(
    sent: tuple[int, ...], proposals: int, rounds: int
) -> None:
    """One round measures, then there is one for each 50,000 moves. Here nobody else can lead."""
    leading = first_leaders.LeaderRounds({}, (1, 2, 3), NetworkLimits(), 7)
    proposed, made = ProposedSums(), 0
    proposed.proposals = proposals
    buckets = {(broker, OUT): [(0, Load(size), size)] for broker, size in enumerate(sent, 1)}
    while not leading.is_over:
        made += 1
        assert made <= rounds
        finished(leading.deciding(buckets, proposed))
        leading.take(AcceptedSums())
    assert made == rounds
