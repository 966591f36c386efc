"""Other orders of small plans: sooner done, the same moves, none that is urgent behind others."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, GoalKind
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling import move_batching, plan_simulation
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyArrays, CopyTable, time_bound
from kafka_reassign_rpc.planner.scheduling.move_batching import in_sooner_order
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Simulated, estimate, simulate
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from tests.effort import examples
from tests.planner.batched_moves import batched
from tests.planner.column_plans import make_plan
from tests.planner.shapes import shaped
from tests.planner.test_plan_simulation import move

NETWORK = NetworkLimits(100_000)
LIMITS, CAPS = BatchLimits(), PlanCaps(10, 1000)


def sooner(moves: Sequence[PlannedMove], caps: PlanCaps = CAPS, *, chooses_cap: bool = False) -> list[PlannedMove]:
    return list(in_sooner_order(moves, NETWORK, LIMITS, caps, chooses_cap=chooses_cap))


def over_bound(moves: Sequence[PlannedMove]) -> float:
    """The time of a plan whose moves come in this order, with the cap that a plan chooses, over its bound."""
    found = estimate(batched(moves, NETWORK), NETWORK, CAPS, chooses_cap=True)
    return found.carried_out.seconds / found.bound.seconds


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "partitions", "seed"),
    [
        pytest.param("moving", 1_000, 4, marks=pytest.mark.gate),
        pytest.param("moving", 1_000, 1, marks=pytest.mark.release),
        pytest.param("giant", 2_000, 3, marks=pytest.mark.release),
    ],
)
def test_dp_7_a_drain_that_keeps_all_brokers_busy_alike_is_done_within_a_tenth_of_its_bound(
    shape: str, partitions: int, seed: int
) -> None:
    """The first order of the first one takes longer than that; those of the others are near it."""
    plan = make_plan(shaped(shape, 12, partitions, seed=seed), Goal(GoalKind.DRAIN, (0, 1)))
    first = in_start_order(plan.moves, NETWORK)
    found = over_bound(sooner(first, chooses_cap=True))
    assert found <= min(1.10, over_bound(first))


MOVES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(5, 9), st.integers(1, 10**6), st.integers(0, 2)), max_size=25
).map(
    lambda found: sorted(
        (
            move(index, sender, receiver, size=size, priority=priority)
            for index, (sender, receiver, size, priority) in enumerate(found)
        ),
        key=lambda one: one.priority,
    )
)


@given(MOVES)
@pytest.mark.more
@settings(max_examples=examples(25))
def test_dp_7_another_order_has_each_move_once_what_is_at_risk_first_and_is_never_done_later(
    moves: list[PlannedMove],
) -> None:
    caps = PlanCaps(2, 1000)
    found = sooner(moves, caps)
    assert sorted(found, key=lambda one: one.partition) == sorted(moves, key=lambda one: one.partition)
    assert [one.priority for one in found] == [one.priority for one in moves]
    assert found == sooner(moves, caps), "the same moves, the same order"
    seconds = [simulate(batched(order, NETWORK).arrays(), NETWORK, caps).seconds for order in (found, moves)]
    assert seconds[0] <= seconds[1]


def test_dp_7_a_plan_that_is_near_its_bound_stays_as_it_is() -> None:
    moves = [move(n, n % 3, 3 + n % 3, size=1000) for n in range(60)]
    assert over_bound(moves) <= move_batching.GOOD
    assert sooner(moves) == moves


@pytest.mark.parametrize(("moves", "most"), [(60, 2), (2_000, 2), (20_001, 1)])
def test_dp_7_a_plan_whose_first_order_is_at_the_bound_is_simulated_once_for_its_order_and_once_for_its_time(
    moves: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(copies: CopyArrays, network: NetworkLimits, caps: PlanCaps) -> Simulated:
        calls.append(caps)
        return simulate(copies, network, caps)

    for module in (move_batching, plan_simulation):
        monkeypatch.setattr(module, "simulate", counted)
    alike = [move(n, n % 3, 3 + n % 3, size=1000) for n in range(moves)]
    ordered = [*in_sooner_order(alike, NETWORK, LIMITS, CAPS, chooses_cap=True)]
    found = plan_simulation.estimate(batched(ordered, NETWORK), NETWORK, CAPS, chooses_cap=True)
    assert found.carried_out.seconds <= found.bound.seconds / plan_simulation.WORTH
    assert found.gains == ()
    assert len(calls) == most


@pytest.mark.long
def test_dp_7_a_large_plan_is_passed_on_as_it_comes_and_a_small_one_is_tried_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless() -> Iterator[PlannedMove]:
        index = 0
        while True:
            yield move(index, 1, 2, size=10)
            index += 1

    passed = in_sooner_order(endless(), NETWORK, LIMITS, CAPS)
    assert [one.partition for one in islice(passed, 5_000)] == list(range(5_000))

    calls = []

    def counted(*given: object) -> object:
        calls.append(given)
        return simulate(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(move_batching, "simulate", counted)
    moves = [move(n, 1 + n % 2, 3 + n // 2 % 3, size=10**6 if n % 7 == 0 else 10) for n in range(400)]
    bound = time_bound(CopyTable(moves).arrays(), NETWORK).seconds
    monkeypatch.setattr(move_batching, "GOOD", 0.5)
    assert bound > 0
    sooner(moves)
    assert len(calls) == 1 + 75, "the first order, and as many others as 30,000 simulated moves allow"
