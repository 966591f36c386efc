"""Batches respect their limits, keep the order of moves, and fill up."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.goals_and_options import BatchLimits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.move_batching import into_batches

NETWORK = NetworkLimits(100)


def move(
    index: int, original: tuple[int, ...], target: tuple[int, ...], size: int = 1, priority: int = 2
) -> PlannedMove:
    copies = len(set(target) - set(original))
    return PlannedMove("t", index, original, target, original[0], size * copies, priority, "", "")


def numbers(moves: Iterable[PlannedMove], limits: BatchLimits) -> list[list[int]]:
    return [[one.partition for one in batch.moves] for batch in into_batches(moves, limits, NETWORK)]


A, B, C = (move(0, (1, 2), (1, 3)), move(1, (1, 2), (1, 4)), move(2, (5, 2), (5, 6)))


@pytest.mark.parametrize(
    ("moves", "limits", "expected"),
    [
        ([], BatchLimits(), []),
        ([A, B, C], BatchLimits(), [[0, 1, 2]]),
        ([A, B, C], BatchLimits(moves_per_broker=1), [[0, 2], [1]]),
        ([A, B, C], BatchLimits(moves_per_batch=2), [[0, 2], [1]]),
        ([A, B, C], BatchLimits(bytes_per_broker=1), [[0, 2], [1]]),
        ([A, B, C], BatchLimits(bytes_per_batch=2), [[0, 2], [1]]),
        ([move(0, (1, 2), (3, 4), size=50), B], BatchLimits(bytes_per_batch=10), [[0], [1]]),
        ([A, C], BatchLimits(moves_per_broker=0), [[0], [2]]),
        ([A, C], BatchLimits(bytes_per_broker=0), [[0], [2]]),
        ([A, C], BatchLimits(bytes_per_batch=0), [[0], [2]]),
        ([move(0, (1, 2), (3, 4), size=50), move(1, (5, 6), (6, 5))], BatchLimits(bytes_per_batch=10), [[0, 1]]),
        ([A._replace(priority=0), B._replace(priority=1), C], BatchLimits(), [[0], [1], [2]]),
        ([move(n, (1, 2), (1, 3), size=2**63) for n in range(2)], BatchLimits(bytes_per_batch=2**63), [[0], [1]]),
        ([move(n, (1, 2), (2, 1)) for n in range(3)], BatchLimits(moves_per_broker=1, bytes_per_broker=1), [[0, 1, 2]]),
    ],
)
def test_dp_3_moves_are_batched(moves: list[PlannedMove], limits: BatchLimits, expected: list[list[int]]) -> None:
    assert numbers(moves, limits) == expected


def test_dp_3_a_batch_knows_its_busiest_broker() -> None:
    (batch,) = into_batches([move(0, (1, 2), (1, 3), 40), move(1, (1, 2), (1, 4), 60)], BatchLimits(), NETWORK)
    assert (batch.sent, batch.received) == ({1: 100}, {3: 40, 4: 60})
    assert batch.busiest() == (1, 100)
    (batch,) = into_batches([move(0, (1, 2), (2, 1))], BatchLimits(), NETWORK)
    assert batch.busiest() == (None, 0)


BROKERS = st.lists(st.integers(1, 6), unique=True, min_size=2, max_size=3).map(tuple)
MOVES = st.lists(st.tuples(BROKERS, BROKERS, st.integers(0, 9), st.integers(0, 2)), max_size=60)
LIMIT = st.sampled_from([-1, 5, 20])


@given(MOVES, st.builds(BatchLimits, st.integers(1, 4), LIMIT, LIMIT, st.integers(1, 9)))
def test_dp_3_no_batch_exceeds_a_cap_and_no_move_is_lost(
    given_moves: list[tuple[tuple[int, ...], tuple[int, ...], int, int]], limits: BatchLimits
) -> None:
    moves = [move(n, *one) for n, one in enumerate(sorted(given_moves, key=lambda one: one[3]))]
    made = list(into_batches(moves, limits, NETWORK))
    assert sorted(one.partition for batch in made for one in batch.moves) == list(range(len(moves)))
    assert [batch.number for batch in made] == list(range(1, len(made) + 1))
    assert [batch.priority for batch in made] == sorted(batch.priority for batch in made)
    for batch in made:
        assert {one.priority for one in batch.moves} == {batch.priority}
        assert len(batch.moves) <= limits.moves_per_batch
        copying = [one for one in batch.moves if one.bytes]
        assert limits.bytes_per_batch < 0 or len(copying) < 2 or sum(m.bytes for m in copying) <= limits.bytes_per_batch
        for broker in range(1, 7):
            receives = [m for m in batch.moves if broker in set(m.target) - set(m.original)]
            sends = [m for m in batch.moves if m.leader == broker and set(m.target) - set(m.original)]
            assert len(receives) + len(sends) <= limits.moves_per_broker
