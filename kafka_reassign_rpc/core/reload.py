"""The cluster as read again takes the place of the one in memory."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.controller_failover import reassigned_by_others
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.state.cluster import Cluster, Topic, TopicPartition


class Reloaded(NamedTuple):
    """What is not as it was known before: topics that are gone, and partitions whose replicas or moves others have
    changed."""

    gone: list[Topic]
    changed: set[TopicPartition]


def reload(cluster: Cluster, fresh: Cluster, found: Reloaded) -> Iterator[None]:
    """Make `cluster` equal to `fresh`, which was read just now, and keep what no store tells. Yields after each topic.
    `found` collects what has changed."""
    known = cluster.brokers
    fresh.shutting_down = {id_ for id_ in cluster.shutting_down if fresh.brokers.get(id_) == known.get(id_)}
    found.gone.extend(topic for topic in cluster.topics.values() if _is_gone(topic, fresh))
    yield from replay.keep_soft_state(cluster, fresh)
    lost = {topic.name for topic in found.gone}
    changed = found.changed
    for topic, indexes in fresh.moving.items():
        changed.update(
            TopicPartition(topic, index) for index in indexes if fresh.get(topic, index) != cluster.get(topic, index)
        )
        yield
    for name in fresh.topics.keys() & cluster.topics.keys() - lost:
        before = cluster.topics[name].partitions
        changed.update(
            TopicPartition(name, index)
            for index, value in fresh.topics[name].partitions.items()
            if reassigned_by_others(before.get(index), value)
        )
        yield
    changed.update(TopicPartition(name, index) for name in lost for index in fresh.moving.get(name, ()))
    fresh.sizes = {name: size for name, size in cluster.sizes.items() if name.topic not in lost}
    # Reports about the queue are not repeated. Memory knows more of the batch than its znode says.
    fresh.queue.reported = cluster.queue.reported
    if fresh.batch is not None and cluster.batch is not None and fresh.batch.changed == cluster.batch.changed:
        fresh.batch = replace(cluster.batch, occupied=fresh.batch.occupied)
    # A cancel znode that has children stays: one that was carried out is no cancel of the next batch.
    fresh.cancelled = cluster.cancelled
    if fresh.cancel_all is not None and fresh.cancel_all.id == fresh.cancelled:
        fresh.cancel_all = None
    for field in cluster.__struct_fields__:
        setattr(cluster, field, getattr(fresh, field))
    for name in lost:
        cluster.queue.orphan(name)


def _is_gone(topic: Topic, fresh: Cluster) -> bool:
    """Whether the topic does not exist any more, or another one of the same name does."""
    now = fresh.topics.get(topic.name)
    return topic.name not in fresh.unreadable if now is None else now.created != topic.created
