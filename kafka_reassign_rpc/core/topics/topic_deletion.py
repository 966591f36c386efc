"""Deletion of topics: what a mark in `/admin/delete_topics` means (KafkaController.processTopicDeletion), whether a
topic may be deleted, and which replicas have to confirm it first.

While `delete.topic.enable` is unknown, a marked topic stays, its partitions without a state get none, and no command
finds them: a stock controller may have begun to delete its znodes, and a new state would bring a partition back. If a
controller of ours accepted a DeleteTopics, its mark says so: then clients do not see the topic, as its answer has
promised.

Sources: ZkAdminManager.deleteTopics, TopicDeletionManager.
"""

from collections.abc import Collection, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut, TopicDeletionDisabled, UnknownTopicOrPartition
from kafka_reassign_rpc.core.round.round_view import RoundView, TopicDeletionStarted
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics import missing_replicas


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


DELETION_UNKNOWN = (
    "Nothing is deleted: it is not known whether the brokers allow it, since most of them have not reported their"
    " delete.topic.enable. Try again, or set --delete-topic-enable for this server."
)


def delete_topic(view: RoundView, name: str) -> TopicDeletionStarted:
    """Raises TopicDeletionDisabled if the brokers forbid it, RequestTimedOut if that is unknown."""
    enabled = view.cluster.soft.broker_settings.delete_topic_enable
    if enabled is None:
        raise RequestTimedOut(DELETION_UNKNOWN)
    if not enabled:
        raise TopicDeletionDisabled()
    if view.topic(name) is None:
        raise UnknownTopicOrPartition()
    return TopicDeletionStarted(name)


def replicas_to_delete(
    cluster: Cluster, name: str, confirmed: Collection[tuple[int, int]], own_id: int = -1
) -> Iterator[tuple[int, int]]:
    """(partition, broker) of the replicas of a topic in deletion whose brokers have not confirmed a StopReplica. When
    none is left, its znodes go.

    As in Kafka, a replica on a dead broker is waited for: its log would return with the broker, and a new topic of the
    name would find it; one pending deletion is not. One on a server has no log, unless a broker has its id
    (`missing_replicas`).
    """
    topic = cluster.topics.get(name)
    if topic is None:
        return
    for index, partition in topic.partitions.items():
        for replica in partition.replicas:
            is_server = replica == own_id or cluster.is_server(replica)
            has_log = not is_server or missing_replicas.is_of_broker(cluster, partition, replica)
            if has_log and (index, replica) not in confirmed:
                yield index, replica
        for replica in partition.pending_deletion:
            if replica in cluster.brokers and (index, replica) not in confirmed:
                yield index, replica


def possible_strays(
    topic: Topic, confirmed: Collection[tuple[int, int]], suspected: Mapping[int, Collection[int]]
) -> Iterator[tuple[int, int]]:
    """(partition, broker) of what a topic in deletion may have on the brokers that are `suspected` of these partitions,
    without a replica that is assigned to them. A deletion does not wait for that: such a log refuses a new topic of the
    name.
    """
    for broker, indexes in suspected.items():
        for index in list(indexes):
            partition = topic.partitions.get(index)
            if partition is not None and broker not in partition.replicas and (index, broker) not in confirmed:
                yield index, broker


def suspected_brokers(
    cluster: Cluster, topic: Topic, not_asked: Mapping[int, Collection[int]]
) -> Mapping[int, Collection[int]]:
    """By broker the partitions of a topic in deletion that it may have, whatever is assigned to it.

    One that was away when its replica was dropped, and so registered after the topic's creation, still has the log. Who
    was there may lead or follow what others have taken from it, until it was asked: `not_asked`. If an earlier topic of
    the name vanished without a mark, it may be that one's, and stays.
    """
    if cluster.soft.former.has_other(topic):
        return {}
    returned = [broker.id for broker in cluster.brokers.values() if 0 <= topic.created < broker.epoch]
    return {**not_asked, **dict.fromkeys(returned, topic.partitions.keys())}
