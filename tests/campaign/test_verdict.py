"""How a cluster comes to rest before it is judged."""

from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms

from .verdict import throttled


def move(id_: int, throttle: int | None) -> MoveRecord:
    return MoveRecord(MoveTerms((1, 2), "rpc", "", throttle), (1, 3), id_, 0)


def test_sv_4_only_moves_with_a_throttle_lose_it_and_once_each() -> None:
    """What raises leader epochs again and again may free a move that hangs before it is judged."""
    moves = {("t", 0): move(7, 1000), ("t", 1): move(8, None), ("t", 2): move(9, 0)}
    assert throttled(moves, set()) == {("t", 0): moves["t", 0]}
    assert throttled(moves, {7}) == {}
