"""The cluster from look to look: what was read of all topics stays, moving topics are put in as they are now, and lost
brokers have the time at which they were first missed.
"""

from collections.abc import Iterable, Iterator, Sequence

from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.stock_cluster import Listed, Records, brokers_of, cluster_of, put_described, put_listed
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import remove_topic
from kafka_reassign_rpc.watch.move_book import Standing


def in_flight(listed: Listed) -> Listed:
    """What waiting moves wait for, and who has asked for them, only the controller knows."""
    return {name: move for name, move in listed.items() if not move.is_waiting}


def told_of(topics: Iterable[TopicInfo]) -> dict[TopicPartition, Standing | None]:
    return {
        TopicPartition(topic.name, index): Standing(found.replicas, topic.topic_id)
        for topic in topics
        if topic.error is None
        for index, found in topic.partitions.items()
    }


def missing(topics: Sequence[TopicInfo], names: Iterable[TopicPartition]) -> dict[TopicPartition, None]:
    """A broker says that these do not exist. A topic without an answer is not among them."""
    found = {topic.name: topic for topic in topics}
    return {
        name: None
        for name in names
        if (topic := found.get(name.topic)) is not None
        and (
            isinstance(topic.error, UnknownTopicOrPartition)
            or (topic.error is None and name.partition not in topic.partitions)
        )
    }


def refused(topics: Sequence[TopicInfo], before: Iterable[str]) -> frozenset[str]:
    """Topics that this principal may not describe, and others that no broker names. An answer about all topics leaves
    them out without a word: those of `before` that it does not have are refused still.
    """
    named = {topic.name for topic in topics}
    return frozenset(one for one in before if one not in named) | {
        topic.name
        for topic in topics
        if topic.error is not None and not isinstance(topic.error, UnknownTopicOrPartition)
    }


def made_new(
    former: Cluster | None,
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    listed: Listed,
    records: Records,
    at: int,
) -> Cluster:
    """After a look at all topics."""
    cluster = cluster_of(nodes, topics, listed, records)
    if former is not None:
        cluster.soft = former.soft
        cluster.topic_configs, cluster.broker_configs = former.topic_configs, former.broker_configs
        cluster.derive_settings()
    _date_losses(cluster, former, at)
    return cluster


def brought_up_to_date(
    cluster: Cluster,
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    listed: Listed,
    records: Records,
    at: int,
) -> Iterator[None]:
    """After a look at these topics alone. Others see the cluster between the steps."""
    cluster.brokers = brokers_of(nodes)
    cluster.failed = {one: since for one, since in cluster.failed.items() if one not in cluster.brokers}
    before = dict(cluster.failed)
    untold = set()
    for topic in topics:
        yield
        if topic.error is None:
            put_described(cluster, topic, listed, records)
        elif isinstance(topic.error, UnknownTopicOrPartition):
            remove_topic(cluster, topic.name)
        else:
            untold.add(topic.name)
    yield from put_listed(cluster, listed, records, untold)
    for name in cluster.moving:
        yield
        for partition in cluster.topics[name].partitions.values():
            for broker in partition.replicas:
                if broker not in cluster.brokers:
                    cluster.failed.setdefault(broker, at)
    cluster.failed.update({one: at for one, since in cluster.failed.items() if one not in before and since is None})


def _date_losses(cluster: Cluster, former: Cluster | None, at: int) -> None:
    """At the first look it is unknown since when a broker is lost."""
    if former is not None:
        cluster.failed = {one: former.failed.get(one, at) for one in cluster.failed}


def at_rest(cluster: Cluster | None, listed: Listed) -> dict[TopicPartition, Sequence[int]]:
    """Replicas in the order that was seen before they moved."""
    if cluster is None:
        return {}
    seen = {name: cluster.get(*name) for name in listed}
    return {name: one.replicas for name, one in seen.items() if one is not None and not one.is_moving}


def with_replicas(topics: Iterable[TopicInfo]) -> set[int]:
    return {one for topic in topics for partition in topic.partitions.values() for one in partition.replicas}
