"""Puts topics and partitions, with their indexes, into a `Cluster`."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.reassignment_algebra import LoadedState
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, REVISIONS, Partition, Topic, Twin
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def put_topic(
    cluster: Cluster,
    name: str,
    topic_id: UUID | None,
    partitions: Mapping[int, Partition],
    *,
    version: int,
    extra: Mapping[str, msgspec.Raw] | None = None,
    missing: Mapping[int, int] | None = None,
    unreadable: Mapping[int, str] | None = None,
    deleting: bool = False,
    created: int = -1,
    id_since: int = LAST_ZXID,
    stateless_since: int = -1,
) -> Topic:
    before = cluster.topics.get(name)
    remove_topic(cluster, name, configs=False)
    topic = Topic(
        name=name,
        id=topic_id,
        partitions=dict(partitions),
        version=version,
        extra=dict(extra or {}),
        missing=dict(missing or {}),
        unreadable=dict(unreadable or {}),
        deleting=deleting,
        created=created,
        id_since=id_since,
        stateless_since=stateless_since,
    )
    if before is not None:
        keep_id_since(before, topic)
    add_topic(cluster, topic)
    moving = {index for index, partition in partitions.items() if partition.is_moving}
    if moving:
        cluster.moving[name] = moving
    if not deleting:
        for index in moving:
            cluster.leases.put(name, index, partitions[index].lease)
    return topic


def leave_alone(cluster: Cluster, name: str, reason: str, twin: Twin | None = None) -> None:
    """What is known of the topic holds until the controller must write its znode."""
    cluster.unreadable[name] = reason
    cluster.twins.pop(name, None)
    if twin is not None:
        cluster.twins[name] = twin


def keep_id_since(known: Topic, fresh: Topic) -> None:
    if (known.created, known.id) == (fresh.created, fresh.id):
        fresh.id_since = min(known.id_since, fresh.id_since)


def put_state(cluster: Cluster, name: TopicPartition, state: LoadedState) -> None:
    """A broker has written the state itself."""
    topic = cluster.topics[name[0]]
    value = replace(
        topic.partitions[name[1]],
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )
    put_partition(cluster, topic, name[1], value)


def put_partition(cluster: Cluster, topic: Topic, index: int, partition: Partition) -> None:
    topic.partitions[index] = partition
    topic.revision = next(REVISIONS)
    if not topic.deleting:
        cluster.leases.put(topic.name, index, partition.lease)
    moving = cluster.moving.get(topic.name)
    if partition.is_moving:
        if moving is None:
            moving = cluster.moving[topic.name] = set()
        moving.add(index)
    elif moving is not None:
        moving.discard(index)
        if not moving:
            del cluster.moving[topic.name]


def remove_topic(cluster: Cluster, name: str, *, configs: bool = True) -> None:
    topic = cluster.topics.pop(name, None)
    cluster.moving.pop(name, None)
    cluster.leases.remove(name)
    cluster.unreadable.pop(name, None)
    cluster.twins.pop(name, None)
    if configs:
        cluster.queue.orphan(name)
        cluster.topic_configs.pop(name, None)
        cluster.config_versions.pop((TOPICS, name), None)
        cluster.unreadable_configs -= {(TOPICS, name)}
        cluster.records_with_children = frozenset(
            record for record in cluster.records_with_children if record.topic != name
        )
        for index in topic.partitions if topic is not None and cluster.soft.sizes else ():
            cluster.soft.sizes.pop(TopicPartition(name, index), None)
    if topic is not None and topic.id is not None and cluster.topic_names.get(topic.id) == name:
        del cluster.topic_names[topic.id]


def begin_deletion(cluster: Cluster, name: str) -> None:
    """From now on commands do not find the topic."""
    topic = cluster.topics.get(name)
    if topic is not None:
        topic.deleting = True
        cluster.leases.remove(name)
        cluster.queue.orphan(name)


def add_topic(cluster: Cluster, topic: Topic) -> None:
    cluster.topics[topic.name] = topic
    if topic.id is not None:
        cluster.topic_names[topic.id] = topic.name
