"""The start order of a plan from sums by broker, however the plan was divided for them."""

from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys, in_start_order, start_chance
from tests.planner.test_plan_simulation import move

NETWORK = NetworkLimits(1000)
MOVES = [move(n, n % 3, 5 + n % 4, size=1 + 100 * n, priority=n % 2) for n in range(40)]


def sums_of(moves: list[PlannedMove]) -> QueueSums:
    found = QueueSums()
    for one in moves:
        found.add(one)
    return found


def test_dp_7_sums_of_the_parts_of_a_plan_are_those_of_the_whole() -> None:
    whole = sums_of(MOVES)
    for cut in (0, 7, len(MOVES)):
        assert sums_of(MOVES[:cut]).merge(sums_of(MOVES[cut:])).by_queue == whole.by_queue
    sent = sum(amount for (_, _, sends), by in whole.by_queue.items() if sends for amount, _ in by.values())
    assert sent == sum(one.bytes for one in MOVES)


def test_dp_7_the_move_in_the_longest_queue_starts_first_and_within_it_the_largest() -> None:
    short, long, longest = (move(n, 1 + n, 5 + n, size=size) for n, size in enumerate((10_000, 20_000, 900_000)))
    behind = move(3, 3, 7, size=5_000)
    order = [one.partition for one in in_start_order([short, behind, long, longest], NETWORK)]
    assert [one for one in order if one != 3] == [2, 1, 0]
    assert order.index(3) > order.index(2), "they share their brokers"


def test_dp_7_what_is_at_risk_starts_first_and_what_copies_nothing_last() -> None:
    nothing = PlannedMove("t", 9, (1, 2), (1,), 1, 0, 0, "", "")
    order = in_start_order([nothing, *MOVES], NETWORK)
    assert [one.priority for one in order] == sorted(one.priority for one in (nothing, *MOVES))
    at_risk = [one for one in order if one.priority == 0]
    assert at_risk[-1] == nothing
    keys = StartKeys(sums_of(MOVES), NETWORK)
    assert keys.start_key(nothing, start_chance(nothing)) == 0
    assert all(keys.start_key(one, start_chance(one)) > 0 for one in MOVES)
    assert all(0 <= start_chance(one) < 2**63 for one in MOVES)
