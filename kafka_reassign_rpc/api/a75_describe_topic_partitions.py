"""DescribeTopicPartitions (KIP-966): topics in the order of their names, page by page.

An unknown topic gets UNKNOWN_TOPIC_OR_PARTITION if the request names it, and is left out if only the cursor does.
Eligible leader replicas belong to KRaft: the lists are empty. The schema also allows null, but the 3.9 Java client
fails on it.

It is not advertised, since ZooKeeper-mode brokers do not have this API: stock tools that see it print other columns
(`Elr:` instead of `Elr: N/A`). Source: DescribeTopicPartitionsRequestHandler and KRaftMetadataCache of Kafka 3.9.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import chain, islice

from kafka_reassign_rpc.api.answer_fields import (
    INTERNAL_TOPICS,
    NOT_REQUESTED,
    ZERO_UUID,
    is_visible,
    known_topics,
    partition_metadata,
)
from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import NUMBERS, answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import rest

MAX_PARTITIONS = 2000
"""Kafka's max.request.partition.size.limit."""

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Cursor = DescribeTopicPartitionsResponse.Cursor


async def handle(node: Node, request: DescribeTopicPartitionsRequest, ctx: RequestContext) -> Answer:
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        raise InvalidRequest("DescribeTopicPartitionsRequest cursor partition must be valid.")
    names = {topic.name for topic in request.topics} or None
    known = await known_topics(node, names)
    return await _page(node, known, names, request, ctx)


async def _page(
    node: Node,
    known: Mapping[str, Topic],
    names: set[str] | None,
    request: DescribeTopicPartitionsRequest,
    ctx: RequestContext,
) -> Answer:
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    if names is None:
        wanted = await _in_order([name for name, topic in known.items() if name >= first and is_visible(topic)])
    else:
        wanted = await _in_order([name for name in names if name >= first])
    left = max(1, min(MAX_PARTITIONS, request.response_partition_limit))
    topics: list[tuple[str, Topic | None, list[int]]] = []
    denied: list[str] = []
    following = None
    for name in wanted:
        await rest()
        if not ctx.access.may(AclOperation.DESCRIBE, AclResource.TOPIC, name, log_if_denied=names is not None):
            if names is not None:
                denied.append(name)
            continue
        if left == 0:
            following = _Cursor(version=0, topic_name=name, partition_index=0)
            break
        topic = known.get(name)
        if topic is None or topic.deleting:
            topics.append((name, None, []))
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        indexes = sorted(i for i in topic.partitions if i >= start)
        on_page = list(islice(indexes, left))
        topics.append((name, topic, on_page))
        left -= len(on_page)
        if len(on_page) < len(indexes):
            following = _Cursor(version=0, topic_name=name, partition_index=indexes[len(on_page)])
            break
    alive = frozenset(e.id for e in node.nodes(ctx.listener))
    elements = (
        _failed_topic(name, UnknownTopicOrPartition if is_valid_name(name) else InvalidTopic, _bits(ctx, name))
        if topic is None
        else _describe(topic, on_page, alive, _bits(ctx, name))
        for name, topic, on_page in topics
    )
    refused = (_failed_topic(name, TopicAuthorizationFailed) for name in denied)
    answer = DescribeTopicPartitionsResponse(version=0, throttle_time_ms=0, next_cursor=following)
    size = len(topics) + len(denied)
    items = sum(len(on_page) for _, _, on_page in topics) // 4
    return await answer_with(answer, "topics", chain(elements, refused), size, items)


async def _in_order(names: list[str]) -> Iterator[str]:
    """Sorts the names in slices, and merges them as they are read."""
    runs = []
    for some in pieces(names, NUMBERS):
        runs.append(sorted(some))
        await rest()
    return merge(*runs)


def _describe(topic: Topic, indexes: list[int], alive: frozenset[int], operations: int) -> _Topic:
    partitions = []
    for index in indexes:
        view = partition_metadata(index, topic.partitions[index], alive, hide_dead=False)
        # the fields in order, cheaper than an object; both lists of eligible leader replicas are empty
        partitions.append((*view[:6], (), (), view.offline))
    return _Topic(
        version=0,
        error_code=0,
        name=topic.name,
        topic_id=topic.id or ZERO_UUID,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=operations,
    )


def _failed_topic(name: str, error: type[KafkaError], operations: int = NOT_REQUESTED) -> _Topic:
    return _Topic(
        version=0,
        error_code=error.code,
        name=name,
        topic_id=ZERO_UUID,
        is_internal=name in INTERNAL_TOPICS and error is not TopicAuthorizationFailed,
        partitions=[],
        topic_authorized_operations=operations,
    )


def _bits(ctx: RequestContext, topic: str) -> int:
    return sum(1 << one for one in ctx.access.operations(AclResource.TOPIC, topic))


async def fail(request: DescribeTopicPartitionsRequest, _version: int, error: KafkaError) -> Answer:
    answer = DescribeTopicPartitionsResponse(version=0, throttle_time_ms=0, next_cursor=None)
    topics = (_failed_topic(topic.name, type(error)) for topic in request.topics)
    return await answer_with(answer, "topics", topics, len(request.topics))


API = served(
    DescribeTopicPartitionsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.TOPIC),
    handle=handle,
    fail=fail,
    max_elements=MANY,
    advertised=False,
)
