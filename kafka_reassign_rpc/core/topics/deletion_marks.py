"""What a mark in `/admin/delete_topics` means (KafkaController.processTopicDeletion).

While `delete.topic.enable` is unknown, a marked topic stays, its partitions without a state get none, and no command
finds them: a stock controller may have begun to delete its znodes, and a new state would bring a partition back. If a
controller of ours accepted a DeleteTopics, its mark says so: then clients do not see the topic, as its answer has
promised.
"""

from enum import Enum, auto
from typing import NamedTuple

from kafka_reassign_rpc.core.state.topic import Topic


class DeletionMark(NamedTuple):
    """`created`: its czxid. `accepted`: a controller of ours wrote it for a DeleteTopics."""

    created: int
    accepted: bool


class Meaning(Enum):
    """STALE: the mark goes and the topic, if any, stays. WAITS: nothing happens until more is known. IN_DELETION:
    clients do not see the topic, and its replicas are deleted if deletion is enabled.
    """

    STALE = auto()
    WAITS = auto()
    IN_DELETION = auto()


def meaning(topic: Topic | None, mark: DeletionMark, enabled: bool | None) -> Meaning:
    """`enabled`: `delete.topic.enable`, None if unknown."""
    if topic is None or enabled is False or not is_marked(topic, mark.created):
        return Meaning.STALE
    return Meaning.IN_DELETION if enabled or mark.accepted else Meaning.WAITS


def is_marked(topic: Topic, mark: int) -> bool:
    """Whether a mark (its czxid) is about this topic, not an earlier one of its name. (Kafka deletes any topic with the
    name.)
    """
    return mark > topic.created
