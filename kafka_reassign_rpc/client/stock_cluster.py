"""A cluster as `core` knows it, from what a stock controller and its brokers answer: the same code then makes the
same document of it. And what they have answered about configs, with what is not known of them in words.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS, TOPIC, Config, Resource
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import ClusterNode, LogDirs, PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    KafkaStorageError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LEADER_UNKNOWN, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.support.counted import counted, first_of, those
from kafka_reassign_rpc.support.slices import run_through

NAMED = 5
"""Topics, or brokers, that a text names."""
NEEDS_DESCRIBE = "to see moves this principal needs the operation DESCRIBE on the cluster"
"""Kafka's own text has the whole request: each time another one."""
Listed = Mapping[TopicPartition, PartitionReassignment]
Records = Mapping[TopicPartition, MoveRecord]
"""What a process that has watched the moves knows of them."""


def brokers_of(nodes: Iterable[ClusterNode]) -> dict[int, Broker]:
    return {one.id: Broker(one.id, -1, (Endpoint("", "", one.host, one.port),), one.rack) for one in nodes}


def cluster_of(
    nodes: Iterable[ClusterNode], topics: Iterable[TopicInfo], listed: Listed, records: Records | None = None
) -> Cluster:
    made = Cluster(brokers=brokers_of(nodes))
    waiting: dict[tuple[str, int], WaitingMove] = {
        name: WaitingMove(MoveTerms(move.target, move.route, move.reason))
        for name, move in listed.items()
        if move.is_waiting
    }
    if waiting:  # an earlier version of our server
        run_through(made.queue.put(QueuePart("", "", waiting)))
    for topic in topics:
        if topic.error is None:
            put_described(made, topic, listed, records or {})
    run_through(put_listed(made, listed, records or {}))
    return made


def put_described(cluster: Cluster, topic: TopicInfo, listed: Listed, records: Records) -> None:
    """Replaces what was known of the topic."""
    partitions = {}
    for index, found in topic.partitions.items():
        name = TopicPartition(topic.name, index)
        partitions[index] = _partition(found, listed.get(name), records.get(name))
    put_topic(cluster, topic.name, None, partitions, version=-1)
    for partition in partitions.values():
        cluster.failed.update(
            (one, None) for one in partition.replicas if one not in cluster.brokers and one not in cluster.failed
        )


def put_listed(cluster: Cluster, listed: Listed, records: Records, untold: Collection[str] = ()) -> Iterator[None]:
    """Moves of topics that no broker describes, and of `untold`, which none describes any more. The list has neither
    leader nor ISR.
    """
    lacking: dict[str, dict[int, PartitionInfo]] = {}
    for name, move in listed.items():
        yield
        if not move.is_waiting and (name.topic in untold or cluster.get(*name) is None):
            lacking.setdefault(name.topic, {})[name.partition] = PartitionInfo(LEADER_UNKNOWN, move.replicas, ())
    for topic, partitions in lacking.items():
        yield
        known = cluster.topics.get(topic)
        rest = {
            index: PartitionInfo(one.leader, one.replicas, one.isr, one.leader_epoch)
            for index, one in (known.partitions if known is not None else {}).items()
        }
        put_described(cluster, TopicInfo(topic, {**rest, **partitions}, None), listed, records)


def hidden_topics(cluster: Cluster) -> list[str]:
    """Topics of moves that no broker describes, by name."""
    return sorted(
        topic
        for topic, indexes in cluster.moving.items()
        if any(not cluster.topics[topic].partitions[index].is_described for index in indexes)
    )


def text_of_hidden(topics: Sequence[str]) -> str:
    """What is not seen of topics, and why; "": there are none."""
    if not topics:
        return ""
    named = f"{counted(len(topics), 'topic')} are not seen: they need the operation DESCRIBE on them"
    return f"Leaders and ISRs of {named} ({first_of(topics, NAMED)})"


def of_moves(listed: Listed) -> Cluster:
    """A cluster of only those partitions that move (`put_listed`)."""
    return cluster_of((), (), listed)


def answers_of(log_dirs: Iterable[LogDirs]) -> dict[int, list[SampledLogDir] | None]:
    answers: dict[int, list[SampledLogDir] | None] = {}
    for one in log_dirs:
        sizes: dict[str, dict[int, int]] = {}
        for name, replica in one.replicas.items():
            sizes.setdefault(name.topic, {})[name.partition] = replica.size
        answers[one.broker] = None if one.error is not None else [SampledLogDir("", sizes=sizes)]
    return answers


