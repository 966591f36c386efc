"""Carrying out a plan in virtual time: cases to compute in one's head, and what holds for any plan."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling import plan_simulation
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyArrays, CopyTable, Floats, fair_rates, time_bound
from kafka_reassign_rpc.planner.scheduling.move_batching import in_sooner_order
from kafka_reassign_rpc.planner.scheduling.plan_simulation import (
    POINTS,
    Simulated,
    Timeline,
    estimate,
    simulate,
    simulate_batches,
)
from kafka_reassign_rpc.planner.scheduling.queue_order import QueueSums, StartKeys
from tests.planner.batched_moves import batched
from tests.planner.column_plans import make_plan
from tests.planner.shapes import SHAPES, roomy, shaped

TEN = NetworkLimits(10)


def move(index: int, leader: int, *added: int, size: int, priority: int = 2) -> PlannedMove:
    """A move from its leader; `size`: bytes of each of the replicas that it adds."""
    return PlannedMove("t", index, (leader,), (leader, *added), leader, size * len(added), priority, "", "")


def seconds(moves: Sequence[PlannedMove], caps: PlanCaps, network: NetworkLimits = TEN) -> float:
    return simulate(CopyTable(moves).arrays(), network, caps).seconds


@pytest.mark.parametrize(
    ("moves", "cap", "expected"),
    [
        ([], 1, 0),
        ([move(0, 1, 2, size=100)], 1, 10),
        ([move(0, 1, 2, 3, size=100)], 1, 20),  # the leader sends 200 bytes
        ([move(0, 1, 2, size=100), move(1, 3, 4, size=100)], 1, 10),
        ([move(0, 1, 2, size=100), move(1, 1, 3, size=100)], 1, 20),
        ([move(0, 1, 2, size=100), move(1, 2, 3, size=100)], 1, 10),  # broker 2 receives and sends at the same time
        ([move(0, 1, 2, size=100), move(1, 3, 2, size=100)], 1, 20),  # broker 2 receives the one, then the other
        ([move(0, 1, 3, size=100), move(1, 2, 3, size=50)], 2, 15),  # broker 3 receives 150 bytes
        # Broker 1 is busy until 10; the third move does not wait for the second one, which does:
        ([move(0, 1, 2, size=100), move(1, 1, 3, size=100), move(2, 4, 5, size=200)], 1, 20),
        # 1 sends to 2 and 3 at 5 B/s each, while 4 sends the other 5 to 3: after 10 s 2 has its 50, 3 has 50 of each
        ([move(0, 1, 2, size=50), move(1, 1, 3, size=100), move(2, 4, 3, size=50)], 2, 15),
        ([move(0, 1, size=0), move(1, 1, 2, size=0), move(2, 1, 2, size=10)], 1, 1),  # what copies nothing takes none
        ([move(0, -1, 2, size=100)._replace(target=(1, 2), original=(1,))], 1, 10),  # nobody knows who sends
    ],
)
def test_dp_3_the_simulation_takes_the_time_that_one_computes(
    moves: list[PlannedMove], cap: int, expected: float
) -> None:
    assert seconds(moves, PlanCaps(cap)) == pytest.approx(expected)


def test_dp_3_the_network_decides_the_time() -> None:
    moves = [move(0, 1, 2, size=100)]
    assert seconds(moves, PlanCaps(), NetworkLimits(10, {2: 4})) == pytest.approx(25)
    assert seconds(moves, PlanCaps(), NetworkLimits(10, {2: 4}, throttle=2)) == pytest.approx(50)
    assert seconds(moves, PlanCaps(), NetworkLimits(10, throttle=20)) == pytest.approx(10)


def test_dp_3_the_caps_in_all_decide_the_time() -> None:
    moves = [move(0, 1, 2, size=100), move(1, 3, 4, size=100)]
    assert [seconds(moves, PlanCaps(1, in_all)) for in_all in (-1, 2, 1)] == pytest.approx([10, 10, 20])


def test_dp_3_an_estimate_doubles_the_cap_for_as_long_as_that_gains_something() -> None:
    """Broker 1 sends 40 B/s, each receiver takes 10: one copy at a time takes 40 s, two 20 s, four and eight 10 s."""
    moves = [move(n, 1, 2 + n, size=100) for n in range(4)]
    found = estimate(CopyTable(moves), NetworkLimits(10, {1: 40}), PlanCaps(1))
    assert found.carried_out.seconds == pytest.approx(40)
    assert [(gain.setting, gain.value) for gain in found.gains] == [("moves_per_broker", 4)]
    assert found.gains[0].seconds == pytest.approx(10)


def gains(moves: Sequence[PlannedMove], network: NetworkLimits, caps: PlanCaps, setting: str) -> dict[int, float]:
    """The seconds of an estimate's gains with another value of the setting, by value."""
    found = estimate(CopyTable(moves), network, caps).gains
    return {gain.value: round(gain.seconds, 6) for gain in found if gain.setting == setting}


