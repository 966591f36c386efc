"""What leaders are sent, what all replicas could send, and messages: goals with weights of their own."""

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import Load, LoadSums, leadership_load, replica_load
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster, PlannerPartition
from tests.planner.clusters import MIB, QUICK, broken_rules, brokers, topic
from tests.planner.column_plans import make_plan

REBALANCE = Goal(GoalKind.REBALANCE)


def loaded(
    n: int, first: int, second: int, *, produce: int = 0, fetch: int = 0, messages: int = 0, cpu: int = 0
) -> PlannerPartition:
    held = (first, second)
    found = PlannerPartition(n, held, first, held, bytes=MIB, produce=produce, fetch=fetch)
    found.messages, found.cpu = messages, cpu
    return found


def in_pairs(**rates: int) -> PlannerCluster:
    """All is even over four brokers but what leaders do: all that 1 leads is busy, and nothing that 2 leads."""
    parts = []
    for index in range(24):
        first, second = ((1, 2), (2, 1), (3, 4), (4, 3))[index % 4]
        busy = {1: 2, 2: 0}.get(first, 1)
        parts.append(loaded(index, first, second, **{name: busy * rate for name, rate in rates.items()}))
    return PlannerCluster(brokers([None] * 4), [topic("t", *parts)])


def test_dp_13_no_broker_leads_much_more_of_what_producers_send_than_the_others() -> None:
    """Replicas are written alike, so nothing but the leaders' part shows it."""
    cluster = in_pairs(produce=100)
    made = make_plan(cluster, REBALANCE, QUICK)
    assert made.summary.imbalance_before["bytes_in"] > 0.9
    assert made.summary.imbalance_after["bytes_in"] <= 0.1
    assert broken_rules(cluster, REBALANCE, made, 0.05) == []
    unasked = make_plan(cluster, REBALANCE, PlanOptions(effort=Effort.QUICK, weights=GoalWeights(bytes_in=0)))
    assert not unasked.moves


@pytest.mark.parametrize("name", ["messages_in", "cpu", "potential_out"])
def test_dp_13_messages_cpu_and_what_replicas_could_send_count_where_somebody_asks(name: str) -> None:
    if name != "potential_out":
        cluster = in_pairs(**{name.removesuffix("_in"): 100})
    else:  # only what 1 and 3 hold is read
        parts = [loaded(n, 1 + n % 4, 1 + (n + 2) % 4, fetch=100 * (n % 2 == 0)) for n in range(24)]
        cluster = PlannerCluster(brokers([None] * 4), [topic("t", *parts)])
    asked = PlanOptions(effort=Effort.QUICK, weights=GoalWeights(fetch=0, **{name: 1.0}))
    assert make_plan(cluster, REBALANCE, asked).summary.imbalance_after[name] <= 0.1
    unasked = make_plan(cluster, REBALANCE, PlanOptions(effort=Effort.QUICK, weights=GoalWeights(fetch=0)))
    assert unasked.summary.imbalance_after[name] > 0.9


def test_dp_13_a_replica_that_leads_has_what_producers_and_consumers_send_through_it() -> None:
    one = loaded(0, 1, 2, produce=3, fetch=5, messages=7, cpu=11)
    leads, follows = replica_load(one, MIB, leads=True), replica_load(one, MIB, leads=False)
    assert leads == Load(MIB, 1, 1, 3, 5, 3, 5, 7, 11)
    assert follows == Load(MIB, 1, 0, 3, 0, 0, 5, 0, 0)
    assert leads.minus(follows) == leadership_load(one)
    sums = LoadSums()
    sums.add_replicas(one, MIB)
    assert dict(sums.items()) == {1: leads, 2: follows}
