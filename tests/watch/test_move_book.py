"""Which move is which, and how it ended, from what successive looks tell."""

from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.watch.move_book import DELETED, LOOKS, NOT_TOLD, OTHERS, MoveBook, Standing

T0 = TopicPartition("t", 0)
FIRST = PartitionReassignment((1, 3, 2), (3,), (2,))
"""[1, 2] becomes [1, 3]."""
OLD, NEW, UNION = Standing((1, 2)), Standing((1, 3)), Standing((1, 3, 2))


class Looks:
    """A book, the time of its next look, and what happened in each."""

    def __init__(self) -> None:
        self.book = MoveBook()
        self.at = 1_000

    def __call__(
        self,
        move: PartitionReassignment | None,
        told: Standing | str | None = "",
        at_rest: Mapping[TopicPartition, Sequence[int]] = {},
    ) -> list[str]:
        """`told`: a text where no broker reports anything."""
        self.at += 1_000
        listed = {} if move is None else {T0: move}
        some = {} if isinstance(told, str) else {T0: told}
        self.events = self.book.observe(self.at, listed, some, at_rest)
        return [one.event for one in self.events]


@pytest.fixture
def looks() -> Looks:
    made = Looks()
    made(None)
    return made


def test_kr_1_a_move_has_one_id_and_its_first_seen_time_from_look_to_look(looks: Looks) -> None:
    assert looks(FIRST, UNION) == ["move.started"]
    (record,) = looks.book.records.values()
    assert (record.id, record.started, record.terms.target, record.original) == (3_000, 3_000, (1, 3), (1, 2))
    assert looks(FIRST, UNION) == []
    assert list(looks.book.records.values()) == [record]


def test_kr_1_since_when_a_move_goes_on_that_the_first_look_saw_is_unknown() -> None:
    looks = Looks()
    assert looks(FIRST, UNION) == []
    assert looks.book.records[T0].started is None
    assert looks(None, NEW) == ["move.completed"]
    assert looks.events[0].started is None


def test_kr_1_the_original_order_is_the_one_that_was_seen_before_the_move(looks: Looks) -> None:
    looks(FIRST, UNION, {T0: (2, 1)})
    assert looks.book.records[T0].original == (2, 1)


def test_kr_1_a_move_whose_partition_has_the_target_is_completed(looks: Looks) -> None:
    looks(FIRST, UNION)
    assert looks(None, NEW) == ["move.completed"]
    assert looks.events[0].replicas == (1, 3)
    assert not looks.book.records


def test_kr_1_a_broker_that_is_late_is_no_evidence_of_a_cancel(looks: Looks) -> None:
    looks(FIRST, OLD)
    assert [looks(None, OLD), looks(None, UNION), looks(None, NEW)] == [[], [], ["move.completed"]]


def test_kr_1_a_move_is_cancelled_where_the_original_replicas_are_seen_twice(looks: Looks) -> None:
    looks(FIRST, UNION)
    assert [looks(None, OLD), looks(None, OLD)] == [[], ["move.cancelled"]]
    assert looks.events[0].replicas == (1, 2)


@pytest.mark.parametrize(
    ("told", "reason", "after"), [(None, DELETED, 2), (Standing((4, 5)), OTHERS, LOOKS), ("", NOT_TOLD, LOOKS)]
)
def test_kr_1_any_other_end_is_reported_with_what_is_known(
    looks: Looks, told: Standing | str | None, reason: str, after: int
) -> None:
    looks(FIRST, UNION)
    for _ in range(after - 1):
        assert looks(None, told) == []
    assert looks(None, told) == ["move.gone"]
    assert looks.events[0].reason == reason


def test_kr_1_brokers_that_contradict_one_another_do_not_keep_a_move_for_ever(looks: Looks) -> None:
    looks(FIRST, UNION)
    for number in range(3 * LOOKS - 1):
        assert looks(None, (UNION, Standing((4, 5)), OLD)[number % 3]) == []
        if not looks.book.records:
            break
    looks(None, UNION)
    assert not looks.book.records


def test_kr_1_a_move_that_the_list_lacked_once_is_the_same_move(looks: Looks) -> None:
    looks(FIRST, UNION)
    record = looks.book.records[T0]
    assert [looks(None, UNION), looks(FIRST, UNION)] == [[], []]
    assert looks.book.records[T0] == record


def test_kr_1_a_topic_that_was_deleted_and_made_again_has_another_move(looks: Looks) -> None:
    looks(FIRST, UNION._replace(topic_id="a"))
    before = looks.book.records[T0].id
    assert looks(FIRST, UNION._replace(topic_id="b")) == ["move.gone", "move.started"]
    assert looks.events[0].reason == DELETED
    assert looks.book.records[T0].id != before


def test_kr_1_another_target_of_the_same_move_is_a_retarget(looks: Looks) -> None:
    looks(FIRST, UNION)
    before = looks.book.records[T0].id
    assert looks(PartitionReassignment((1, 4, 2, 3), (4,), (2, 3)), UNION) == ["move.retargeted"]
    assert (looks.book.records[T0].id, looks.book.records[T0].terms.target) == (before, (1, 4))


BACK = PartitionReassignment((1, 2, 3), (3,), (3,))
"""What Kafka 4.3 makes of `FIRST` after the target [1, 2], and never ends: only a cancel does."""


def test_kr_3_a_move_back_to_the_original_replicas_that_is_cancelled_is_not_completed(looks: Looks) -> None:
    looks(FIRST, UNION)
    assert looks(BACK, Standing((1, 2, 3))) == ["move.retargeted"]
    assert [looks(None, OLD), looks(None, OLD)] == [[], ["move.cancelled"]]
    assert looks.events[0].replicas == (1, 2)


def test_kr_3_nor_is_it_where_watch_comes_later_or_another_move_follows_at_once(looks: Looks) -> None:
    looks(BACK, Standing((1, 2, 3)))
    assert looks(FIRST, UNION) == ["move.cancelled", "move.started"]
    later = Looks()
    later(BACK, Standing((1, 2, 3)))
    assert [later(None, OLD), later(None, OLD)] == [[], ["move.cancelled"]]


def test_kr_1_a_move_that_follows_between_two_looks_is_another_one(looks: Looks) -> None:
    looks(FIRST, UNION)
    before = looks.book.records[T0].id
    assert looks(PartitionReassignment((1, 4, 3), (4,), (3,)), UNION) == ["move.completed", "move.started"]
    after = looks.book.records[T0].id
    assert before is not None
    assert after is not None
    assert after > before


def test_kr_1_ids_of_our_own_servers_tell_moves_apart(looks: Looks) -> None:
    looks(PartitionReassignment((1, 3, 2), (3,), (2,), id=7), UNION)
    assert looks(PartitionReassignment((1, 3, 2), (3,), (2,), id=9), UNION) == ["move.cancelled", "move.started"]
    assert looks.book.records[T0].id == 9
