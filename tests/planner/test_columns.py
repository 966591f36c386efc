"""What is computed of many partitions at once: as self-healing computes it of one after the other, or as by hand."""

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.brokers.broker_load import leadership_load, replica_load
from kafka_reassign_rpc.planner.brokers.rack_rule import live_racks
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals
from kafka_reassign_rpc.planner.columns.partition_columns import column_survey, exact_sums
from kafka_reassign_rpc.planner.deterministic_random import random_bits
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import InMemoryPlanner
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerCluster, PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import GAIN_UNIT
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from tests.planner.clusters import brokers, clusters, goals, partition, random_cluster, topic
from tests.planner.column_plans import chunk_of, columns_of, make_plan


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**62), 2**62))))
def test_dp_6_sums_by_code_are_exact_however_large(values: list[tuple[int, int]]) -> None:
    codes, numbers = np.array([code for code, _ in values], int), np.array([one for _, one in values], np.int64)
    assert exact_sums(codes, numbers, 4) == [sum(one for at, one in values if at == code) for code in range(4)]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(-(2**70), 2**70), st.integers(0, 9))
def test_dp_6_columns_draw_the_random_numbers_of_single_partitions(keys: list[int], salt: int, more: int) -> None:
    columns = np.array(keys, np.uint64)
    assert random_bits(columns, salt).tolist() == [random_bits(key, salt) for key in keys]
    salts = np.full(len(keys), more, np.uint64) + abs(salt) % 2**62
    assert random_bits(columns, salts).tolist() == [random_bits(key, abs(salt) % 2**62 + more) for key in keys]


@pytest.mark.parametrize("seed", range(4))
def test_dp_6_a_survey_of_columns_is_that_of_all_partitions_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    cluster = random_cluster(8, 1 + seed, 300, dead=(3,) if seed % 2 else (), seed=seed)
    topics = list(cluster.topics)
    for one in (one for held in topics for one in held.partitions):
        one.bytes = chance.choice((UNKNOWN, 0, chance.randrange(2**55)))
        one.produce, one.fetch = chance.choice((0, 0, 1, 10**9)), chance.choice((0, 0, 1, 5))
        one.messages = chance.choice((0, 7))
        one.cpu = chance.choice((0, 11))
    expected = Survey()
    for one in (one for held in topics for one in held.partitions):
        expected.add(one)
    found = column_survey(columns_of(topics, cluster.brokers), None)
    assert dict(found.loads.items()) == dict(expected.loads.items())
    for name in ("unknown", "client_sends", "spreads", "partitions", "unknown_sizes", "known_sizes", "known_bytes"):
        assert getattr(found, name) == getattr(expected, name), name


def test_dp_6_a_survey_knows_how_replicas_are_spread_over_racks_by_hand() -> None:
    """Brokers 1 and 2 are in one rack, 3 and 4 in another, and 5 is lost."""
    listed = brokers(["a", "a", "b", "b", "b"], dead=(5,))
    held = [
        partition(0, 1, 2, 3, size=10, produce=1, fetch=2),
        partition(1, 2, 1, 4, size=UNKNOWN, produce=3),
        partition(2, 3, size=100),
        partition(3, 1, 3, size=1_000),
        partition(4, 1, 5, 3, size=10_000, fetch=7),
        partition(5, size=100_000),
    ]
    columns = columns_of([topic("t", *held)], listed)
    assert column_survey(columns, live_racks(listed)).spreads == {
        (1, 2): [10, 2, 4, 2, 1],
        (0, 1): [100, 1, 0, 0, 0],
        (1, 1): [1_000, 1, 0, 0, 0],
        (0, 3): [10_000, 1, 0, 7, 0],
        (0, 0): [100_000, 1, 0, 0, 0],
    }


@given(st.data())
def test_dp_6_columns_plan_a_repair_as_self_healing_does(data: st.DataObject) -> None:
    cluster = data.draw(clusters())
    goal = data.draw(goals(cluster, (GoalKind.HEAL, GoalKind.DRAIN)))
    options = PlanOptions(seed=data.draw(st.integers(-3, 3)), locality=data.draw(st.booleans()))
    try:
        planner = InMemoryPlanner(cluster, goal, options)
        for _ in planner.steps():
            pass
    except PlanError as error:
        with pytest.raises(PlanError, match=re.escape(str(error))):
            make_plan(cluster, goal, options)
        return
    assert make_plan(cluster, goal, options) == planner.plan


