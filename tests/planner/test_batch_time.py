"""Batch files one after the other: how long they take beside the bound, and beside batches of moves as they come, in
random order."""

import random
from collections.abc import Sequence
from statistics import mean

import pytest

from kafka_reassign_rpc.planner.goals_and_options import PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.plan_simulation import simulate_batches
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from tests.planner.batched_moves import batched, batched_as_they_come
from tests.planner.column_plans import make_plan
from tests.planner.shapes import SHAPES, roomy, shaped
from tests.planner.test_plan_simulation import GOALS

NETWORK = NetworkLimits(1_000_000, {2: 2_000_000})
SEEDS = (1, 2)


def seconds(moves: Sequence[PlannedMove]) -> float:
    return simulate_batches(batched(moves, NETWORK), NETWORK).seconds


def seconds_at_random(moves: Sequence[PlannedMove], seed: int) -> float:
    """What is at risk comes first all the same."""
    chance = random.Random(seed)
    at_random = sorted(moves, key=lambda one: (one.priority, chance.random()))
    return simulate_batches(batched_as_they_come(at_random), NETWORK).seconds


@pytest.mark.release
@pytest.mark.parametrize(
    ("goal", "usual", "most", "of_random"),
    [("heal", 1.6, 2.1, 0.65), ("drain", 1.3, 1.7, 0.55), ("expand", 1.02, 1.15, 0.82), ("rebalance", 1.1, 1.4, 0.75)],
)
def test_dp_3_batches_waste_less_time_than_in_random_order_and_stay_near_the_bound(
    goal: str, usual: float, most: float, of_random: float
) -> None:
    """Times over the bound: in the mean of the shapes, and of any of them; and their mean over that of random orders.

    A batch has ten moves of a broker, ends with the last of them, and the next one waits for that. So plans whose moves
    have a few brokers in common, as heals and drains, waste more. A rebalance that ends inside its tolerance has fewer
    brokers left to choose from at its end: it wastes more of the bound than one that stops earlier. An expand wastes
    next to nothing, unless a few partitions are very large: the batch with the last of them may be long.
    """
    wanted, partitions, more = GOALS[goal]
    over_bound, over_random = list[float](), list[float]()
    for shape in SHAPES:
        for seed in SEEDS:
            cluster = roomy(shaped(shape, 12, partitions, seed=seed, **more))
            moves = in_start_order(make_plan(cluster, wanted, PlanOptions(rounds=5)).moves, NETWORK)
            found = seconds(moves)
            over_bound.append(found / time_bound(CopyTable(moves).arrays(), NETWORK).seconds)
            over_random.append(found / mean(seconds_at_random(moves, chance) for chance in SEEDS))
    assert 1 <= mean(over_bound) <= usual
    assert max(over_bound) <= most
    assert mean(over_random) <= of_random
    assert max(over_random) < 1, "of each plan"
