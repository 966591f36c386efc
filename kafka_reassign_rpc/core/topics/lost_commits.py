"""Which changes of topics ZooKeeper holds after a commit whose answer was lost.

The commands decide again, and would take their own work for that of others: the topic's id shows whose it is.
"""

from uuid import UUID

from kafka_reassign_rpc.core.round.round_view import PartitionsAdded, TopicCreated
from kafka_reassign_rpc.core.state.cluster import Cluster


def is_created(cluster: Cluster, made: TopicCreated) -> bool:
    """The topic may be in deletion already."""
    topic = cluster.topics.get(made.name)
    return topic is not None and topic.id == made.id


def has_added(cluster: Cluster, topic_id: UUID | None, made: PartitionsAdded) -> bool:
    topic = cluster.topics.get(made.name)
    if topic is None or topic.id != topic_id:
        return False
    found = topic.partitions
    return all(index in found and found[index].replicas == value.replicas for index, value in made.partitions.items())


def is_in_deletion(cluster: Cluster, topic_id: UUID | None, name: str) -> bool:
    topic = cluster.topics.get(name)
    return topic is not None and topic.id == topic_id and topic.deleting