def sampled(answer: BrokerLogDirs | KafkaError | None) -> list[SampledLogDir] | None:
    """As a sample of progress takes it; None: there is none. A size below 0, or two sizes of one replica, are unknown.
    A copy that moves to another log dir of its broker does not count.
    """
    if answer is None or isinstance(answer, KafkaError):
        return None
    held: dict[str, dict[str, dict[int, int | None]]] = {}
    for one in answer.replicas:
        if one.future:
            continue
        sizes = held.setdefault(one.log_dir, {}).setdefault(one.topic, {})
        size = one.size if one.size >= 0 else None
        sizes[one.partition] = size if sizes.get(one.partition, size) == size else None
    return [
        SampledLogDir(
            one.path,
            0 if one.online else KafkaStorageError.code,
            one.total_bytes,
            one.usable_bytes,
            held.get(one.path, {}),
            one.cordoned,
        )
        for one in answer.log_dirs
    ]


def others_to_ask(cluster: Cluster) -> list[Resource]:
    """Whose configs say what throttles a move, besides those of single brokers."""
    return [(BROKER, ""), *((TOPIC, topic) for topic in sorted(cluster.moving))]


def _partition(found: PartitionInfo, move: PartitionReassignment | None, record: MoveRecord | None) -> Partition:
    if move is None or move.is_waiting:
        return Partition(found.replicas, leader=found.leader, isr=found.isr, leader_epoch=found.leader_epoch)
    return Partition(
        move.replicas,
        move.adding_replicas,
        move.removing_replicas,
        leader=found.leader,
        isr=found.isr,
        leader_epoch=found.leader_epoch,
        move=record,
    )


ConfigAnswer = Sequence[Config] | KafkaError
Configs = dict[str, Mapping[str, str]]


class ToldConfigs(NamedTuple):
    """brokers   configs of brokers by their ids, and those of all brokers
    known     brokers whose throttles are known
    lacking   what is not known, and why; "": nothing
    """

    brokers: Configs
    topics: Configs
    known: frozenset[int]
    lacking: str


def told_configs(brokers: Mapping[int, ConfigAnswer], others: Mapping[Resource, ConfigAnswer]) -> ToldConfigs:
    """The answers of brokers about themselves, and those about topics and all brokers. A topic that a broker does not
    know was deleted, or is known to it a little later.
    """
    of_brokers: Configs = {
        str(broker): {one.name: one.value for one in some if one.value and one.source != OF_ALL_BROKERS}
        for broker, some in brokers.items()
        if not isinstance(some, KafkaError)
    }
    topics: Configs = {}
    for (kind, name), some in others.items():
        if not isinstance(some, KafkaError):
            values = {one.name: one.value for one in some if one.value}
            if kind == TOPIC:
                topics[name] = values
            else:
                of_brokers[DEFAULT] = values
    are_defaults_known = not isinstance(others.get((BROKER, ""), KafkaError()), KafkaError)
    known = frozenset(one for one, some in brokers.items() if are_defaults_known and not isinstance(some, KafkaError))
    return ToldConfigs(of_brokers, topics, known, lacking_configs(brokers, others))


def lacking_configs(brokers: Mapping[int, ConfigAnswer], others: Mapping[Resource, ConfigAnswer]) -> str:
    """Who has not answered, or which right is missing."""
    refused, silent = set[str](), dict[str, list[int]]()
    for broker, one in [*sorted(brokers.items()), *((None, one) for one in others.values())]:
        if isinstance(one, ClusterAuthorizationFailed | TopicAuthorizationFailed):
            refused.add(one.message.rstrip("."))
        elif isinstance(one, KafkaError) and not isinstance(one, UnknownTopicOrPartition):
            silent.setdefault(one.message.rstrip("."), []).extend(() if broker is None else [broker])
    why = [f"{those(some, most=NAMED)}: {text}" if some else text for text, some in silent.items()]
    if not refused:
        return f"Throttles are not all seen: {first_of(why, 2, between='; ')}" if why else ""
    right = "the operation DESCRIBE_CONFIGS on the cluster and on topics shows them"
    return f"Throttles are not all seen ({right}): {first_of([*sorted(refused), *why], 2, between='; ')}"
