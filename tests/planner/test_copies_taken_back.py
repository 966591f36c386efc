"""The last balancing round: copies that the plan can do without are not made."""

from collections.abc import Mapping

import msgspec
import pytest

from kafka_reassign_rpc.planner import round_coordinator
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import UNBOUNDED
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.columns.partition_chunk import without_a_copy
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import threshold_within
from kafka_reassign_rpc.planner.placement.spare_loads import spare_loads
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster, PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN, OUT, ChangeProposal, load_changes
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from tests.planner.clusters import MIB, ROUNDS_ALONE, broken_rules, brokers, partition, random_cluster
from tests.planner.column_plans import make_plan
from tests.planner.shapes import PLAIN_FIRST, shaped
from tests.planner.test_balance_proposals import shifted

REBALANCE = Goal(GoalKind.REBALANCE)
ROOMY = Load(10 * MIB, *[10] * (len(MEASURES) - 1))
SPARE = ROOMY._replace(bytes=9 * MIB)
EVERYWHERE = {(broker, side): ROOMY for broker in range(1, 6) for side in (OUT, IN)}


def plan_that_takes_nothing_back(cluster: PlannerCluster, goal: Goal, options: PlanOptions | None = None) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(round_coordinator, "spare_loads", lambda *_: {})
        return make_plan(cluster, goal, options)


def assert_no_worse(made: Plan, more: Plan) -> None:
    for name, worst in made.summary.imbalance_after.items():
        if not getattr(GoalWeights(), name):
            continue
        assert worst <= more.summary.imbalance_after[name] + 1e-9, name


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_dp_2_where_rounds_moved_more_than_was_needed_a_part_of_it_stays_where_it_was(seed: int) -> None:
    stood = random_cluster(15, 5, 4000, seed=seed)
    cluster = PlannerCluster(stood.brokers, [shifted(one, by=10) for one in stood.topics])
    made, more = make_plan(cluster, REBALANCE), plan_that_takes_nothing_back(cluster, REBALANCE)
    assert made.summary.bytes < 0.99 * more.summary.bytes
    assert_no_worse(made, more)


@pytest.mark.release
@pytest.mark.parametrize("shape", PLAIN_FIRST)
@pytest.mark.parametrize("goal", [Goal(GoalKind.EXPAND, (10, 11)), REBALANCE], ids=lambda one: one.kind)
def test_dp_2_no_measure_is_worse_for_what_is_taken_back_and_no_more_is_copied(goal: Goal, shape: str) -> None:
    """Without the search that follows: from two places it gets to two plans."""
    cluster = shaped(shape, 12, 200 if shape == "plain" else 600, fresh=2 if goal.kind is GoalKind.EXPAND else 0)
    made = make_plan(cluster, goal, ROUNDS_ALONE)
    more = plan_that_takes_nothing_back(cluster, goal, ROUNDS_ALONE)
    assert made.summary.bytes <= more.summary.bytes
    assert_no_worse(made, more)
    assert broken_rules(cluster, goal, made, PlanOptions().headroom) == []


def test_dp_2_a_plan_that_copies_nothing_has_no_round_that_takes_copies_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_coordinator, "spare_loads", lambda *_: pytest.fail("nothing was copied"))
    assert make_plan(random_cluster(6, 3, 600), REBALANCE, PlanOptions(tolerance=0.99)).moves == ()


def test_dp_2_copies_are_taken_back_in_one_round_however_much_that_changes() -> None:
    """Broker 1 holds all; the rounds end because nothing more is proposed."""
    parts = [partition(index, 1) for index in range(100)]
    survey, proposed, accepted = Survey(), ProposedSums(), AcceptedSums()
    for one in parts:
        survey.add(one)
        proposal = ChangeProposal((0, one.index), (2,), 0, load_changes(one, MIB, (2,)), 2, "", "")
        if one.index < 20:
            proposed.add(proposal)
            accepted.add(proposal)
    coordinator = RoundCoordinator(brokers([None] * 2), REBALANCE, PlanOptions(lead_first=False))
    coordinator.begin(survey)
    rounds = [coordinator.next_round()]
    coordinator.decide(proposed)
    coordinator.take(accepted)
    while (params := coordinator.next_round()) is not None and params.spare is None:
        rounds.append(params)
        coordinator.decide(ProposedSums())
        coordinator.take(AcceptedSums())
    assert params is not None
    assert all(one is not None and one.spare is None for one in rounds)
    coordinator.decide(proposed)
    coordinator.take(accepted)
    search = coordinator.next_round()
    assert search is not None
    assert search.searched, "the last round sees partitions"
    coordinator.decide(ProposedSums())
    coordinator.take(AcceptedSums())
    assert coordinator.next_round() is None


