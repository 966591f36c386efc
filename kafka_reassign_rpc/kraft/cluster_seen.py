"""A look at the cluster, with the intents on top: what the loop decides on. Leaders, ISRs and epochs are the cluster's
own; a move that is still to be told is shown as the cluster will list it.
"""

from collections.abc import Container, Generator, Iterator, Mapping
from uuid import UUID

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.soft_state import SoftState
from kafka_reassign_rpc.core.state.topic import topic_id_text
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.look_facts import PartitionSeen, TopicSeen, TopicsUnseen
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.kraft.absences import Known, is_another
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.ports import Look


def cluster_of(
    look: Look, intents: Intents, soft: SoftState, known: Cluster | None = None
) -> Generator[None, None, Cluster]:
    """`known`: as it was before. What one look leaves out of it stays, as unseen, until looks agree that it is gone.
    Yields after each partition and each waiting move."""
    queue = Queue()
    for part in intents.queue.values():
        yield from queue.put(part)
    cluster = Cluster(
        brokers={**(known.brokers if known is not None else {}), **look.brokers},
        failed=dict(intents.failed),
        failed_log_dirs=dict(intents.log_dirs),
        topic_configs={
            one.name: dict(configs) for one, configs in look.configs.items() if configs and one.kind == TOPICS
        },
        broker_configs={
            one.name: dict(configs) for one, configs in look.configs.items() if configs and one.kind == BROKERS
        },
        settings=intents.set_now,
        settings_by={name: one.by for name, one in intents.settings.items() if one.by is not None},
        queue=queue,
        soft=soft,
    )
    for name in look.topics:
        seen = yield from topic_seen(look, name)
        records = records_of(intents, name, seen.id)
        partitions = {}
        for index, one in seen.partitions.items():
            partitions[index] = one.with_record(records.get(TopicPartition(name, index)))
            yield
        put_topic(cluster, name, seen.id, partitions, version=0, created=seen.number)
        yield
    unseen = {
        name
        for name, places in queue.topics.items()
        if name not in cluster.topics or not cluster.topics[name].partitions.keys() >= places.keys()
    }
    if known is not None:
        yield from _keep(known, cluster, look, unseen)
    yield from TopicsUnseen(frozenset(unseen)).apply(cluster)
    return cluster


def _keep(known: Cluster, cluster: Cluster, look: Look, unseen: set[str]) -> Iterator[None]:
    for topic in known.topics.values():
        now = cluster.topics.get(topic.name)
        shown = now.partitions if now is not None and now.created == topic.created else {}
        if not shown.keys() >= topic.partitions.keys():
            unseen.add(topic.name)
            partitions = topic.partitions | shown
            put_topic(cluster, topic.name, topic.id, partitions, version=0, created=topic.created)
        yield
    for kind, configs, before in (
        (TOPICS, cluster.topic_configs, known.topic_configs),
        (BROKERS, cluster.broker_configs, known.broker_configs),
    ):
        for name, values in before.items():
            if Entity(kind, name) not in look.configs:  # it was not asked, or has not answered
                configs[name] = values
            yield


def topic_seen(look: Look, name: str) -> Generator[None, None, TopicSeen]:
    """Yields after each partition."""
    topic, partitions = look.topics[name], {}
    for index, found in topic.partitions.items():
        partitions[index] = partition_seen(found, look.moves.get(TopicPartition(name, index)), look.brokers)
        yield
    return TopicSeen(topic.id, partitions)


def partition_seen(found: PartitionInfo, move: PartitionReassignment | None, brokers: Container[int]) -> PartitionSeen:
    if move is None:
        assignment = SeenPartition(found.replicas)
    else:
        assignment = SeenPartition(move.replicas, move.adding_replicas, move.removing_replicas)
    offline = tuple([one for one in found.offline if one in brokers]) if found.offline else ()
    return PartitionSeen(assignment, found.leader, found.isr, found.leader_epoch, offline)


def records_of(intents: Intents, topic: str, topic_id: UUID | None) -> Mapping[TopicPartition, MoveRecord]:
    """Those of all moves, or none where the topic is another one of the same name."""
    known = Known(topic, intents.ids.get(topic, ""))
    return {} if is_another(known, "" if topic_id is None else topic_id_text(topic_id)) else intents.moves
