"""Calls about the cluster: nodes, topics, configs, log dirs. For the loop of kafka-python's network thread."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_reassign_rpc.client.client_errors import UnsupportedHere, error_of, raise_for
from kafka_reassign_rpc.client.reassignment_calls import by_topic
from kafka_reassign_rpc.client.request_routing import Link, always
from kafka_reassign_rpc.client.result_values import ClusterNode, LogDirs, PartitionInfo, Replica, ReplicaLogDir
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    AlterReplicaLogDirsRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)

TOPIC = 2
BROKER = 4
SET, DELETE = 0, 1

RESOURCES = 500
"""Resources in one request about configs: brokers write, and look up, one after the other before they answer."""

Resource = tuple[int, str]
"""Kind (TOPIC or BROKER) and name; the BROKER "" is all of them."""
Changes = Mapping[Resource, Mapping[str, str | None]]
"""What to set; None deletes."""


async def describe_cluster(link: Link) -> list[ClusterNode]:
    """The nodes that clients may talk to."""

    def build(version: int) -> Any:
        fenced = {} if version < 2 else {"include_fenced_brokers": False}
        return DescribeClusterRequest(
            include_cluster_authorized_operations=False, endpoint_type=link.endpoint_type, **fenced
        )

    try:
        answer = await link.ask_any(build, DescribeClusterRequest)
    except UnsupportedHere:  # before Kafka 2.8
        old = await link.ask_any(always(MetadataRequest(topics=[])), MetadataRequest)
        return [ClusterNode(node.node_id, node.host, node.port, node.rack) for node in old.brokers]
    raise_for(answer.error_code, answer.error_message)
    return [ClusterNode(node.broker_id, node.host, node.port, node.rack) for node in answer.brokers]


async def describe_topics(link: Link, topics: Iterable[str]) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
    """The partitions of each topic, or why they cannot be told."""
    wanted = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=name) for name in topics]
    if not wanted:
        return {}

    def build(_version: int) -> Any:
        return MetadataRequest(topics=wanted, allow_auto_topic_creation=False)

    answer = await link.ask_any(build, MetadataRequest)
    found: dict[str, dict[int, PartitionInfo] | KafkaError] = {}
    for topic in answer.topics:
        error = error_of(topic.error_code, None)
        found[topic.name] = error or {
            one.partition_index: PartitionInfo(one.leader_id, tuple(one.replica_nodes), tuple(one.isr_nodes))
            for one in topic.partitions
        }
    return found


async def change_configs(link: Link, changes: Changes) -> dict[Resource, KafkaError | None]:
    """Change dynamic configs. Those of a broker are sent to that broker, as Kafka wants it; others by the hundred.

    Everything is tried, whatever fails before it; the result says what became of each resource.
    """
    rounds: dict[int | None, list[Resource]] = {}
    for resource in changes:
        rounds.setdefault(int(resource[1]) if resource[0] == BROKER and resource[1] else None, []).append(resource)
    results: dict[Resource, KafkaError | None] = {}
    pieces = [(node, some) for node, resources in rounds.items() for some in in_pieces(resources)]
    for node, resources in pieces:
        request = config_request({resource: changes[resource] for resource in resources})
        cls = IncrementalAlterConfigsRequest
        try:
            if node is None:
                answer = await link.ask_any(always(request), cls, changes=True)
            else:
                answer = await link.ask_node(node, always(request), cls, changes=True)
        except KafkaError as error:
            results |= dict.fromkeys(resources, error)
            continue
        for one in answer.responses:
            results[one.resource_type, one.resource_name] = error_of(one.error_code, one.error_message)
    return results


def in_pieces(resources: Sequence[Resource]) -> Iterator[Sequence[Resource]]:
    """As many as go into one request each."""
    for first in range(0, len(resources), RESOURCES):
        yield resources[first : first + RESOURCES]


def config_request(changes: Changes) -> Any:
    """IncrementalAlterConfigs."""
    resource_class = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            resource_class(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource_class.AlterableConfig(
                        name=key, config_operation=DELETE if value is None else SET, value=value
                    )
                    for key, value in configs.items()
                ],
            )
            for (kind, name), configs in changes.items()
        ],
        validate_only=False,
    )


async def set_cluster_config(link: Link, name: str, value: str | None) -> None:
    """Set a config of the whole cluster at the controller (None: take it away). Raises KafkaError.

    A stock broker would store a config of ours as well, but does not know what it may be.
    """
    request = always(config_request({(BROKER, ""): {name: value}}))
    answer = await link.ask_controller(request, IncrementalAlterConfigsRequest, changes=True, any_can=True)
    [result] = answer.responses
    error = error_of(result.error_code, result.error_message)
    if error is not None:
        raise error


async def describe_log_dirs(link: Link, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> list[LogDirs]:
    """Sizes and places of replicas. A broker that cannot be asked is there with its error."""
    found = []
    for broker, partitions in partitions_by_broker.items():
        topics = [
            DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=ids)
            for name, ids in by_topic(partitions).items()
        ]
        try:
            answer = await link.ask_node(broker, always(DescribeLogDirsRequest(topics=topics)), DescribeLogDirsRequest)
        except KafkaError as error:
            found.append(LogDirs(broker, error=error.message))
            continue
        refused = error_of(getattr(answer, "error_code", 0) or 0, None)
        found.append(LogDirs(broker, error=refused.message) if refused else LogDirs(broker, _replicas(answer.results)))
    return found


def _replicas(log_dirs: Iterable[Any]) -> dict[TopicPartition, ReplicaLogDir]:
    current: dict[TopicPartition, tuple[str, int, int]] = {}
    future: dict[TopicPartition, str] = {}
    for log_dir in log_dirs:
        if log_dir.error_code:
            continue
        for topic in log_dir.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.name, one.partition_index)
                if one.is_future_key:
                    future[partition] = log_dir.log_dir
                else:
                    current[partition] = (log_dir.log_dir, one.partition_size, one.offset_lag)
    return {
        partition: ReplicaLogDir(path, future.get(partition), size, lag)
        for partition in current.keys() | future.keys()
        for path, size, lag in [current.get(partition, (None, 0, 0))]
    }


async def alter_replica_log_dirs(link: Link, moves: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
    """Ask brokers to keep replicas in other log dirs (replica -> absolute path)."""
    by_broker: dict[int, dict[str, list[Replica]]] = {}
    for replica, path in moves.items():
        by_broker.setdefault(replica.broker, {}).setdefault(path, []).append(replica)
    results: dict[Replica, KafkaError | None] = {}
    dir_class = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    for broker, paths in by_broker.items():
        dirs = [
            dir_class(
                path=path,
                topics=[
                    dir_class.AlterReplicaLogDirTopic(name=name, partitions=ids)
                    for name, ids in by_topic(replica.topic_partition for replica in replicas).items()
                ],
            )
            for path, replicas in paths.items()
        ]
        try:
            request = AlterReplicaLogDirsRequest(dirs=dirs)
            answer = await link.ask_node(broker, always(request), AlterReplicaLogDirsRequest, changes=True)
        except KafkaError as error:
            results |= {replica: error for replicas in paths.values() for replica in replicas}
            continue
        for topic in answer.results:
            for one in topic.partitions:
                replica = Replica(broker, topic.topic_name, one.partition_index)
                results[replica] = error_of(one.error_code, None)
    return results
