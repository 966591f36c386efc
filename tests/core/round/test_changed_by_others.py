"""Which states of a topic that is read again brokers and this controller write, and which are edits of others."""

from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.round.changed_by_others import changed_by_others
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from tests.core.build import not_moving
from tests.tables import for_each

KNOWN = replace(not_moving(1, 2), partition_epoch=5, leader_epoch=3, created=40)
ID, OTHER = UUID(int=1), UUID(int=2)


def topic(*partitions: Partition, id_: UUID | None = ID) -> Topic:
    return Topic("t", id_, dict(enumerate(partitions)))


@for_each(
    "read, is_changed",
    [
        (KNOWN, False),
        (replace(KNOWN, partition_epoch=6, isr=(2,), leader=2, leader_epoch=4), False),
        (replace(KNOWN, partition_epoch=6, replicas=(1, 2, 3)), False),
        (replace(KNOWN, partition_epoch=4), True),
        (replace(KNOWN, partition_epoch=6, leader_epoch=2), True),
        (replace(KNOWN, partition_epoch=6, created=41), True),
        (replace(KNOWN, partition_epoch=6, isr=(9,)), True),
        (replace(KNOWN, partition_epoch=6, isr=()), True),
        (replace(KNOWN, partition_epoch=6, replicas=(2, 3), isr=(2,)), True),
        (replace(KNOWN, partition_epoch=6, replicas=()), True),
    ],
)
def test_hm_2_an_older_or_impossible_state_is_an_edit_and_a_newer_one_is_not(
    read: Partition, *, is_changed: bool
) -> None:
    assert changed_by_others(topic(KNOWN), topic(read)) == ({0: KNOWN} if is_changed else {})


def test_hm_2_what_is_gone_is_changed_and_so_is_all_of_a_topic_that_is_another_one() -> None:
    second = replace(KNOWN, leader=2)
    known = topic(KNOWN, second)
    assert changed_by_others(known, topic(KNOWN)) == {1: second}
    assert changed_by_others(known, topic(KNOWN, second, id_=None)) == {}, "an id that is not read yet"
    for read in (None, topic(KNOWN, second, id_=OTHER)):
        assert changed_by_others(known, read) == {0: KNOWN, 1: second}


def test_hm_2_a_partition_that_has_no_state_yet_cannot_have_an_older_one() -> None:
    without_state = replace(KNOWN, partition_epoch=-1)
    assert changed_by_others(topic(without_state), topic(replace(KNOWN, isr=()))) == {}
    assert changed_by_others(topic(without_state), topic()) == {0: without_state}
    first = replace(KNOWN, partition_epoch=0)
    assert changed_by_others(topic(first), topic(replace(first, isr=()))) == {0: first}
