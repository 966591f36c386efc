"""Which moves may be in flight: caps, order, every move once, and no broker that waits for a slow one."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.move_window import MoveWindow, WindowCaps, WindowMove


def move(index: int, sender: int, *receivers: int, first_leader: int = -1) -> WindowMove:
    """Partition `index` of t: its replicas are the sender and broker 100; all receivers join them."""
    standing = (sender, 100)
    return WindowMove.of(PlanEntry("t", index, (*receivers, *standing), standing, first_leader), sender)


def window(caps: tuple[int, int], moves: Iterable[WindowMove]) -> MoveWindow:
    made = MoveWindow(WindowCaps(*caps))
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
