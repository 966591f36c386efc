"""What a mark in `/admin/delete_topics` means: see KafkaController.processTopicDeletion.

Anybody can write a mark. While it is not known whether the brokers allow deletions (`delete.topic.enable`), the topic
of a mark stays as it is. Its partitions without a state get none, and no command finds them: a stock controller may
have begun to delete the topic's znodes, and a new state would bring the partition back. A mark that a controller of
this product has written for a DeleteTopics that it accepted says so: then the topic stays out of the clients' sight, as
they were told, but nothing of it is deleted yet.
"""

from enum import Enum, auto
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Topic


class DeletionMark(NamedTuple):
    """A mark as it was read.

    created     its czxid
    accepted    a controller of this product has written it for a DeleteTopics that it accepted
    """

    created: int
    accepted: bool


class Meaning(Enum):
    """STALE: the mark goes, and the topic stays, if there is one. WAITS: it is left alone until more is known.
    IN_DELETION: clients do not see the topic; where deletion is enabled, its replicas are deleted."""

    STALE = auto()
    WAITS = auto()
    IN_DELETION = auto()


def meaning(topic: Topic | None, mark: DeletionMark, enabled: bool | None) -> Meaning:
    """What the mark means for the topic of its name. `enabled`: `delete.topic.enable`, None where it is not known."""
    if topic is None or enabled is False or not is_marked(topic, mark.created):
        return Meaning.STALE
    return Meaning.IN_DELETION if enabled or mark.accepted else Meaning.WAITS


def is_marked(topic: Topic, mark: int) -> bool:
    """Whether a mark in `/admin/delete_topics` is about this topic; `mark`: its czxid.

    An older mark is about an earlier topic of the same name. (Kafka deletes any topic that has the name of a mark.)
    """
    return mark > topic.created
