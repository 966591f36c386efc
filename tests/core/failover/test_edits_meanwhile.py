"""What brokers prove about edits while no controller ran, and what they do not."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.failover.edits_meanwhile import (
    MOST_PARTITIONS,
    MOST_WRITTEN,
    Edits,
    Told,
    is_as_stored,
    keep_ids,
)
from kafka_reassign_rpc.core.failover.edits_meanwhile import proven as steps_of_proven
from kafka_reassign_rpc.core.failover.edits_meanwhile import to_ask_about as steps_of_to_ask_about
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.support.turns import Steps
from tests.core.build import TOPIC, TOPIC_ID, cluster, not_moving

T = TypeVar("T")
OTHER = UUID(int=8)
SINCE = 50
NAME = TopicPartition(TOPIC, 0)


def done(steps: Steps[T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def to_ask_about(here: Cluster, written: Mapping[str, int], since: int) -> list[str]:
    return done(steps_of_to_ask_about(here, written, since))


def proven(here: Cluster, said: Sequence[Told], since: int) -> Edits:
    return done(steps_of_proven(here, said, since))


def told(
    broker: int = 1, id_: UUID | None = TOPIC_ID, leader: int = 1, epoch: int = 5, name: TopicPartition = NAME
) -> Told:
    return Told(broker, {} if id_ is None else {TOPIC: id_}, {name: (leader, epoch)})


def test_hm_2_brokers_are_asked_only_about_topics_without_an_id_and_those_written_since_the_last_mark() -> None:
    here = cluster(not_moving(1, 2))
    for number, name in enumerate(("old", "late", "later", "deleted")):
        put_topic(here, name, UUID(int=100 + number), {0: not_moving(1)}, version=0, deleting=name == "deleted")
    put_topic(here, "none", None, {0: not_moving(1)}, version=0)
    written = {TOPIC: 7, "old": SINCE, "late": SINCE + 1, "later": SINCE + 2, "deleted": 90, "none": 3}
    assert to_ask_about(here, written, SINCE) == ["none", "later", "late"]


def test_hm_2_brokers_are_asked_about_few_of_the_partitions_that_were_written_the_last_first() -> None:
    """A controller that dies with thousands of moves has written all of them; no edit is older."""
    here = cluster(not_moving(1, 2))
    for number in range(MOST_WRITTEN):
        put_topic(here, f"{number}", UUID(int=1000 + number), {0: not_moving(1), 1: not_moving(1)}, version=0)
    written = {f"{number}": 100 + number for number in range(MOST_WRITTEN)}
    assert to_ask_about(here, written, SINCE) == [f"{MOST_WRITTEN - 1 - late}" for late in range(MOST_WRITTEN // 2)]
    put_topic(here, "large", OTHER, dict.fromkeys(range(MOST_WRITTEN + 1), not_moving(1)), version=0)
    assert to_ask_about(here, {"large": 90_000, "0": 60}, SINCE) == ["0"]


def test_hm_2_topics_without_an_id_have_more_room_and_the_first_of_them_any() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, "none", None, dict.fromkeys(range(MOST_PARTITIONS), not_moving(1)), version=0)
    put_topic(here, "late", OTHER, {0: not_moving(1)}, version=0)
    assert to_ask_about(here, {"none": 3, "late": 60}, SINCE) == ["none"]
    put_topic(here, "larger", None, dict.fromkeys(range(MOST_PARTITIONS + 1), not_moving(1)), version=0)
    assert to_ask_about(here, {"none": 3, "larger": 4}, SINCE) == ["larger"]
    assert to_ask_about(here, {"none": 4, "larger": 3}, SINCE) == ["none"]


def test_hm_2_one_broker_is_enough_that_knows_all_topics_by_the_ids_that_they_have() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, "none", None, {0: not_moving(1)}, version=0)
    assert is_as_stored(here, [TOPIC], told())
    assert not is_as_stored(here, [TOPIC], told(id_=OTHER))
    assert not is_as_stored(here, [TOPIC], told(id_=None)), "it has started since"
    assert not is_as_stored(here, [TOPIC, "none"], told()), "an id is to be found on which all agree"


def test_hm_2_a_topic_gets_back_an_id_on_which_all_brokers_agree_and_that_no_other_topic_has() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, TOPIC, None, {0: not_moving(1, 2)}, version=3)
    assert proven(here, [], SINCE).lost == {}
    assert proven(here, [told(id_=None)], SINCE).lost == {}
    assert proven(here, [told(1), told(2, OTHER)], SINCE).lost == {}
    found = proven(here, [told(1), told(2, None)], SINCE)
    assert found.lost == {TOPIC: TOPIC_ID}
    for _ in keep_ids(here, found.lost):
        pass
    assert here.soft.former.id_of(TOPIC) == TOPIC_ID
    put_topic(here, "u", TOPIC_ID, {0: not_moving(1)}, version=0)
    assert proven(here, [told(1)], SINCE).lost == {}


def test_hm_2_a_topic_that_no_controller_has_had_gets_no_id_of_another_that_had_its_name() -> None:
    """Under that its leader epochs would fall: brokers would go on with what they have, and clients too."""
    here = cluster(not_moving(1, 2))
    new = replace(not_moving(1, 2), partition_epoch=-1)
    put_topic(here, TOPIC, None, {0: new, 1: new}, version=0)
    assert proven(here, [told()], SINCE).lost == {}
    put_topic(here, TOPIC, None, {0: new, 1: not_moving(1, 2)}, version=0)
    assert proven(here, [told()], SINCE).lost == {TOPIC: TOPIC_ID}


def test_hm_2_an_id_was_edited_only_where_the_znode_is_as_old_as_what_brokers_know() -> None:
    here = cluster(not_moving(1, 2))
    here.topics[TOPIC].created = SINCE
    here.topics[TOPIC].id_since = SINCE + 1
    (edited,) = proven(here, [told(1, OTHER), told(2, OTHER)], SINCE).edited
    assert (edited.topic, edited.now, edited.known, edited.brokers) == (TOPIC, TOPIC_ID, OTHER, [1, 2])
    assert proven(here, [told(1, OTHER), told(2)], SINCE).edited == [], "one of them has not heard of this topic"
    assert proven(here, [told()], SINCE).edited == []
    here.topics[TOPIC].id_since = SINCE
    assert proven(here, [told(1, OTHER)], SINCE).edited == [], "a state was written: the broker knows an earlier topic"
    here.topics[TOPIC].created = here.topics[TOPIC].id_since = SINCE + 1
    assert proven(here, [told(1, OTHER)], SINCE).edited == [], "a topic that was created again"


def test_hm_2_a_leader_was_edited_where_a_broker_knows_another_in_the_same_epoch_of_the_same_topic() -> None:
    here = cluster(not_moving(1, 2, leader=2))
    assert proven(here, [told(leader=2), told(2, leader=1)], SINCE).leaders == {NAME}
    assert proven(here, [told(leader=2)], SINCE).leaders == set()
    assert proven(here, [told(epoch=4)], SINCE).leaders == set(), "it has missed the election"
    assert proven(here, [told(leader=NO_LEADER)], SINCE).leaders == set(), "it knows that the leader is away"
    assert proven(here, [told(id_=OTHER)], SINCE).leaders == set()
    assert proven(here, [told(name=TopicPartition(TOPIC, 9))], SINCE).leaders == set()
    put_topic(here, TOPIC, TOPIC_ID, {0: replace(not_moving(1, 2, leader=2), partition_epoch=-1)}, version=3)
    assert proven(here, [told()], SINCE).leaders == set(), "it gets its first state"