def parameters(racks: str) -> RoundParameters:
    coordinator = RoundCoordinator(brokers([*racks]), REBALANCE, PlanOptions())
    coordinator.begin(Survey())
    return coordinator.round_parameters()


def moved(original: tuple[int, ...], now: tuple[int, ...]) -> PlannerPartition:
    return msgspec.structs.replace(partition(0, *original), replicas=now, original=original)


def target(one: PlannerPartition, spare: Mapping[tuple[int, int], Load] = EVERYWHERE, racks: str = "aaaaa") -> object:
    found = without_a_copy(one, parameters(racks), spare)
    return found and found[0]


def test_dp_2_a_replica_stays_where_it_was_and_without_its_last_copy_a_move_is_none() -> None:
    assert target(moved((1, 2, 3), (1, 4, 2))) == (1, 2, 3)
    assert target(moved((1, 2, 3), (4, 5, 3))) == (1, 5, 3)
    assert target(moved((1, 2), (2, 3))) == (1, 2), "the preferred leader stays too"
    assert target(moved((1, 2), (2, 1))) is None, "nothing is copied"


def test_dp_2_a_copy_that_gained_a_rack_is_made() -> None:
    assert target(moved((1, 2), (1, 3)), racks="aabbb") is None
    assert target(moved((1, 2), (1, 3)), racks="abbbb") == (1, 2)


@pytest.mark.parametrize("broker_and_side", [(3, OUT), (2, IN)])
@pytest.mark.parametrize(
    "lacking", [SPARE._replace(bytes=MIB - 1), SPARE._replace(replicas=0), SPARE._replace(produce=6)]
)
def test_dp_2_a_copy_is_made_that_a_broker_needs_for_any_measure(
    lacking: Load, broker_and_side: tuple[int, int]
) -> None:
    one = msgspec.structs.replace(moved((1, 2), (1, 3)), produce=7)
    assert target(one) == (1, 2)
    assert target(one, EVERYWHERE | {broker_and_side: lacking}) is None


def test_dp_2_brokers_can_lose_and_get_what_leaves_them_no_further_away_than_the_worst_one() -> None:
    """The target of each is 1000 bytes and 100 replicas. The worst has 1085 bytes; replicas are all on target."""
    loads = {1: Load(1085, 100), 2: Load(1000, 100), 3: Load(915, 100)}
    targets = BrokerTargets.of(loads, [dict.fromkeys(loads, 1)] * len(Load()), GoalWeights(leaders=0))
    spare = spare_loads(targets, loads, 0.0901)
    assert [load.bytes for load in spare.values()] == [170, 0, 85, 85, 0, 170]
    assert [load.replicas for load in spare.values()] == [0] * 6
    assert {load.leaders for load in spare.values()} == {UNBOUNDED}
    assert spare_loads(targets, loads, 0.0601)[2, OUT].bytes == 60, "no further than the limit"


def test_dp_2_brokers_give_back_no_more_than_they_can_spare_in_any_measure() -> None:
    buckets = [(0, Load(10, 1), 0), (3, Load(10, 1), 0), (7, Load(10, 1), 0)]
    assert threshold_within(buckets, Load(30, 3)) == ALL_BUCKETS
    assert threshold_within(buckets, Load(29, 3)) == 7
    assert threshold_within(buckets, Load(30, 1)) == 3
    assert threshold_within(buckets, Load()) == 0
