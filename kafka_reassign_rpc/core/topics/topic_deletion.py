"""Deletion of topics: whether a topic may be deleted, and which replicas have to confirm it first.

Sources: ZkAdminManager.deleteTopics, TopicDeletionManager.
"""

from collections.abc import Collection, Iterator, Sequence

from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut, TopicDeletionDisabled, UnknownTopicOrPartition
from kafka_reassign_rpc.core.round.round_view import RoundView, TopicDeletionStarted
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.topics import own_replicas

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
    (`own_replicas`).
    """
    topic = cluster.topics.get(name)
    if topic is None:
        return
    for index, partition in topic.partitions.items():
        for replica in partition.replicas:
            is_server = replica == own_id or cluster.is_server(replica)
            has_log = not is_server or own_replicas.is_of_broker(cluster, partition, replica)
            if has_log and (index, replica) not in confirmed:
                yield index, replica
        for replica in partition.pending_deletion:
            if replica in cluster.brokers and (index, replica) not in confirmed:
                yield index, replica


def possible_strays(cluster: Cluster, name: str, confirmed: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(partition, broker) of logs that a topic in deletion may have on brokers without a replica of it now.

    A broker that was away when its replica was dropped, and so registered after the topic's creation, still has the
    log. A deletion does not wait for these, since such a log refuses a new topic of the name. If an earlier topic of
    the name vanished without a mark, the log may be that one's, and stays.
    """
    topic = cluster.topics.get(name)
    returned = () if topic is None or cluster.soft.former.has_other(topic) else returned_since(cluster, topic)
    for index, partition in list(topic.partitions.items()) if topic is not None and returned else ():
        for broker in returned:
            if broker not in partition.replicas and (index, broker) not in confirmed:
                yield index, broker


def returned_since(cluster: Cluster, topic: Topic) -> Sequence[int]:
    return [broker.id for broker in cluster.brokers.values() if 0 <= topic.created < broker.epoch]
