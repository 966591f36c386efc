"""A look at the cluster, with the intents on top: what the loop decides on. Leaders, ISRs and epochs are the cluster's
own; a move that is still to be told is shown as the cluster will list it.
"""

from collections.abc import Generator

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.phases.decided_moves import as_seen
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition
from kafka_reassign_rpc.core.state.topic import topic_id_text
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.ports import Look, LookedTopic


def cluster_of(look: Look, intents: Intents) -> Generator[None, None, Cluster]:
    """Yields after each topic and each waiting move."""
    cluster = Cluster(
        brokers=dict(look.brokers),
        failed=dict(intents.failed),
        failed_log_dirs=dict(intents.log_dirs),
        topic_configs={one.name: dict(configs) for one, configs in look.configs.items() if one.kind == TOPICS},
        broker_configs={one.name: dict(configs) for one, configs in look.configs.items() if one.kind == BROKERS},
    )
    for name, topic in look.topics.items():
        partitions = {}
        for index, found in topic.partitions.items():
            one = TopicPartition(name, index)
            partitions[index] = partition_of(found, look.moves.get(one), record_of(intents, topic, one))
        put_topic(cluster, name, topic.id, partitions, version=0, created=_number_of(topic))
        yield
    for part in intents.queue.values():
        yield from cluster.queue.put(part)
    return cluster


def _number_of(topic: LookedTopic) -> int:
    """Distinguishes topics of one name: a part of the id."""
    return -1 if topic.id is None else topic.id.int >> 65


def partition_of(found: PartitionInfo, move: PartitionReassignment | None, record: MoveRecord | None) -> Partition:
    value = Partition(found.replicas, leader=found.leader, isr=found.isr, leader_epoch=found.leader_epoch)
    return as_seen(value, seen_of(found, move), record)


def seen_of(found: PartitionInfo, move: PartitionReassignment | None) -> SeenPartition:
    if move is None:
        return SeenPartition(found.replicas)
    return SeenPartition(move.replicas, move.adding_replicas, move.removing_replicas)


def record_of(intents: Intents, topic: LookedTopic, name: TopicPartition) -> MoveRecord | None:
    """None also where the topic is another one of the same name."""
    record = intents.moves.get(name)
    known = intents.ids.get(name.topic, "")
    return None if record is None or is_another(topic, known) else record


def is_another(topic: LookedTopic, known: str) -> bool:
    return bool(known) and topic.id is not None and topic_id_text(topic.id) != known
