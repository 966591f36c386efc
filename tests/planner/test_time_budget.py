"""What can be done in a given time: which moves stay, and which are taken back."""

from collections.abc import Sequence

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.time_budget import moves_beyond, worth_first

NETWORK = NetworkLimits(10, {4: 5})


def move(number: int, size: int, to: int = 3, *, priority: int = 2, source: int = 1) -> PlannedMove:
    return PlannedMove("t", number, (source, 2), (to, 2), source, size, priority, "why", "bytes")


def one_after_the_other(moves: Sequence[PlannedMove]) -> float:
    return sum(one.bytes for one in moves) / 10


def test_dp_2_what_is_at_risk_comes_first_and_then_as_many_partitions_as_possible() -> None:
    moves = [move(0, 50), move(1, 10), move(2, 90, priority=0), move(3, 20)]
    assert [one.partition for one in worth_first(moves, {}, None)] == [2, 1, 3, 0]


def test_dp_2_what_evens_out_most_for_a_copied_byte_comes_first() -> None:
    """Broker 1 is far above its target, 5 a little; 3 and 4 lack as much."""
    before = {1: Load(200, 20), 5: Load(110, 10), 3: Load(40, 5), 4: Load(50, 5)}
    targets = BrokerTargets.of(before, [dict.fromkeys(before, 1)] * len(Load()), GoalWeights())
    moves = [move(0, 20, source=5), move(1, 20), move(2, 20, 4, source=5), move(3, 20, 4)]
    assert {one.partition for one in worth_first(moves, before, targets)[:2]} == {1, 3}


@pytest.mark.parametrize(("seconds", "left_out"), [(18, []), (17, [2]), (7, [1, 2]), (2, [0, 1, 2])])
def test_dp_2_moves_are_left_out_from_the_last_until_the_rest_is_done_in_time(
    seconds: int, left_out: list[int]
) -> None:
    moves = [move(0, 30), move(1, 50), move(2, 100)]
    beyond = moves_beyond(moves, NETWORK, seconds, one_after_the_other)
    assert [one.partition for one in beyond] == left_out


def test_dp_2_a_slow_broker_has_time_for_less_and_others_go_on() -> None:
    moves = [move(0, 30, 4), move(1, 30), move(2, 30, 4, source=6)]
    beyond = moves_beyond(moves, NETWORK, 6.0, lambda kept: max(6, 6 * sum(one.target[0] == 4 for one in kept)))
    assert [one.partition for one in beyond] == [2]


def test_dp_2_what_copies_nothing_takes_no_time() -> None:
    leads = PlannedMove("t", 9, (1, 2), (2, 1), 1, 0, 2, "why", "leaders")
    assert moves_beyond([leads, move(0, 1000)], NETWORK, 1, one_after_the_other) == [move(0, 1000)]
    assert moves_beyond([leads, move(0, 1000)], NETWORK, 1, lambda _: 2.0) == [move(0, 1000)], "the last resort"
