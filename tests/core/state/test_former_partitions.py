"""What a term knows of partitions that others have taken out of ZooKeeper, or have put back there."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.round.changed_by_others import UNKNOWN_CHANGES
from kafka_reassign_rpc.core.state import cluster
from kafka_reassign_rpc.core.state.cluster import FormerPartitions
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.writers.reload import mark_put_back
from tests.core.build import TOPIC, made, not_moving, view


def topic(name: str, *partitions: Partition, id_: int = 1) -> Topic:
    return Topic(name, UUID(int=id_), dict(enumerate(partitions)))


def test_hm_2_of_some_partitions_that_appear_in_a_round_the_epochs_rise_by_much_and_each_round_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "MOST_APPEARED", 3)
    former = FormerPartitions()
    one, two = topic("one"), topic("two")

    def noted() -> list[tuple[str, int]]:
        return [(known.name, index) for known in (one, two) for index in range(3) if former.is_put_back(known, index)]

    for _ in range(2):
        former.decided({})
        former.appeared(one, [0, 2])
        former.appeared(two, [0, 1, 2])
        assert noted() == [("one", 0), ("one", 2), ("two", 0)]
    former.decided({})
    assert noted() == []


def test_hm_2_a_state_of_which_no_former_one_is_known_keeps_its_leader_and_gets_higher_epochs() -> None:
    here = view(not_moving(1, 2), not_moving(1, 2))
    known = here.cluster.topics[TOPIC]
    here.cluster.soft.former.appeared(known, [0])
    before = known.partitions[0]
    now = made(fail_over(here, TOPIC, 0))
    assert now == replace(
        before,
        leader_epoch=before.partition_epoch + UNKNOWN_CHANGES // 2 + 1,
        partition_epoch=before.partition_epoch + UNKNOWN_CHANGES + 1,
    )
    assert fail_over(here, TOPIC, 1) == []


def test_hm_2_a_former_state_that_is_known_says_more_than_that_a_topic_has_appeared() -> None:
    here = view(replace(not_moving(1, 2), created=9))
    known = here.cluster.topics[TOPIC]
    before = replace(known.partitions[0], leader=2, isr=(2,), created=5)
    here.cluster.soft.former.keep(known, {0: before})
    here.cluster.soft.former.appeared(known, [0])
    now = made(fail_over(here, TOPIC, 0))
    assert (now.leader, now.isr) == (2, (2,))
    assert now.partition_epoch == before.partition_epoch + 1


def test_hm_2_a_new_term_notes_states_that_have_fewer_versions_than_leader_epochs() -> None:
    """Each leader epoch was a write of the state: such a znode was put back."""
    here = view(
        replace(not_moving(1, 2), leader_epoch=4, partition_epoch=3),
        replace(not_moving(1, 2), leader_epoch=4, partition_epoch=4),
        Partition((1, 2)),
    ).cluster
    for _ in mark_put_back(here):
        pass
    assert [here.soft.former.is_put_back(here.topics[TOPIC], index) for index in range(3)] == [True, False, False]


def test_hm_2_a_state_that_was_put_back_has_had_as_many_changes_as_leader_epochs_and_some_more() -> None:
    """Or another term would find fewer versions than leader epochs again."""
    here = view(replace(not_moving(1, 2), leader_epoch=350, partition_epoch=1))
    here.cluster.soft.former.appeared(here.cluster.topics[TOPIC], [0])
    now = made(fail_over(here, TOPIC, 0))
    assert (now.leader_epoch, now.partition_epoch) == (350 + UNKNOWN_CHANGES // 2 + 1, 350 + UNKNOWN_CHANGES + 1)


def test_hm_2_what_is_kept_stays_until_a_round_has_decided_about_that_very_partition() -> None:
    former = FormerPartitions()
    old, newer = not_moving(1, 2), replace(not_moving(1, 2), partition_epoch=99)
    known = topic("t", old, old, old)
    former.keep(known, {0: old, 1: old, 2: old})
    former.keep(known, {0: newer})
    assert former.of(known)[0] is old, "nothing was decided between the two"
    assert former.id_of("t") == known.id
    back = replace(topic("t", newer, newer), unreadable={1: "no JSON"})
    former.decided({"t": back})
    assert former.of(known).keys() == {1, 2}
    former.decided({"t": replace(topic("t", newer, newer, newer), id=UUID(int=2))})
    assert former.of(known).keys() == {1, 2}, "another topic of the name decides nothing about it"
    former.decided({"t": topic("t", newer, newer, newer)})
    assert (former.of(known), former.id_of("t")) == ({}, None)


def test_hm_2_a_topic_restored_without_an_id_is_the_same_and_one_with_another_id_is_another() -> None:
    former = FormerPartitions()
    known = topic("t", not_moving(1, 2))
    former.keep(known, known.partitions)
    nameless, other = replace(known, id=None), replace(known, id=UUID(int=2))
    assert former.of(nameless) == former.of(known) == known.partitions
    assert former.of(other) == {}
    assert [former.has_other(one) for one in (known, other, topic("u"))] == [False, True, False]
    assert former.of_other(known, 0) is None
    assert former.of_other(other, 0) is known.partitions[0]
    former.keep(other, {})
    assert former.of(known) == {}, "the vanished topic with another id is given up"


def test_hm_2_beyond_a_number_of_partitions_the_topics_that_vanished_first_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "MOST_FORMER", 5)
    former = FormerPartitions()
    topics = [topic(name, *[not_moving(1, 2)] * 2) for name in "abcd"]
    for one in topics:
        former.keep(one, one.partitions)
    assert [len(former.of(one)) for one in topics] == [0, 0, 2, 2]
    assert dict(former.unreported({})) == {"c": 2, "d": 2}


def test_hm_2_a_loss_is_reported_with_what_is_still_missing_unless_somebody_has_reported_it() -> None:
    former = FormerPartitions()
    one, two, three = (topic(name, *[not_moving(1, 2)] * 3) for name in ("one", "two", "three"))
    former.keep(one, one.partitions)
    former.keep(two, two.partitions)
    former.keep(three, three.partitions, is_reported=True)
    assert dict(former.unreported({"two": topic("two", not_moving(1, 2))})) == {"one": 3, "two": 2}
    assert dict(former.unreported({"one": one, "two": replace(two, id=UUID(int=9))})) == {"two": 3}
    former.decided({})
    assert dict(former.unreported({})) == {}


def test_hm_2_a_state_that_cannot_be_read_is_kept_and_counts_as_repaired_when_it_can_be_again() -> None:
    former = FormerPartitions()
    known = topic("t", not_moving(1, 2), not_moving(1, 2))
    broken = replace(known, unreadable={0: "no JSON", 5: "no JSON"})
    former.read_again(known, broken)
    assert former.of(known).keys() == {0}
    assert dict(former.unreported({})) == {}, "an unreadable state is reported as such"
    former.read_again(broken, known)
    assert [former.is_repaired(known, index) for index in (0, 1)] == [True, False]


def test_hm_2_a_repaired_state_that_was_never_known_counts_as_put_back_if_there_is_one() -> None:
    former = FormerPartitions()
    known = topic("t", not_moving(1, 2), Partition((1, 2)))
    former.repaired(known, 0)
    former.repaired(known, 1)
    assert [former.is_put_back(known, index) for index in (0, 1)] == [True, False]
    assert not former.is_repaired(known, 0)


def test_hm_2_a_topic_that_has_lost_its_id_is_no_other_one_whenever_it_is_read_again() -> None:
    former = FormerPartitions()
    old = not_moving(1, 2)
    known = topic("t", old, old)
    without_id = replace(known, id=None)
    former.keep(known, {})
    former.keep(without_id, {1: old})
    assert former.id_of("t") == known.id
    assert former.of(without_id) == {1: old}
    assert [*former.unreported({"t": without_id})] == [], "it has not vanished"
    assert [*former.unreported({"t": replace(known, id=UUID(int=2))})] == [("t", 1)]


def test_hm_2_an_id_that_a_topic_has_lost_is_known_until_it_has_one_or_is_gone() -> None:
    known = topic("t", not_moving(1, 2))
    for later, is_known in (
        ({"t": replace(known, id=None)}, True),
        ({"t": known}, False),
        ({"t": replace(known, id=UUID(int=2))}, False),
        ({}, False),
    ):
        former = FormerPartitions()
        former.keep(known, {})
        former.decided(later)
        assert (former.id_of("t") == known.id) is is_known, later
