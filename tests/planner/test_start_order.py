"""The order in which moves start."""

from collections import Counter

from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.queue_order import StartOrder


def move(partition: int, *target: int) -> PlannedMove:
    return PlannedMove("t", partition, (1, 9), (1, *target), 1, 0, 2, "", "")


def test_46_3_urgent_moves_start_first_and_every_broker_gets_one_replica_before_another_gets_two() -> None:
    start_order = StartOrder()
    for number, broker in enumerate((2, 2, 3, 2, 3, 4)):
        start_order.add(move(number, broker), 2, 1)
    start_order.add(move(6, 2), 0, 1)
    start_order.add(move(7, 4, 3), 2, 1)
    assert [one.partition for one in start_order.moves()] == [6, 0, 2, 5, 1, 4, 3, 7]


def test_46_3_at_any_time_leaders_have_sent_equally_much_too() -> None:
    """Five brokers get a hundred replicas each; five leaders send them, each a hundred moves in a row."""
    start_order = StartOrder()
    leaders = {number: 11 + number // 100 for number in range(500)}
    for number in range(500):
        start_order.add(move(number, 2 + number % 5), 2, leaders[number])
    sent: Counter[int] = Counter()
    got: Counter[int] = Counter()
    order = list(start_order.moves())
    for one in order:
        sent[leaders[one.partition]] += 1
        got[one.target[1]] += 1
        assert max(sent.values()) - min(sent[leader] for leader in range(11, 16)) <= 2
        assert max(got.values()) - min(got[broker] for broker in range(2, 7)) <= 1
    assert sorted(one.partition for one in order) == list(range(500))