def test_dp_3_an_estimate_says_what_more_moves_in_all_gain_where_brokers_with_room_wait_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four brokers send 100 bytes each to four others, 10 s each: one after the other, two at a time, all at once."""
    moves = [move(n, 1 + n, 11 + n, size=100) for n in range(4)]
    assert gains(moves, TEN, PlanCaps(1, 1), "moves_per_batch") == {4: 10}
    assert gains(moves, TEN, PlanCaps(-1, 2), "moves_per_batch") == {4: 10}
    assert gains(moves, TEN, PlanCaps(1, 4), "moves_per_batch") == {}, "no order of them takes less"
    assert gains(moves, TEN, PlanCaps(1, -1), "moves_per_batch") == {}
    one_sender = [move(n, 1, 11 + n, size=100) for n in range(4)]
    assert gains(one_sender, NetworkLimits(10, {1: 40}), PlanCaps(1, 1), "moves_per_batch") == {}, (
        "broker 1 has no room"
    )
    assert gains(one_sender, NetworkLimits(10, {1: 40}), PlanCaps(2, 1), "moves_per_batch") == {2: 20}
    monkeypatch.setattr(plan_simulation, "_MORE_TRIED_UP_TO", 3)
    assert gains(moves, TEN, PlanCaps(1, 1), "moves_per_batch") == {2: 20}, "of a large plan only the double"


def test_dp_3_no_other_cap_in_all_is_tried_where_the_cap_per_broker_keeps_moves_below_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = list[PlanCaps]()

    def simulated(copies: CopyArrays, network: NetworkLimits, caps: PlanCaps) -> Simulated:
        tried.append(caps)
        return simulate(copies, network, caps)

    monkeypatch.setattr(plan_simulation, "simulate", simulated)
    moves = [move(n, 1, 11 + n % 2, size=100) for n in range(40)]  # three brokers: never more than 3 moves
    found = estimate(CopyTable(moves), NetworkLimits(10, {1: 40}), PlanCaps(1, 3))
    assert found.carried_out.seconds > 1.5 * found.bound.seconds
    assert {caps.in_all for caps in tried} == {3}


@pytest.mark.parametrize(("throttle", "gained"), [(2, {4: 25}), (8, {16: 10}), (-1, {})])
def test_dp_3_an_estimate_says_what_the_double_throttle_gains(throttle: int, gained: dict[int, float]) -> None:
    """100 bytes at 10 B/s, or the throttle if that is less."""
    assert gains([move(0, 1, 2, size=100)], NetworkLimits(10, throttle=throttle), PlanCaps(1), "throttle") == gained


@pytest.mark.parametrize(("copies", "rate", "cap"), [(4, 40, 4), (4, 10, 1), (64, 640, 8)])
def test_dp_3_a_cap_is_raised_where_the_plan_is_done_sooner_by_that(copies: int, rate: int, cap: int) -> None:
    """Broker 1 sends, and each receiver takes 10 B/s: the cap is raised until broker 1 sends as much as it can, to
    eight times itself at most."""
    moves = [move(n, 1, 2 + n, size=100) for n in range(copies)]
    found = estimate(CopyTable(moves), NetworkLimits(10, {1: rate}), PlanCaps(1), chooses_cap=True)
    assert found.caps == PlanCaps(cap)
    assert found.carried_out.seconds == pytest.approx(10 * -(-copies // min(cap, rate // 10)))
    assert found.bound.seconds == pytest.approx(100 * copies / rate)


def test_dp_3_a_cap_is_lowered_where_a_large_move_has_too_little_of_the_network_among_many() -> None:
    """Brokers 1 and 2 have 100 bytes to send and to receive. One move has 40 of them, from the one to the other; the
    rest are small moves, with others. While broker 2 receives ten moves, that move gets a tenth of its network."""
    small = [move(9 + n, 4 + n % 10, 2, size=3) for n in range(20)]
    table = CopyTable([move(0, 1, 2, size=40), *small, move(1, 1, 20, size=60)])
    slow = NetworkLimits(10, {20: 6})
    given, chosen = (estimate(table, slow, PlanCaps(10), chooses_cap=chooses) for chooses in (False, True))
    assert (given.caps, chosen.caps) == (PlanCaps(10), PlanCaps(3))
    assert chosen.bound.seconds == pytest.approx(10)
    assert 10 < chosen.carried_out.seconds < 0.95 * given.carried_out.seconds


def test_dp_3_a_batch_waits_for_the_last_move_of_the_one_before() -> None:
    table = CopyTable()
    for batch in ([move(0, 1, 2, size=100), move(1, 3, 4, size=20)], [move(2, 3, 4, size=30)], []):
        for one in batch:
            table.add(one)
        table.end_batch()
    found = simulate_batches(table, TEN)
    assert found.seconds == pytest.approx(13)
    assert list(found.batches) == pytest.approx([10, 3, 0])
    assert simulate(table.arrays(), TEN, PlanCaps(1)).seconds == pytest.approx(10)


def test_dp_3_the_time_of_a_short_batch_behind_days_is_as_exact_as_that_of_any_other() -> None:
    """A plan is refused where a batch takes less than its slowest broker needs, by a part in a billion."""
    sizes = [10**13, *range(1, 200, 7)]
    table = CopyTable([])
    for index, size in enumerate(sizes):
        table.add(move(index, 1, 2, size=size))
        table.end_batch()
    found = simulate_batches(table, NetworkLimits(10**8))
    assert list(found.batches) == pytest.approx([size / 10**8 for size in sizes], rel=1e-12, abs=0)
    assert found.seconds == pytest.approx(sum(sizes) / 10**8)


def test_dp_3_the_bound_names_the_broker_that_decides_it() -> None:
    moves = [move(0, 1, 2, 3, size=30), move(1, 4, 3, size=40)]
    assert time_bound(CopyTable(moves).arrays(), TEN) == (7, 3, False, 70)
    assert time_bound(CopyTable(moves).arrays(), NetworkLimits(10, {1: 5})) == (12, 1, True, 60)
    assert time_bound(CopyTable([]).arrays(), TEN) == (0, None, False, 0)


def test_dp_3_the_timeline_shows_what_each_broker_sends_and_receives() -> None:
    """Broker 1 sends 100 bytes to broker 2 in the first 10 s, then 200 to broker 3 until 30 s."""
    found = simulate(CopyTable([move(0, 1, 2, size=100), move(1, 1, 3, size=200)]).arrays(), TEN, PlanCaps(1))
    timeline = found.timeline
    assert timeline.brokers == (1, 2, 3)
    assert found.seconds == pytest.approx(30)
    spans = round(30 / timeline.seconds)
    assert 30 <= spans <= 60
    assert timeline.sent[:spans, 0] == pytest.approx(10 * timeline.seconds)
    first = np.arange(len(timeline.sent)) * timeline.seconds < 10
    assert timeline.received[first, 1].sum() == pytest.approx(100)
    assert timeline.received[:, 1].sum() == pytest.approx(100)
    assert timeline.received[~first, 2].sum() == pytest.approx(200)


def test_dp_3_a_timeline_is_as_fine_as_the_plan_allows() -> None:
    """A plan that ends with a span has figures in every span; one that takes a little longer than that in half of
    them.
    """
    first, second = move(0, 1, 2, size=100), move(1, 1, 2, size=5)
    alone = simulate(CopyTable([first]).arrays(), TEN, PlanCaps(1)).timeline
    assert alone.seconds == pytest.approx(10 / POINTS)
    assert alone.sent[:, 0] == pytest.approx([100 / POINTS] * POINTS)
    longer = simulate(CopyTable([first, second]).arrays(), TEN, PlanCaps(1)).timeline
    assert longer.seconds == pytest.approx(20 / POINTS)
    assert longer.sent.sum() == pytest.approx(105)


SENDERS_AND_RECEIVERS = st.lists(st.integers(1, 6), unique=True, min_size=2, max_size=4)
MOVES = st.lists(st.tuples(SENDERS_AND_RECEIVERS, st.integers(1, 90), st.integers(0, 2)), max_size=40).map(
    lambda drawn: [
        move(index, *brokers, size=size, priority=priority) for index, (brokers, size, priority) in enumerate(drawn)
    ]
)


OVERTAKEN = [
    move(index, *brokers, size=size)
    for index, (brokers, size) in enumerate(
        [((1, 2), 1), ((1, 2, 3), 1), *[((1, 2), 1)] * 3, ((2, 3), 6), *[((1, 2), 1)] * 2]
    )
]
"""The second move needs brokers 2 and 3 at once; others have the one of them or the other meanwhile."""


@given(MOVES, st.integers(1, 4), st.sampled_from([-1, 1, 3]), st.sampled_from([1, 5, 1000]))
@example(OVERTAKEN, 1, -1, 5)
def test_dp_3_no_cap_is_exceeded_at_any_time_and_every_byte_is_copied_once(
    moves: list[PlannedMove], per_broker: int, in_all: int, window: int
) -> None:
    copies = CopyTable(moves).arrays()
    looks = list[tuple[set[int], float]]()

    class Watched(plan_simulation._Run):
        def _step(self, now: float) -> tuple[float, Floats | None]:
            looks.append((set(self._moves.tolist()), now))
            return super()._step(now)

    caps, timeline = PlanCaps(per_broker, in_all), Timeline(copies.brokers)
    end = Watched(copies, TEN, caps, window, timeline).to_the_end(0.0)
    started = list[int]()
    for in_flight, _ in looks:
        assert in_all < 0 or len(in_flight) <= in_all
        for broker in range(1, 7):
            assert sum(broker == moves[one].sender for one in in_flight) <= per_broker
            assert sum(broker in moves[one].target[1:] for one in in_flight) <= per_broker
        started += sorted(in_flight - set(started))
    assert sorted(started) == list(range(len(moves))), "each move starts once"
    for place, one in enumerate(started):
        assert sum(other > one for other in started[:place]) < window, "no more moves pass one that waits"
    assert [time for _, time in looks] == sorted(time for _, time in looks)
    bound = time_bound(copies, TEN)
    assert bound.seconds * (1 - 1e-9) <= end <= sum(one.bytes for one in moves) / 10 * (1 + 1e-9)
    assert timeline.sent.sum() == pytest.approx(sum(one.bytes for one in moves))
    assert timeline.received.sum() == pytest.approx(sum(one.bytes for one in moves))
    if moves:
        assert max(timeline.sent.max(), timeline.received.max()) <= 10 * timeline.seconds * (1 + 1e-9)


@given(MOVES, st.sampled_from([{}, {1: 3, 2: 40}]))
def test_dp_3_rates_are_max_min_fair(moves: list[PlannedMove], by_broker: dict[int, int]) -> None:
    """Each copy has a full link on which no other copy gets more: the definition."""
    copies = CopyTable(moves).arrays()
    count = len(copies.brokers)
    rows, columns = np.nonzero(copies.receivers < count)
    out, into = copies.senders[rows], copies.receivers[rows, columns] + count
    network = NetworkLimits(10, by_broker)
    limits = np.array([float(network.rate(broker)) for broker in copies.brokers] * 2)
    rates = fair_rates(out, into, limits)
    carried = [sum(rates[(out == link) | (into == link)]) for link in range(2 * count)]
    assert all(carried[link] <= limits[link] * (1 + 1e-9) for link in range(2 * count))
    for one in range(len(rates)):
        assert any(
            carried[link] >= limits[link] * (1 - 1e-9)
            and rates[one] >= max(rates[(out == link) | (into == link)]) * (1 - 1e-9)
            for link in (out[one], into[one])
        )


def ordered(moves: Sequence[PlannedMove], network: NetworkLimits = TEN) -> list[PlannedMove]:
    sums = QueueSums()
    for one in moves:
        sums.add(one)
    keys = StartKeys(sums, network)

    def start_key(one: PlannedMove) -> float:
        return keys.start_key(one, int(2**63 * (one.partition * 0.618 % 1)))

    return sorted(moves, key=lambda one: (one.priority, -start_key(one), one.partition))


def test_dp_3_the_longest_queue_comes_first_and_within_it_the_largest_move() -> None:
    """Broker 1 sends 160 bytes, broker 5 receives 100."""
    small = [move(index, 1, 2, size=10) for index in range(6)]
    moves = [*small, move(6, 4, 5, size=100), move(7, 1, 3, size=100), move(8, 6, 7, size=1, priority=0)]
    assert [one.partition for one in ordered(moves)][:2] == [8, 7], "what is at risk comes before all"
    slow = NetworkLimits(10, {5: 1})
    assert [one.partition for one in ordered(moves, slow)][:3] == [8, 6, 7], "broker 5 takes 100 s"


def test_dp_3_small_moves_behind_a_large_one_do_not_wait_until_a_shorter_queue_is_done() -> None:
    """Broker 1 sends 130 bytes, and 100 of them in one move: while that lasts, it has more left than broker 10."""
    behind = [move(index, 1, 2 + index, size=10) for index in range(3)]
    shorter = [move(4 + index, 10, 11 + index, size=10) for index in range(6)]
    found = [one.partition for one in ordered([*behind, *shorter, move(3, 1, 9, size=100)])]
    assert found[0] == 3
    assert set(found[1:4]) == {0, 1, 2}


def test_dp_3_moves_that_are_alike_shorten_their_queue_until_another_one_is_the_longest() -> None:
    longer, shorter = (
        [move(n, leader, 3 + n, size=10) for n in range(first, end)] for leader, first, end in ((1, 0, 12), (2, 12, 20))
    )
    found = [one.sender for one in ordered([*longer, *shorter])]
    assert found[:2] == [1, 1]
    assert 1 in found[found.index(2) :]


@given(MOVES, st.integers(0, 40))
def test_dp_3_sums_of_parts_of_a_plan_give_the_order_of_the_plan(moves: list[PlannedMove], cut: int) -> None:
    whole, left, right = QueueSums(), QueueSums(), QueueSums()
    for index, one in enumerate(moves):
        whole.add(one)
        (left if index < cut else right).add(one)
    assert left.merge(right).by_queue == whole.by_queue
    found = ordered(moves)
    assert sorted(one.partition for one in found) == list(range(len(moves)))
    assert [one.priority for one in found] == sorted(one.priority for one in moves)


GOALS = {
    "heal": (Goal(GoalKind.HEAL), 1_500, {"lost": 1}),
    "drain": (Goal(GoalKind.DRAIN, (0, 1)), 1_000, {}),
    "expand": (Goal(GoalKind.EXPAND, (10, 11)), 500, {"fresh": 2}),
    "rebalance": (Goal(GoalKind.REBALANCE), 300, {}),
}


@pytest.mark.release
@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("goal", GOALS)
def test_dp_3_plans_take_little_longer_than_the_busiest_broker_must(shape: str, goal: str) -> None:
    """A tenth at most, also where the moves start in the order of batches, and one broker is twice as fast as others.

    With the cap that a plan chooses: on small clusters many moves at a time take the network from those that matter,
    and few leave the busiest broker without receivers.
    """
    wanted, partitions, more = GOALS[goal]
    cluster = roomy(shaped(shape, 12, partitions, **more))
    network = NetworkLimits(1_000_000, {2: 2_000_000})
    moves = ordered(make_plan(cluster, wanted, PlanOptions(rounds=5)).moves, network)
    table = batched(in_sooner_order(moves, network, BatchLimits(), PlanCaps(), chooses_cap=True), network)
    found = estimate(table, network, PlanCaps(), chooses_cap=True)
    assert found.bound.seconds > 0
    assert found.carried_out.seconds <= 1.10 * found.bound.seconds
    assert simulate(table.arrays(), network, PlanCaps(5)).seconds <= 1.20 * found.bound.seconds


def test_dp_3_many_moves_take_the_time_that_exact_steps_take(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = [move(n, n * 7 % 13, 13 + n * 5 % 11, size=1 + n * 31 % 97) for n in range(1500)]
    exact = seconds(moves, PlanCaps())
    monkeypatch.setattr(plan_simulation, "_ENDS_PER_MOVE", 1.0)
    assert seconds(moves, PlanCaps()) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("seconds", [1e-11, 1.5e-10, 3e-10, 1e-3, 5.0])
def test_dp_7_a_timeline_keeps_each_byte_of_a_step_that_is_short_beside_the_time_before_it(seconds: float) -> None:
    timeline = Timeline((1, 2))
    ends = np.array([0]), np.array([1])
    timeline.add(0.0, 1e6, *ends, np.array([1000.0]))
    timeline.add(1e6, seconds, *ends, np.array([65.0]))
    assert timeline.sent[:, 0].sum() == timeline.received[:, 1].sum() == pytest.approx(1065, abs=1e-6)
