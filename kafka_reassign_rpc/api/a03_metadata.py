"""Metadata (key 3), versions 0-13: brokers, controller, topics and partitions.

Behaviour   as KafkaApis.handleTopicMetadataRequest of a ZooKeeper-mode broker. An empty list means all topics in
            version 0, null in later ones. Version 0 leaves out dead brokers. Topic ids come with version 12.
            Authorized operations are shown on request: all of them, since there is no authorizer. Version 13 adds
            a top-level error.
Difference  A request never creates a topic, whatever `allow_auto_topic_creation` says: an administration server
            has no producers or consumers that need it.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_reassign_rpc.api.answer_fields import ALL_CLUSTER_OPERATIONS, ALL_TOPIC_OPERATIONS, ZERO_UUID
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, Handled, RequestContext
from kafka_reassign_rpc.api.large_requests import SMALL_ANSWER, build_in_thread
from kafka_reassign_rpc.api.partition_metadata import PartitionMetadata, count_partitions, partition_metadata, snapshot
from kafka_reassign_rpc.api.ports import Node, NodeEndpoint
from kafka_reassign_rpc.api.visible_topics import INTERNAL_TOPICS, is_visible, with_topics
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.cluster import Topic
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import MetadataRequest, MetadataResponse

FIRST_WITH_TOPIC_IDS = 12

_Broker = MetadataResponse.MetadataResponseBroker
_Topic = MetadataResponse.MetadataResponseTopic


def handle(node: Node, request: MetadataRequest, ctx: RequestContext) -> Handled:
    version = ctx.api_version
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        return with_topics(node, None, lambda known: _answer_all(node, known, request, ctx))
    ids = [t.topic_id for t in wanted if version >= 10 and t.topic_id not in (None, ZERO_UUID)]
    if version < FIRST_WITH_TOPIC_IDS:
        if any(t.name is None for t in wanted):
            raise InvalidRequest(f"Topic name can not be null for version {version}")
        if ids:
            raise InvalidRequest(f"Topic IDs are not supported in requests for version {version}")
    if ids:
        # ids count before names, as in Kafka; resolving them needs the topics
        return with_topics(node, None, lambda known: _answer_ids(node, known, dict.fromkeys(ids), request, ctx))
    names = list(dict.fromkeys(t.name for t in wanted if t.name is not None))
    if any(t.name is None for t in wanted):
        raise InvalidRequest("A topic needs a name or a topic ID")
    return with_topics(node, names, lambda known: _answer_names(node, known, names, request, ctx))


def _answer_all(node: Node, known: Mapping[str, Topic], request: MetadataRequest, ctx: RequestContext) -> Handled:
    return _answer_names(node, known, [name for name, topic in known.items() if is_visible(topic)], request, ctx)


def _answer_ids(
    node: Node, known: Mapping[str, Topic], ids: Mapping[UUID, None], request: MetadataRequest, ctx: RequestContext
) -> Handled:
    if node.topics_now() is None:  # a node that had to fetch its topics knows only the ids among them
        by_id = {topic.id: name for name, topic in known.items()}
        names = {topic_id: by_id.get(topic_id) for topic_id in ids}
    else:
        names = {topic_id: node.topic_name(topic_id) for topic_id in ids}
    missing = [
        _failed_topic(ctx.api_version, None, UnknownTopicId.code, topic_id)
        for topic_id, name in names.items()
        if name is None or not is_visible(known.get(name))
    ]
    found = [name for name in names.values() if name is not None and is_visible(known.get(name))]
    return _answer_names(node, known, found, request, ctx, missing)


def _answer_names(
    node: Node,
    known: Mapping[str, Topic],
    names: Sequence[str],
    request: MetadataRequest,
    ctx: RequestContext,
    extra: Sequence[_Topic] = (),
) -> Handled:
    endpoints = node.nodes(ctx.listener)
    found = [known[name] for name in names if is_visible(known.get(name))]
    missing = [_unknown(ctx.api_version, name) for name in names if not is_visible(known.get(name))]
    operations = ALL_TOPIC_OPERATIONS if request.include_topic_authorized_operations else None
    answer = MetadataResponse(
        version=ctx.api_version,
        throttle_time_ms=0,
        brokers=_brokers(endpoints, ctx.api_version),
        cluster_id=node.cluster_id,
        controller_id=node.controller_id(),
        authorized_operations=ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else None,
        error_code=0,
    )
    alive = frozenset(e.id for e in endpoints)

    def fill(topics: Sequence[Topic]) -> MetadataResponse:
        answer.topics = [*(_topic(ctx.api_version, topic, alive, operations) for topic in topics), *missing, *extra]
        return answer

    if count_partitions(known, names) <= SMALL_ANSWER:
        return fill(found)
    copies = [snapshot(topic) for topic in found]
    return build_in_thread(lambda: fill(copies), ctx.api_version)


def _brokers(endpoints: Sequence[NodeEndpoint], version: int) -> list[_Broker]:
    return [_Broker(version=version, node_id=e.id, host=e.host, port=e.port, rack=e.rack) for e in endpoints]


def _topic(version: int, topic: Topic, alive: frozenset[int], operations: frozenset[int] | None) -> _Topic:
    hide_dead = version == 0
    partitions = [
        _partition(version, partition_metadata(index, partition, alive, hide_dead=hide_dead))
        for index, partition in topic.partitions.items()
    ]
    return _Topic(
        version=version,
        error_code=0,
        name=topic.name,
        topic_id=topic.id or ZERO_UUID,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        authorized_operations=operations,
    )


def _partition(version: int, view: PartitionMetadata) -> tuple[object, ...]:
    """The fields of a partition in the order of that version: much cheaper than an object for each."""
    if version >= 7:
        return view
    error, index, leader, _, replicas, isr, offline = view
    if version >= 5:
        return error, index, leader, replicas, isr, offline
    return error, index, leader, replicas, isr


def _unknown(version: int, name: str) -> _Topic:
    error = UnknownTopicOrPartition if is_valid_name(name) else InvalidTopic
    return _failed_topic(version, name, error.code, ZERO_UUID)


def _failed_topic(version: int, name: str | None, code: int, topic_id: UUID) -> _Topic:
    return _Topic(
        version=version,
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        authorized_operations=None,
    )


def fail(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    topics = [
        _failed_topic(
            version, t.name or (None if version >= FIRST_WITH_TOPIC_IDS else ""), error.code, t.topic_id or ZERO_UUID
        )
        for t in request.topics or ()
    ]
    return MetadataResponse(version=version, throttle_time_ms=0, brokers=[], topics=topics, error_code=error.code)


API = Api(
    key=3,
    name="Metadata",
    min_version=0,
    max_version=13,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.TOPIC),),
    handle=handle,
    fail=fail,
)
