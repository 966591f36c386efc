"""Calls that take in a whole cluster: all topics, all that a broker's log dirs hold, configs by the hundred.

Answers may be large (a million partitions are some 60 MB on the wire). The one of all topics is read bit by bit, by
whoever asked and not on the network thread; the others are asked for in pieces by the caller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_reassign_rpc.client.client_errors import error_of, raise_for
from kafka_reassign_rpc.client.cluster_calls import BROKER, Resource, in_pieces
from kafka_reassign_rpc.client.outgoing_request import Frame
from kafka_reassign_rpc.client.request_routing import Link, always
from kafka_reassign_rpc.client.result_values import ClusterNode, PartitionInfo
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.frame_codec import decode_response_in_parts
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    MetadataRequest,
    MetadataResponse,
)

_METADATA = 12
"""The last version of Metadata whose errors all stand before the topics or inside them."""
_SET = frozenset({1, 2, 3, 4})
"""ConfigSource of what somebody has set: of a topic, of a broker, of all brokers, in server.properties."""


class TopicInfo(NamedTuple):
    """A topic as Metadata shows it; `error` where the broker could not tell."""

    name: str
    partitions: dict[int, PartitionInfo]
    error: KafkaError | None


class Everything(NamedTuple):
    """A cluster: `topics` can be gone through once."""

    cluster_id: str
    controller: int
    nodes: list[ClusterNode]
    topics: Iterator[TopicInfo]


class HeldReplica(NamedTuple):
    """A replica in a log dir; `future` for a copy on its way to another dir of that broker."""

    topic: str
    partition: int
    size: int
    log_dir: str
    future: bool


@dataclass(frozen=True)
class BrokerLogDirs:
    """What a broker holds of what was asked for, and the volumes of its log dirs in bytes (None: it does not say)."""

    replicas: Sequence[HeldReplica]
    log_dirs: Sequence[str]
    total_bytes: int | None
    usable_bytes: int | None


class Config(NamedTuple):
    """A config that somebody has set; `value` is None for what is secret."""

    name: str
    value: str | None


Configs = list[Config]


async def describe_everything(link: Link) -> Frame:
    """All nodes and topics, still to be read by `read_everything`."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    return await link.ask_any_for_frame(always(request), MetadataRequest, _METADATA)


def read_everything(frame: Frame) -> Everything:
    """Raises a RemoteProtocolError where the answer cannot be read; so may going through the topics."""
    head, topics = decode_response_in_parts(MetadataResponse, frame.data, "topics", version=frame.version)
    nodes = [ClusterNode(node.node_id, node.host, node.port, node.rack) for node in head.brokers]
    return Everything(head.cluster_id or "", head.controller_id, nodes, map(_topic, topics))


def _topic(topic: Any) -> TopicInfo:
    partitions = {
        one.partition_index: PartitionInfo(one.leader_id, tuple(one.replica_nodes), tuple(one.isr_nodes))
        for one in topic.partitions
    }
    return TopicInfo(topic.name, partitions, error_of(topic.error_code, None))


async def describe_broker(link: Link, broker: int, partitions: Mapping[str, Sequence[int]]) -> BrokerLogDirs:
    """What one broker's log dirs hold of these partitions. Raises what it answers with, or Unreachable."""
    request = DescribeLogDirsRequest(
        topics=[
            DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=list(ids))
            for name, ids in partitions.items()
        ]
    )
    answer = await link.ask_node(broker, always(request), DescribeLogDirsRequest)
    raise_for(getattr(answer, "error_code", 0) or 0, None)
    replicas = [
        HeldReplica(topic.name, one.partition_index, one.partition_size, log_dir.log_dir, one.is_future_key)
        for log_dir in answer.results
        if not log_dir.error_code
        for topic in log_dir.topics
        for one in topic.partitions
    ]
    return BrokerLogDirs(
        replicas,
        [log_dir.log_dir for log_dir in answer.results],
        _sum(getattr(log_dir, "total_bytes", None) for log_dir in answer.results),
        _sum(getattr(log_dir, "usable_bytes", None) for log_dir in answer.results),
    )


def _sum(sizes: Iterable[int | None]) -> int | None:
    """None where a dir does not say; brokers before 3.3 do not."""
    total = 0
    for size in sizes:
        if size is None or size < 0:
            return None
        total += size
    return total or None


async def describe_configs(link: Link, resources: Sequence[Resource]) -> dict[Resource, Configs | KafkaError]:
    """What is set for topics, or for one broker (asked itself), or for all of them (BROKER, ""); no defaults.

    Topics are asked about by the hundred.
    """
    kinds = {kind for kind, _ in resources}
    brokers = {name for kind, name in resources if kind == BROKER and name}
    if len(brokers) > 1 or (brokers and len(kinds) > 1):
        raise ValueError("the configs of a broker are asked of it alone")
    node = int(brokers.pop()) if brokers else None
    found: dict[Resource, Configs | KafkaError] = {}
    for some in in_pieces(resources):
        found |= await _describe_configs(link, some, node)
    return found


async def _describe_configs(
    link: Link, resources: Sequence[Resource], node: int | None
) -> dict[Resource, Configs | KafkaError]:
    one = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest(
        resources=[one(resource_type=kind, resource_name=name, configuration_keys=None) for kind, name in resources],
        include_synonyms=False,
    )
    if node is not None:
        answer = await link.ask_node(node, always(request), DescribeConfigsRequest)
    else:
        answer = await link.ask_any(always(request), DescribeConfigsRequest)
    return {
        (found.resource_type, found.resource_name): error_of(found.error_code, found.error_message)
        or [Config(entry.name, entry.value) for entry in found.configs if entry.config_source in _SET]
        for found in answer.results
    }
