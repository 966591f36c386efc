"""Topics with one id: which is served, which are left alone, and when they are taken up again."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.core.writers.topic_facts import TopicsFound, UnreadableGone
from tests.core.build import TOPIC, TOPIC_ID, cluster, learn, not_moving

X, Y, Z = UUID(int=101), UUID(int=102), UUID(int=103)


def topic(name: str, id_: UUID | None, *, created: int = 5, version: int = 0) -> Topic:
    return Topic(name, id_, {0: not_moving(1, 2)}, version, created=created)


def left_alone(*topics: Topic, holders: Mapping[UUID, str] | None = None) -> dict[str, str]:
    steps = duplicate_topic_ids.find(topics, holders or {})
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return {name: twin.first for name, twin in end.value.items()}


def knows(*topics: Topic) -> Cluster:
    """A cluster that has read these topics, one after the other."""
    made = cluster(not_moving(1))
    for one in topics:
        read(made, one)
    return made


def read(here: Cluster, *topics: Topic) -> None:
    learn(here, TopicsFound({one.name: one for one in topics}, {}, {}))


def ids(here: Cluster) -> dict[str, UUID | None]:
    return {name: one.id for name, one in here.topics.items() if name != TOPIC}


@pytest.mark.parametrize(
    ("topics", "holders", "expected"),
    [
        ([topic("a", X), topic("b", Y), topic("c", None), topic("d", None)], {}, {}),
        ([topic("a", X, created=9), topic("b", X, created=4)], {}, {"a": "b"}),
        ([topic("b", X, created=4), topic("a", X, created=9), topic("c", X, created=1)], {}, {"a": "c", "b": "c"}),
        ([topic("b", X), topic("a", X)], {}, {"b": "a"}),  # one transaction has created both
        ([topic("a", X, created=9), topic("b", X, created=4)], {X: "a"}, {"b": "a"}),
        ([topic("a", X, created=9), topic("b", X, created=4)], {X: "gone", Y: "a"}, {"a": "b"}),
    ],
)  # fmt: skip
def test_sv_4_of_topics_with_one_id_the_one_that_had_it_first_is_served(
    topics: list[Topic], holders: dict[UUID, str], expected: dict[str, str]
) -> None:
    assert left_alone(*topics, holders=holders) == expected


def test_sv_4_a_topic_that_comes_with_a_known_id_is_left_alone_though_its_znode_is_older() -> None:
    here = knows(topic("a", X, created=9))
    read(here, topic("b", X, created=4))
    assert ids(here) == {"a": X}
    assert here.topic_names == {X: "a", TOPIC_ID: TOPIC}
    assert here.twins["b"].first == "a"
    assert "topic a, which had it first" in here.unreadable["b"]
    assert not duplicate_topic_ids.freed(here)


def test_sv_4_a_known_topic_that_gets_anothers_id_keeps_what_is_known_of_it_until_it_has_its_own_again() -> None:
    here = knows(topic("a", X), topic("b", Y))
    read(here, topic("b", X, version=1))
    assert ids(here) == {"a": X, "b": Y}
    assert [*here.twins] == [*here.unreadable] == ["b"]
    read(here, topic("b", Y, version=2))
    assert (here.twins, here.unreadable, here.topics["b"].version) == ({}, {}, 2)


def test_sv_4_topics_that_change_their_ids_for_each_others_are_no_twins() -> None:
    here = knows(topic("a", X), topic("b", Y))
    read(here, topic("a", Y, version=1), topic("b", X, version=1))
    assert ids(here) == {"a": Y, "b": X}
    assert here.topic_names == {Y: "a", X: "b", TOPIC_ID: TOPIC}
    # One is read first: it waits for the other, which frees it.
    here = knows(topic("a", X), topic("b", Y))
    read(here, topic("a", Y, version=1))
    assert [*here.twins] == ["a"]
    read(here, topic("b", X, version=1))
    assert duplicate_topic_ids.freed(here) == ["a"]
    read(here, topic("a", Y, version=1))
    assert (ids(here), here.twins) == ({"a": Y, "b": X}, {})


def test_sv_4_a_topic_is_free_once_no_other_has_its_id() -> None:
    here = knows(topic("a", X), topic("b", X), topic("c", X))
    assert [*here.twins] == ["b", "c"]
    read(here, topic("a", Z, version=1))
    assert duplicate_topic_ids.freed(here) == ["b", "c"]
    read(here, topic("b", X))
    assert not duplicate_topic_ids.freed(here)
    read(here, topic("c", X))
    assert ids(here) == {"a": Z, "b": X}
    assert here.twins["c"].first == "b"


def test_sv_4_one_that_becomes_unreadable_or_is_gone_is_no_twin() -> None:
    here = knows(topic("a", X), topic("b", X))
    learn(here, TopicsFound({}, {"b": "garbage"}, {}))
    assert (here.twins, here.unreadable) == ({}, {"b": "garbage"})
    read(here, topic("b", X))
    learn(here, UnreadableGone(["b"], here.since - 1))
    assert [*here.twins] == ["b"], "the cluster was read after that"
    learn(here, UnreadableGone(["b"], here.since))
    assert (here.twins, here.unreadable) == ({}, {})


def test_sv_4_topics_are_grouped_by_their_id_with_the_served_one_first() -> None:
    here = knows(topic("b", X), topic("a", X), topic("c", X), topic("d", Y), topic("e", Y))
    assert duplicate_topic_ids.groups(here.twins) == {X: ["b", "a", "c"], Y: ["d", "e"]}
