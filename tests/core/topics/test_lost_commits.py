"""A topic that is there after a lost commit is our own only if it has our id."""

from uuid import UUID

from kafka_reassign_rpc.core.round.round_view import PartitionsAdded, TopicCreated
from kafka_reassign_rpc.core.topics.topic_changes import has_added, is_created, is_in_deletion
from kafka_reassign_rpc.core.writers.topic_writes import begin_deletion
from tests.core.build import TOPIC, TOPIC_ID, cluster, not_moving

OTHER_ID = UUID(int=8)


def test_sv_3_a_topic_of_the_same_name_with_another_id_is_not_our_own() -> None:
    here = cluster(not_moving(1, 2), not_moving(2, 3))
    partitions = {1: not_moving(2, 3)}

    assert is_created(here, TopicCreated(TOPIC, TOPIC_ID, partitions, {}))
    assert not is_created(here, TopicCreated(TOPIC, OTHER_ID, partitions, {}))
    assert not is_created(here, TopicCreated("nowhere", TOPIC_ID, partitions, {}))
    assert has_added(here, TOPIC_ID, PartitionsAdded(TOPIC, partitions))
    assert not has_added(here, OTHER_ID, PartitionsAdded(TOPIC, partitions))
    assert not has_added(here, TOPIC_ID, PartitionsAdded(TOPIC, {1: not_moving(3, 2)}))
    assert not has_added(here, TOPIC_ID, PartitionsAdded(TOPIC, {2: not_moving(2, 3)}))
    assert not is_in_deletion(here, TOPIC_ID, TOPIC)
    begin_deletion(here, TOPIC)
    assert is_in_deletion(here, TOPIC_ID, TOPIC)
    assert not is_in_deletion(here, OTHER_ID, TOPIC)
    assert is_created(here, TopicCreated(TOPIC, TOPIC_ID, partitions, {}))
