"""What is computed of many partitions at once is what is computed of one after the other."""

import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.brokers.rack_rule import live_racks
from kafka_reassign_rpc.planner.columns.column_survey import column_survey
from kafka_reassign_rpc.planner.columns.exact_sums import exact_sums
from kafka_reassign_rpc.planner.columns.partition_chunk import Applied, PartitionChunk
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns, random_columns
from kafka_reassign_rpc.planner.deterministic_random import random_bits
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import make_plan
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, PlannerCluster, PlannerTopic
from kafka_reassign_rpc.planner.proposals.round_sums import Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from tests.planner.clusters import random_cluster


def columns_of(topics: Sequence[PlannerTopic], brokers: Iterable[PlannerBroker]) -> PartitionColumns:
    ids = sorted(broker.id for broker in brokers)
    parts = [(place, one) for place, topic in enumerate(topics) for one in topic.partitions]
    width = max(len(one.replicas) for _, one in parts)

    def places(held: Sequence[int]) -> list[int]:
        return [ids.index(broker) for broker in held] + [NOBODY] * (width - len(held))

    return PartitionColumns(
        np.array(ids),
        [topic.name for topic in topics],
        np.array([place for place, _ in parts]),
        np.array([one.index for _, one in parts]),
        np.array([places(one.replicas) for _, one in parts]),
        np.array([one.leader for _, one in parts]),
        np.array([places(one.isr) for _, one in parts]),
        *(
            np.array([getattr(one, name) for _, one in parts])
            for name in ("bytes", "produce", "fetch", "messages", "cpu", "min_isr")
        ),
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**62), 2**62))))
def test_dp_6_sums_by_code_are_exact_however_large(values: list[tuple[int, int]]) -> None:
    codes, numbers = np.array([code for code, _ in values], int), np.array([one for _, one in values], np.int64)
    assert exact_sums(codes, numbers, 4) == [sum(one for at, one in values if at == code) for code in range(4)]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(-(2**70), 2**70), st.integers(0, 9))
def test_dp_6_columns_draw_the_random_numbers_of_single_partitions(keys: list[int], salt: int, more: int) -> None:
    columns = np.array(keys, np.uint64)
    assert random_columns(columns, salt).tolist() == [random_bits(key, salt) for key in keys]
    turns = np.full(len(keys), more)
    assert random_columns(columns, salt, turns).tolist() == [random_bits(key, salt + more) for key in keys]


@pytest.mark.parametrize("seed", range(4))
def test_dp_6_a_survey_of_columns_is_that_of_all_partitions_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    cluster = random_cluster(8, 1 + seed, 300, dead=(3,) if seed % 2 else (), seed=seed)
    topics = list(cluster.topics)
    for one in (one for topic in topics for one in topic.partitions):
        one.bytes = chance.choice((UNKNOWN, 0, chance.randrange(2**55)))
        one.produce, one.fetch, one.messages = chance.choice((0, 10**9)), chance.choice((0, 5)), chance.choice((0, 7))
        one.cpu = chance.choice((0, 11))
    racks = live_racks(cluster.brokers) if seed else None
    expected = Survey(racks)
    for one in (one for topic in topics for one in topic.partitions):
        expected.add(one)
    found = column_survey(columns_of(topics, cluster.brokers), racks)
    assert dict(found.loads.items()) == dict(expected.loads.items())
    for name in ("unknown", "client_sends", "spreads", "partitions", "unknown_sizes", "known_sizes", "known_bytes"):
        assert getattr(found, name) == getattr(expected, name), name


BALANCED = PlanOptions(
    seed=-7, weights=GoalWeights(potential_out=0.3, messages_in=0.2, cpu=0.1), rounds=12, effort=Effort.QUICK
)


@pytest.mark.parametrize(
    ("racks", "goal", "options"),
    [
        (1, Goal(GoalKind.REBALANCE), BALANCED),
        (4, Goal(GoalKind.REBALANCE), BALANCED),
        (
            2,
            Goal(GoalKind.REBALANCE, racks=True),
            PlanOptions(weights=GoalWeights(topic=0.0), rounds=12, effort=Effort.QUICK),
        ),
        (
            4,
            Goal(GoalKind.REBALANCE, racks=True),
            PlanOptions(weights=GoalWeights(topic=9.0), rounds=12, effort=Effort.QUICK),
        ),
        (2, Goal(GoalKind.EXPAND, (0, 7)), PlanOptions(max_bytes=10**9, rounds=12, effort=Effort.QUICK)),
        (
            4,
            Goal(GoalKind.COMBINE, parts={GoalKind.DRAIN: (3,), GoalKind.EXPAND: (0, 7)}),
            PlanOptions(rounds=12, effort=Effort.QUICK),
        ),
        (5, Goal(GoalKind.REBALANCE), PlanOptions(locality=True, rounds=8, effort=Effort.QUICK)),
        (4, Goal(GoalKind.DRAIN, (3, 5)), PlanOptions(locality=True)),
        (4, Goal(GoalKind.SET_FACTOR, factor=4), PlanOptions()),
        (2, Goal(GoalKind.RACKS), PlanOptions()),
        (4, Goal(GoalKind.DRAIN, (3, 5)), PlanOptions()),
    ],
)
def test_dp_6_a_chunk_of_columns_is_planned_as_one_partition_after_the_other(
    goal: Goal, options: PlanOptions, racks: int
) -> None:
    """Two racks with three replicas and more: some partitions are uneven, and may gain a rack."""
    cluster = random_cluster(8, racks, 120, seed=racks)
    chance, topics = random.Random(racks), list(cluster.topics)
    for one in (one for topic in topics for one in topic.partitions):
        one.replicas = tuple(chance.sample(range(8), len(one.replicas)))
        one.produce, one.fetch, one.messages, one.cpu = (chance.randrange(1000) for _ in range(4))
        one.leader, one.isr = one.replicas[0], one.replicas[: chance.randint(1, len(one.replicas))]
    columns = columns_of(topics, cluster.brokers)
    coordinator = RoundCoordinator(cluster.brokers, goal, options)
    coordinator.begin(column_survey(columns, live_racks(cluster.brokers) if goal.kind is GoalKind.REBALANCE else None))
    chunk, applied = PartitionChunk(columns, columns.topic, {}), None
    while (params := coordinator.next_round()) is not None:
        chunk.propose(params, applied)
        thresholds = coordinator.decide(chunk.proposals.sums())
        coordinator.take(chunk.proposals.accepted_sums(thresholds))
        applied = Applied(params, thresholds)
    chunk.apply(applied)
    expected = make_plan(PlannerCluster(cluster.brokers, topics), goal, options)
    found = {
        (one.topic, one.partition): (one.original, one.target, one.reason, one.rule, one.first_leader)
        for one in chunk.found(coordinator.round_parameters())
        if isinstance(one, PlannedMove)
    }
    assert found == {
        (one.topic, one.partition): (one.original, one.target, one.reason, one.rule, one.first_leader)
        for one in expected.moves
    }
    assert found
