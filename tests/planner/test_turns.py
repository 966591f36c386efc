"""The order in which moves start."""

from kafka_reassign_rpc.planner.model import Move
from kafka_reassign_rpc.planner.turns import Turns


def move(partition: int, *target: int) -> Move:
    return Move("t", partition, (1, 9), (1, *target), 1, 0, 2, "", "")


def test_46_3_what_is_urgent_goes_first_and_then_every_broker_gets_one_before_another_gets_two() -> None:
    turns = Turns()
    for number, broker in enumerate((2, 2, 3, 2, 3, 4)):
        turns.add(move(number, broker), 2)
    turns.add(move(6, 2), 0)
    turns.add(move(7, 4, 3), 2)
    assert [one.partition for one in turns.moves()] == [6, 0, 2, 5, 1, 4, 3, 7]
