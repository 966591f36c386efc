"""DescribeTopicPartitions (key 75), version 0: topics and partitions, page by page (KIP-966).

Behaviour   topics in order of their names, all of them where none is named; the answer stops after
            `response_partition_limit` partitions (at most 2,000, at least 1) and names where to go on. A cursor
            skips the topics before its own. Unknown topics get UNKNOWN_TOPIC_OR_PARTITION when they were named,
            and are left out when they came from the cursor only. Eligible leader replicas belong to KRaft: empty here,
            not null, which the schema allows and the 3.9 Java client does not survive.
ACL         DESCRIBE on each topic.
Served but not shown in ApiVersions: ZooKeeper-mode brokers do not have it, and stock tools that see it print other
            columns than they print against such brokers (`Elr:` instead of `Elr: N/A`).
Source      DescribeTopicPartitionsRequestHandler and KRaftMetadataCache of Kafka 3.9.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from kafka_reassign_rpc.api.handler_helpers import INTERNAL_TOPICS, ZERO_UUID, shown, with_topics
from kafka_reassign_rpc.api.partition_snapshot import partition_view
from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, InvalidTopic, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.cluster import Topic
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import DescribeTopicPartitionsResponse

MAX_PARTITIONS = 2000
"""Kafka's max.request.partition.size.limit."""

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Cursor = DescribeTopicPartitionsResponse.Cursor


def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        raise InvalidRequest("DescribeTopicPartitionsRequest cursor partition must be valid.")
    names = {topic.name for topic in request.topics} or None
    return with_topics(node, names, lambda known: _page(node, known, names, request, ctx))


def _page(node: Node, known: Mapping[str, Topic], names: set[str] | None, request: Any, ctx: RequestContext) -> Any:
    wanted = sorted(name for name, topic in known.items() if shown(topic)) if names is None else sorted(names)
    cursor = request.cursor
    if cursor is not None:
        wanted = [name for name in wanted if name >= cursor.topic_name]
    alive = frozenset(e.id for e in node.nodes(ctx.listener))
    left = max(1, min(MAX_PARTITIONS, request.response_partition_limit))
    topics: list[Any] = []
    following = None
    for name in wanted:
        if left == 0:
            following = _Cursor(version=0, topic_name=name, partition_index=0)
            break
        topic = known.get(name)
        if topic is None or topic.deleting:
            topics.append(_failed_topic(name, UnknownTopicOrPartition if is_valid_name(name) else InvalidTopic))
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        indexes = sorted(i for i in topic.partitions if i >= start)
        shown_now = list(islice(indexes, left))
        topics.append(_describe(topic, shown_now, alive))
        left -= len(shown_now)
        if len(shown_now) < len(indexes):
            following = _Cursor(version=0, topic_name=name, partition_index=indexes[len(shown_now)])
            break
    return DescribeTopicPartitionsResponse(version=0, throttle_time_ms=0, topics=topics, next_cursor=following)


def _describe(topic: Topic, indexes: list[int], alive: frozenset[int]) -> Any:
    partitions = []
    for index in indexes:
        view = partition_view(index, topic.partitions[index], alive, hide_dead=False)
        # the fields in order, cheaper than an object; both lists of eligible leader replicas are null
        partitions.append((*view[:6], (), (), view.offline))
    return _Topic(
        version=0,
        error_code=0,
        name=topic.name,
        topic_id=topic.id or ZERO_UUID,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
    )


def _failed_topic(name: str, error: type[KafkaError]) -> Any:
    return _Topic(
        version=0,
        error_code=error.code,
        name=name,
        topic_id=ZERO_UUID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
    )


def fail(request: Any, _version: int, error: KafkaError) -> Any:
    return DescribeTopicPartitionsResponse(
        version=0,
        throttle_time_ms=0,
        topics=[_failed_topic(topic.name, type(error)) for topic in request.topics],
        next_cursor=None,
    )


API = Api(75, "DescribeTopicPartitions", 0, 0, handle, fail, advertised=False)
