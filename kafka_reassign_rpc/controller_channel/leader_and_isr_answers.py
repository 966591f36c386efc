"""Which replicas of a broker are in a failed log dir, or have the log of another topic, by its LeaderAndIsr answer."""

import struct
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.kafka_errors import InconsistentTopicId, KafkaStorageError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.decoder_source import skip_tags, varint
from kafka_reassign_rpc.protocol.frame_errors import Truncated
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrResponse

REFUSALS = (KafkaStorageError.code, InconsistentTopicId.code)
"""Errors that say something about a replica. Others do not: STALE_CONTROLLER_EPOCH, say, is also the answer to a leader
epoch that the broker has seen already."""


_ENTRY = struct.Struct(">ihB")
"""Partition index, error code, number of tagged fields."""


class HostedReplica(NamedTuple):
    """`topic_id`: the one that the broker means, if topics have ids."""

    name: TopicPartition
    topic_id: UUID | None


def errors(answer: LeaderAndIsrResponse, cluster: Cluster) -> Iterator[tuple[HostedReplica, int]]:
    """Error codes of replicas that the broker hosts or should host: 0 or one of `REFUSALS`."""
    codes = (0, *REFUSALS)
    for topic in answer.topics or ():
        name = None if topic.topic_id is None else cluster.topic_names.get(topic.topic_id)
        if name is not None:
            for one in topic.partition_errors:
                if one.error_code in codes:
                    yield HostedReplica(TopicPartition(name, one.partition_index), topic.topic_id), one.error_code


def refusals(body: bytes, cluster: Cluster) -> Generator[None, None, list[tuple[HostedReplica, int]]]:
    """From the answer to a complete request. Its entries, one for each replica of the broker, are too many to decode in
    one turn of the event loop. Raises a RemoteProtocolError.
    """
    try:
        return (yield from _refusals(body, cluster))
    except (IndexError, ValueError, struct.error) as error:
        raise Truncated(f"LeaderAndIsr answer: {error}") from error


def _refusals(body: bytes, cluster: Cluster) -> Generator[None, None, list[tuple[HostedReplica, int]]]:
    found: list[tuple[HostedReplica, int]] = []
    topics, at = _count(body, 2)
    for _ in range(topics):
        topic_id = UUID(bytes=body[at : at + 16])
        name = cluster.topic_names.get(topic_id)
        entries, at = _count(body, at + 16)
        for _ in range(entries):
            index, code, tags = _ENTRY.unpack_from(body, at)
            at += _ENTRY.size
            if tags:
                at = skip_tags(body, at - 1)
            if code in REFUSALS and name is not None:
                found.append((HostedReplica(TopicPartition(name, index), topic_id), code))
            yield
        at = skip_tags(body, at)
    return found


def may_be_replaced(
    replica: HostedReplica, broker: int, cluster: Cluster, elected: int, *, has_proof: Callable[[], bool]
) -> bool:
    """Whether the broker's log, which is not of the present topic of its name, may be deleted for a new replica.

    Such a log is of a deleted topic: the replica was dropped while the broker was away. (Kafka's controller leaves it,
    and the broker refuses the new replica from then on.) If partition and topic id are of this term, it was never this
    partition's. Otherwise it may be the right one: somebody restored ZooKeeper, or wrote the znode without the id. Then
    an in-sync replica is not replaced, and another only with proof. So too if a topic of the name has vanished without
    a deletion mark: the log may be of that one.

    elected    the zxid of this controller's election
    has_proof  another broker has accepted the topic's id for its in-sync replica
    """
    topic = cluster.topics.get(replica.name.topic)
    value = _hosted(replica, cluster)
    if topic is None or value is None or broker not in value.replicas:
        return False
    if cluster.soft.broker_settings.delete_topic_enable is False:
        return False
    if _has_its_first_id(topic, value, elected) and not cluster.soft.former.has_other(topic):
        return True
    return broker not in (*value.isr, value.leader) and has_proof()


def in_sync_elsewhere(replica: HostedReplica, broker: int, cluster: Cluster) -> list[int]:
    value = _hosted(replica, cluster)
    if value is None:
        return []
    return [other for other in value.isr if other != broker and cluster.is_online(other, value)]


def cannot_be_in_sync(replica: HostedReplica, broker: int, cluster: Cluster) -> bool:
    """Whether the replica counts as in sync though its broker has refused it and never had a record of this topic: it
    was registered before the partition was created. (After somebody has restored ZooKeeper, every registration is newer
    than the restored partitions.)
    """
    value = _hosted(replica, cluster)
    registered = cluster.brokers.get(broker)
    return (
        value is not None
        and registered is not None
        and value.created >= registered.epoch
        and broker in value.isr
        and broker not in value.offline
    )


def _hosted(replica: HostedReplica, cluster: Cluster) -> Partition | None:
    topic = cluster.topics.get(replica.name.topic)
    if topic is None or topic.deleting or replica.topic_id is None or topic.id != replica.topic_id:
        return None
    return topic.partitions.get(replica.name.partition)


def _has_its_first_id(topic: Topic, value: Partition, elected: int) -> bool:
    return value.created > elected and (topic.id_since == topic.created or topic.id_since < value.created)


def _count(body: bytes, at: int) -> tuple[int, int]:
    length, at = varint(body, at)
    return length - 1, at
