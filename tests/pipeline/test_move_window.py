"""Which moves may be in flight: caps, order, every move once, and no broker that waits for a slow one."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.move_window import MoveWindow, WindowMove


def move(index: int, sender: int, *receivers: int, first_leader: int = -1) -> WindowMove:
    """Partition `index` of t: its replicas are the sender and broker 100; all receivers join them."""
    standing = (sender, 100)
    return WindowMove.of(PlanEntry("t", index, (*receivers, *standing), standing, first_leader), sender)


def window(caps: tuple[int, int], moves: Iterable[WindowMove], *, has_queue: bool = False) -> MoveWindow:
    made = MoveWindow(PlanCaps(*caps), has_queue)
    made.wait({one.entry.topic_partition: one for one in moves})
    return made


def numbers(moves: Iterable[WindowMove]) -> list[int]:
    return [one.entry.partition for one in moves]


def begin(made: MoveWindow) -> list[int]:
    begun = numbers(made.next())
    for index in begun:
        made.begin(TopicPartition("t", index))
    return begun


def load(moves: Iterable[WindowMove]) -> Counter[tuple[str, int]]:
    """Moves by broker and what it does, from the rule: the leader sends, each broker that had no replica receives."""
    found = Counter[tuple[str, int]]()
    for one in moves:
        new = set(one.entry.replicas) - set(one.entry.expected_replicas)
        found.update({*(("receives", broker) for broker in new), ("sends", one.sender)} if new else set())
    return found


brokers = st.integers(0, 6)
plans = st.lists(
    st.tuples(brokers, st.lists(brokers, max_size=3, unique=True)).filter(lambda found: found[0] not in found[1]),
    max_size=60,
)


@given(plans, st.integers(1, 4), st.integers(1, 12), st.randoms(use_true_random=False))
def test_dp_4_a_queue_gets_three_times_the_caps_at_most_and_each_move_once_whatever_ends_first(  # type: ignore[no-untyped-def]
    plan, per_broker, in_all, chance
):
    """And moves from one broker to another are fewer than start at a time, while other moves need one of the two."""
    moves = [move(index, sender, *new) for index, (sender, new) in enumerate(plan)]
    made = window((per_broker, in_all), moves, has_queue=True)
    begun: list[int] = []
    while made.waiting or made.moving:
        work = [*made.waiting.values(), *made.moving.values()]
        found = begin(made)
        begun += found
        assert made.moving, "there is always one that may begin"
        assert len(made.moving) <= in_all
        assert all(count <= 3 * per_broker for count in load(made.moving.values()).values())
        for sender, receiver in {pair for index in found for pair in moves[index].pairs}:
            of_pair = [one for one in made.moving.values() if (sender, receiver) in one.pairs]
            needed = {("sends", sender), ("receives", receiver)}
            if any(load([one]).keys() & needed for one in work if (sender, receiver) not in one.pairs):
                assert len(of_pair) <= max(1, per_broker - 1)
        made.end(chance.choice(sorted(made.moving)))
        if chance.random() < 0.2:
            made.adapt()
    assert sorted(begun) == list(range(len(plan)))


@given(plans, st.integers(1, 4), st.integers(1, 12), st.randoms(use_true_random=False))
def test_dp_4_caps_are_never_exceeded_and_each_move_begins_once_whatever_ends_first(plan, per_broker, in_all, chance):  # type: ignore[no-untyped-def]
    made = window((per_broker, in_all), [move(index, sender, *new) for index, (sender, new) in enumerate(plan)])
    begun: list[int] = []
    while made.waiting or made.moving:
        waited = list(made.waiting.values())
        begun += begin(made)
        assert len(made.moving) <= in_all
        assert all(count <= per_broker for count in load(made.moving.values()).values())
        for one in waited:
            if one.entry.topic_partition in made.waiting:
                full = load([*made.moving.values(), one])
                is_full = any(full[link] > per_broker for link in load([one]))
                assert is_full or len(made.moving) == in_all, "nothing waits that has room"
        assert made.moving, "there is always one that may begin"
        made.end(chance.choice(sorted(made.moving)))
        if chance.random() < 0.2:
            made.adapt()
    assert sorted(begun) == list(range(len(plan)))


@given(plans, st.integers(1, 3), st.booleans(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_dp_4_no_move_is_passed_by_more_moves_than_are_read_beyond_it(plan, cap, has_queue, look_ahead, chance):  # type: ignore[no-untyped-def]
    """Nor in the queue of a controller, which starts what has room. All end, whatever waits for a lost broker."""
    made, read = window((cap, 1000), [], has_queue=has_queue), 0
    queue, flying, started, lost = dict[int, WindowMove](), dict[int, WindowMove](), list[int](), set[int]()
    while read < len(plan) or made.waiting or made.moving or made.stuck:
        name = [TopicPartition("t", index) for index in queue]
        while read < len(plan) and made.ahead(set(name)) < look_ahead:
            sender, new = plan[read]
            one = move(read, sender, *new)
            made.wait({one.entry.topic_partition: one})
            read += 1
        for one in made.next():
            made.begin(one.entry.topic_partition)
            queue[one.entry.partition] = one
        for index, one in list(queue.items()):
            full = load([*(other for at, other in flying.items() if at not in lost), one])
            if all(full[link] <= cap for link in load([one])):
                flying[index] = queue.pop(index)
                started.append(index)
        if chance.random() < 0.1:
            lost = set(chance.sample(sorted(flying), min(2, len(flying))))
            made.set_apart([TopicPartition("t", index) for index in lost])
        ends = chance.choice(sorted(flying))
        del flying[ends]
        lost.discard(ends)
        made.end(TopicPartition("t", ends))
    assert sorted(started) == list(range(len(plan)))
    for place, index in enumerate(started):
        assert sum(other > index for other in started[:place]) < look_ahead


def test_dp_4_moves_begin_in_the_order_of_the_plan_and_one_without_room_lets_others_pass() -> None:
    made = window((1, 10), [move(0, 1, 2), move(1, 1, 3), move(2, 4, 3), move(3, 1), move(4, 5, 6), move(5, 2, 1)])
    assert begin(made) == [0, 2, 3, 4, 5], "1 needs broker 1; 3 copies nothing; 5 has broker 1 receive what 2 sends"
    assert begin(made) == []
    made.end(TopicPartition("t", 0))
    assert begin(made) == [], "1 also needs broker 3"
    made.end(TopicPartition("t", 2))
    assert begin(made) == [1]


def test_dp_7_a_move_counts_for_the_replica_that_leads_first() -> None:
    standing = (1, 2)
    made = WindowMove.of(PlanEntry("t", 0, (3, 2), standing, first_leader=2), leader=1)
    assert made.brokers == {2, 3}
    assert WindowMove.of(PlanEntry("t", 0, (2, 1), standing), leader=1).brokers == frozenset()


def test_dp_7_a_slow_broker_does_not_take_all_places_of_another_one() -> None:
    to_slow, to_others = [move(index, 1, 9) for index in range(8)], [move(index, 1, 2 + index % 3) for index in (8, 9)]
    assert begin(window((4, 100), [*to_slow, *to_others])) == [0, 1, 8, 9], "half for broker 9, though it comes first"
    assert begin(window((4, 100), to_slow)) == [0, 1, 2, 3], "all, if nothing else waits"


def test_dp_7_the_window_learns_which_broker_is_slow_and_forgets_it_when_its_moves_end() -> None:
    made = window((3, 100), [move(0, 20, 9), *(move(index, 1, 1 + index) for index in range(1, 4))])
    begin(made)
    for index in (1, 2, 3):
        made.end(TopicPartition("t", index))
    made.adapt()
    assert made.slow == {20, 9}
    made.wait(
        {one.entry.topic_partition: one for one in (move(10, 6, 9), move(11, 6, 9), move(12, 6, 7), move(13, 6, 8))}
    )
    assert numbers(made.next()) == [10, 12, 13], "one place for the slow broker; another one would get two"
    made.end(TopicPartition("t", 0))
    made.adapt()
    assert made.slow == frozenset()
    assert numbers(made.next()) == [10, 11, 12]


class Controller:
    """Carries out what a window hands over, one tick after the other: in that order, with `cap` moves at a time that a
    broker sends, and as many that it receives. A move that has no room lets those behind it pass. A move takes a tick,
    or ten with broker 9."""

    def __init__(self, handing: MoveWindow, cap: int) -> None:
        self.window, self.cap = handing, cap
        self.queue: list[WindowMove] = []
        self.left: dict[int, int] = {}
        """Ticks that moves in flight still take."""
        self.ended: dict[int, int] = {}
        """The tick at whose end each move ended."""
        self.now = 0

    def tick(self) -> None:
        chosen = self.window.next()
        for one in chosen:
            self.window.begin(one.entry.topic_partition)
        self.queue += chosen
        in_flight = [one for one in self.window.moving.values() if one.entry.partition in self.left]
        for one in list(self.queue):
            full = load([*in_flight, one])
            if all(full[link] <= self.cap for link in load([one])):
                in_flight.append(one)
                self.queue.remove(one)
                self.left[one.entry.partition] = 10 if 9 in one.brokers else 1
        self.now += 1
        for one in in_flight:
            number = one.entry.partition
            self.left[number] -= 1
            if not self.left[number]:
                del self.left[number]
                self.ended[number] = self.now
                self.window.end(one.entry.topic_partition)

    def to_the_end(self, adapts_every: int) -> None:
        while self.window.waiting or self.window.moving:
            self.tick()
            assert self.now < 10_000, "something goes on"
            if not self.now % adapts_every:
                self.window.adapt()


SLOW_AND_QUICK = st.lists(st.sampled_from([9, 9, 2, 3, 4]), min_size=1, max_size=80)
"""What broker 1 sends to, or receives from."""


@given(SLOW_AND_QUICK, st.integers(2, 6), st.booleans(), st.sampled_from([3, 12, 10_000]))
def test_dp_7_moves_wait_for_no_slow_broker_in_the_queue_of_a_controller(
    others: list[int], cap: int, receives: bool, adapts_every: int
) -> None:
    """Moves of broker 1 with others than broker 9 are done as soon as with one place of broker 1 for them alone."""
    moves = [move(n, other, 1) if receives else move(n, 1, other) for n, other in enumerate(others)]
    found = Controller(window((cap, 1000), moves, has_queue=True), cap)
    found.to_the_end(adapts_every)
    assert found.ended.keys() == set(range(len(moves)))
    quick = [found.ended[n] for n, other in enumerate(others) if other != 9]
    assert max(quick, default=0) <= len(quick)


def test_dp_7_a_broker_that_is_known_to_be_slow_has_one_place_in_the_queue_and_the_others_have_the_rest() -> None:
    """Broker 1 sends 15 moves to broker 9 and 96 to two others, with ten places."""
    moves = [move(n, 1, 9) for n in range(15)] + [move(15 + n, 1, 2 + n % 2) for n in range(96)]
    found = Controller(window((10, 1000), moves, has_queue=True), 10)
    for _ in range(3):
        found.tick()
    assert sum(one.entry.partition < 15 for one in found.window.moving.values()) == 9, "one place is left"
    found.window.adapt()
    assert found.window.slow == {9}
    found.to_the_end(10_000)
    slow, quick = ([found.ended[n] for n in numbers] for numbers in (range(15), range(15, 111)))
    assert max(quick) <= 10 + -(-(96 - 10) // 9), "one place at first, nine once those of broker 9 have ended"
    assert max(slow) <= max(quick) + 20, "ten places, once the others are done"


def test_dp_7_moves_of_one_pair_have_all_places_of_the_queue_where_no_other_move_needs_its_brokers() -> None:
    alone = [move(n, 1, 9) for n in range(20)]
    elsewhere = [move(20 + n, 2, 3) for n in range(20)]
    both = [move(40 + n, 4, 5, 6) for n in range(20)]  # two pairs, but no move of the one without the other
    made = window((4, 1000), [*alone, *elsewhere, *both], has_queue=True)
    assert load(made.next()) == dict.fromkeys(load([alone[0], elsewhere[0], both[0]]), 12)


def test_dp_7_one_pair_leaves_a_place_as_long_as_other_moves_of_its_brokers_wait_or_are_handed_over() -> None:
    made = window((4, 1000), [*(move(n, 1, 9) for n in range(20)), move(20, 1, 2), move(21, 3, 2)], has_queue=True)
    assert begin(made) == [0, 1, 2, 20, 21]
    assert begin(made) == [], "the controller may not have started 20"
    made.end(TopicPartition("t", 20))
    assert begin(made) == list(range(3, 12)), "broker 2 is none of theirs"


def test_dp_7_slow_brokers_share_the_places_of_the_queue_where_only_they_have_work() -> None:
    moves = [move(n, 1, 8 + n % 2) for n in range(20)]
    made = window((4, 1000), [*moves, move(20, 1, 2)], has_queue=True)
    made.slow = frozenset({8, 9})
    assert begin(made) == [0, 1, 20], "one each beside a broker that is not slow"
    made.end(TopicPartition("t", 20))
    assert begin(made) == [2, 3, 4, 5], "three each: each leaves the other a place"
