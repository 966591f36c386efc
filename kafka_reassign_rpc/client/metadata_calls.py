"""Calls of Metadata. The answer about all topics may be large (some 60 MB for a million partitions), so
`describe_everything` leaves it undecoded: the caller decodes it topic by topic on its own thread with
`read_everything`.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import UnsupportedHere, error_of, raise_for
from kafka_reassign_rpc.client.request_routing import RequestRouter, UndecodedAnswer, always
from kafka_reassign_rpc.client.result_values import ClusterNode, PartitionInfo
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.protocol.frame_codec import decode_body_in_parts
from kafka_reassign_rpc.protocol.messages import (
    DescribeClusterRequest,
    DescribeReassignmentsRequest,
    MetadataRequest,
    MetadataResponse,
)

_METADATA_MAX = 12
"""The last version of Metadata with all errors before or inside the topics."""


ANSWER_MS = 5_000
"""Milliseconds that a node may take to say what it serves."""


class TopicInfo(NamedTuple):
    """`topic_id` is "" before Kafka 2.8."""

    name: str
    partitions: dict[int, PartitionInfo]
    error: KafkaError | None
    topic_id: str = ""


class Everything(NamedTuple):
    """`topics` can be iterated over once."""

    cluster_id: str
    controller: int
    nodes: list[ClusterNode]
    topics: Iterator[TopicInfo]


async def describe_cluster(router: RequestRouter) -> list[ClusterNode]:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=router.endpoint_type)
    try:
        answer = await router.ask_any(always(request), DescribeClusterRequest)
    except UnsupportedHere:  # before Kafka 2.8
        return _nodes(await router.ask_any(always(MetadataRequest(topics=[])), MetadataRequest))
    raise_for(answer.error_code, answer.error_message)
    return [ClusterNode(node.broker_id, node.host, node.port, node.rack) for node in answer.brokers]


async def servers_among(router: RequestRouter, nodes: Iterable[int]) -> set[int]:
    """A node that does not say what it serves counts as a broker."""
    asked = list(nodes)
    calls = [partial(router.serves, node, DescribeReassignmentsRequest) for node in asked]
    return {node for node, found in zip(asked, await router.at_once(calls, ANSWER_MS), strict=True) if found is True}


async def describe_controller(router: RequestRouter) -> int:
    return await router.controller()


async def describe_topics(
    router: RequestRouter, topics: Iterable[str], *, of_controller: bool = False
) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
    found = await find_topics(router, topics, of_controller=of_controller)
    return {name: topic.error or topic.partitions for name, topic in found.items()}


async def find_topics(
    router: RequestRouter, topics: Iterable[str], *, of_controller: bool = False
) -> dict[str, TopicInfo]:
    """Other nodes than the controller learn later of the end of a move."""
    wanted = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=name) for name in topics]
    if not wanted:
        return {}
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    if of_controller:
        answer = await router.ask_controller(always(request), MetadataRequest, any_can=True)
    else:
        answer = await router.ask_any(always(request), MetadataRequest)
    return {topic.name or "": _topic(topic) for topic in answer.topics}


async def describe_everything(router: RequestRouter) -> UndecodedAnswer:
    """As the controller knows them. (In KRaft mode any broker is named as the controller.)"""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    return await router.ask_controller_undecoded(always(request), MetadataRequest, _METADATA_MAX)


async def describe_some(router: RequestRouter, topics: Iterable[str], node: int | None = None) -> Everything:
    """Asks this node once, or any: brokers learn of changes a little later than the controller."""
    asked = list(topics)

    def build(_version: int) -> MetadataRequest:
        wanted = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=name) for name in asked]
        return MetadataRequest(topics=wanted, allow_auto_topic_creation=False)

    if node is None:
        answer = await router.ask_any(build, MetadataRequest, names=len(asked))
    else:
        answer = await router.ask_node_once(node, build, MetadataRequest)
    cluster_id = getattr(answer, "cluster_id", None) or ""
    return Everything(cluster_id, answer.controller_id, _nodes(answer), map(_topic, answer.topics))


def read_everything(answer: UndecodedAnswer) -> Everything:
    """The iterator decodes the topics one by one. Both raise RemoteProtocolError."""
    head, topics = decode_body_in_parts(MetadataResponse, answer.data, "topics", version=answer.version)
    return Everything(head.cluster_id or "", head.controller_id, _nodes(head), map(_topic, topics))


def _nodes(answer: MetadataResponse) -> list[ClusterNode]:
    return [ClusterNode(node.node_id, node.host, node.port, node.rack) for node in answer.brokers]


def _topic(topic: MetadataResponse.MetadataResponseTopic) -> TopicInfo:
    topic_id = getattr(topic, "topic_id", None)
    text = topic_id_text(topic_id) if topic_id is not None and topic_id.int else ""
    return TopicInfo(topic.name or "", _partitions(topic), error_of(topic.error_code, None), text)


def _partitions(topic: MetadataResponse.MetadataResponseTopic) -> dict[int, PartitionInfo]:
    return {
        one.partition_index: PartitionInfo(
            one.leader_id,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
            one.leader_epoch,
            tuple(getattr(one, "offline_replicas", None) or ()),
        )
        for one in topic.partitions
    }