@pytest.mark.parametrize("seed", range(3))
def test_dp_6_columns_plan_a_large_repair_as_self_healing_does(seed: int) -> None:
    cluster = random_cluster(8, 2 + seed, 1_500, dead=(3, 5), seed=seed)
    goal = Goal(GoalKind.DRAIN, (1,)) if seed else Goal(GoalKind.HEAL)
    planner = InMemoryPlanner(cluster, goal, PlanOptions())
    for _ in planner.steps():
        pass
    assert make_plan(cluster, goal) == planner.plan
    assert planner.plan.moves


def first_proposals(
    cluster: PlannerCluster, topics: list[PlannerTopic], weights: GoalWeights
) -> tuple[RoundParameters, ColumnProposals]:
    """What the first round of a rebalance proposes."""
    options = PlanOptions(weights=weights)
    coordinator = RoundCoordinator(cluster.brokers, Goal(GoalKind.REBALANCE), options)
    columns = columns_of(topics, cluster.brokers)
    coordinator.begin(column_survey(columns, live_racks(cluster.brokers)))
    params = coordinator.next_round()
    assert params is not None
    chunk = chunk_of(columns, topics, np.ones(len(columns.number), bool))
    chunk.propose(params, None)
    assert chunk.proposals.scored is not None
    return params, chunk.proposals.scored


def test_dp_6_a_change_that_evens_out_saves_what_both_brokers_cost_less_after_it() -> None:
    """Each partition of a round, by the loads before and after its change."""
    cluster = random_cluster(8, 4, 300, seed=5)
    topics = list(cluster.topics)
    for one in (one for held in topics for one in held.partitions):
        one.isr = one.replicas[:2]
    params, scored = first_proposals(cluster, topics, GoalWeights(topic=0))
    balance, weights, ids = params.balance, params.weights.by_measure(), [one.id for one in cluster.brokers]
    assert balance is not None

    def cost(broker: int, load: tuple[int, ...], sign: int) -> float:
        cost = 0.0
        for place, weight in enumerate(weights):
            share = balance.shares[broker][place] + sign * load[place] * balance.inverse_targets[broker][place]
            cost += weight * max(share - balance.high, balance.low - share, 0.0) ** 2
        return cost

    parts = [one for held in topics for one in held.partitions]
    kinds = set()
    for row, source, destination, at, copies, gain, *_ in zip(*(column.tolist() for column in scored), strict=True):
        one, giver, taker = parts[row], ids[source], ids[destination]
        load = replica_load(one, one.bytes, leads=at == 0) if copies else leadership_load(one)
        saved = sum(cost(broker, load, 0) - cost(broker, load, sign) for broker, sign in ((giver, -1), (taker, 1)))
        assert gain * GAIN_UNIT == pytest.approx(saved, rel=1e-6, abs=1e-12)
        assert one.replicas[at if copies else 0] == giver
        assert (taker in one.replicas) == (not copies)
        assert copies or one.replicas[at] == taker
        kinds.add(copies)
    assert kinds == {True, False}


def test_dp_4_a_copy_that_evens_out_goes_to_a_rack_that_the_partition_can_gain() -> None:
    """Brokers 1, 2 and 6 share a rack; 4, 5 and 6 are empty, and 6 needs replicas as much as 4 and 5."""
    cluster = PlannerCluster(brokers(["a", "a", "b", "c", "d", "a"], capacity=10**12), [])
    topics = [topic("t", *[partition(index, 1, 2, 3) for index in range(400)])]
    _, scored = first_proposals(cluster, topics, GoalWeights(leaders=0, produce=0))
    sources, destinations = scored.source[scored.copies] + 1, scored.destination[scored.copies] + 1
    from_their_rack = np.isin(sources, (1, 2))
    assert set(destinations[from_their_rack].tolist()) == {4, 5}
