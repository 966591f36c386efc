"""Metadata, as KafkaApis.handleTopicMetadataRequest of a ZooKeeper-mode broker answers.

An empty list means all topics in version 0, null in later ones. Version 0 leaves out dead brokers. A topic that the
caller may not DESCRIBE is refused if the request names it, and left out if it asks for all. A node that cannot learn
its topics still names the brokers, and its topics have LEADER_NOT_AVAILABLE, which clients take for temporary.

Difference: a request never creates a topic, whatever `allow_auto_topic_creation` says: an administration server has no
producers or consumers that need it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import (
    INTERNAL_TOPICS,
    ZERO_UUID,
    PartitionMetadata,
    controller_of,
    is_visible,
    known_topics,
    partition_metadata,
)
from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import SMALL, answer_with
from kafka_reassign_rpc.api.ports import Node, NodeEndpoint
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerNotAvailable,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    LeaderNotAvailable,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import MetadataRequest, MetadataResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order
from kafka_reassign_rpc.support.turns import rest

_FIRST_WITH_ID_FIELD = 10
FIRST_WITH_TOPIC_IDS = 12

_Broker = MetadataResponse.MetadataResponseBroker
_Topic = MetadataResponse.MetadataResponseTopic


class _Asked(NamedTuple):
    names: list[str]
    ids: list[UUID]


class _Missing(NamedTuple):
    """A topic that the answer does not show, by its name or, if that is None, its id."""

    name: str | None
    topic_id: UUID
    code: int


async def handle(node: Node, request: MetadataRequest, ctx: RequestContext) -> Answer:
    try:
        return await _with_topics(node, request, ctx)
    except BrokerNotAvailable as error:
        # a client believes that no other brokers exist than the answer shows
        asked = await _asked(request.topics or (), ctx.api_version)
        missing = await _not_now(asked, ctx)
        return await _message(node, (), missing, request, ctx, 0 if missing else error.code)


async def _not_now(asked: _Asked, ctx: RequestContext) -> list[_Missing]:
    found = [_Missing(None, topic_id, LeaderNotAvailable.code) for topic_id in asked.ids]
    for name in asked.names:
        may = _may_describe(ctx.access, name)
        found.append(_Missing(name, ZERO_UUID, LeaderNotAvailable.code if may else TopicAuthorizationFailed.code))
        await rest()
    return found


async def _with_topics(node: Node, request: MetadataRequest, ctx: RequestContext) -> Answer:
    version = ctx.api_version
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        known = await known_topics(node, None)
        visible = await _visible(known, ctx.access)
        return await _message(node, visible, (), request, ctx)
    asked = await _asked(wanted, version)
    # ids count before names, as in Kafka; resolving them needs the topics
    known = await known_topics(node, None if asked.ids else asked.names)
    return await _answer(node, known, asked, request, ctx)


async def _visible(known: Mapping[str, Topic], access: Access) -> list[Topic]:
    visible = list(filter(is_visible, known.values()))
    if access.unlimited:
        return visible
    found = []
    for topic in visible:
        await rest()
        if _may_describe(access, topic.name, log_if_denied=False):
            found.append(topic)
    return found


def _may_describe(access: Access, name: str, *, log_if_denied: bool = True) -> bool:
    return access.may(AclOperation.DESCRIBE, AclResource.TOPIC, name, log_if_denied=log_if_denied)


async def _asked(wanted: Sequence[MetadataRequest.MetadataRequestTopic], version: int) -> _Asked:
    """Raises InvalidRequest."""
    names: dict[str, None] = {}
    ids: dict[UUID, None] = {}
    nameless = False
    for topic in wanted:
        name, topic_id = topic.name, topic.topic_id if version >= _FIRST_WITH_ID_FIELD else None
        if version < FIRST_WITH_TOPIC_IDS and name is None:
            raise InvalidRequest(f"Topic name can not be null for version {version}")
        if topic_id not in (None, ZERO_UUID):
            if version < FIRST_WITH_TOPIC_IDS:
                raise InvalidRequest(f"Topic IDs are not supported in requests for version {version}")
            ids[topic_id] = None
        elif name is None:
            nameless = True
        else:
            names[name] = None
        await rest()
    if nameless and not ids:
        raise InvalidRequest("A topic needs a name or a topic ID")
    return _Asked(list(names), list(ids))


async def _answer(
    node: Node, known: Mapping[str, Topic], asked: _Asked, request: MetadataRequest, ctx: RequestContext
) -> Answer:
    found: list[Topic] = []
    missing: list[_Missing] = []
    denied: list[_Missing] = []
    if asked.ids:
        resolve = _resolver(node, known)
        for topic_id in asked.ids:
            topic = known.get(resolve(topic_id) or "")
            if topic is None or not is_visible(topic):
                missing.append(_Missing(None, topic_id, UnknownTopicId.code))
            elif _may_describe(ctx.access, topic.name):
                found.append(topic)
            else:
                denied.append(_Missing(None, topic_id, TopicAuthorizationFailed.code))
            await rest()
    else:
        for name in asked.names:
            topic = known.get(name)
            if not _may_describe(ctx.access, name):
                denied.append(_Missing(name, ZERO_UUID, TopicAuthorizationFailed.code))
            elif topic is not None and is_visible(topic):
                found.append(topic)
            else:
                code = UnknownTopicOrPartition.code if is_valid_name(name) else InvalidTopic.code
                missing.append(_Missing(name, ZERO_UUID, code))
            await rest()
    return await _message(node, found, [*missing, *denied], request, ctx)


def _resolver(node: Node, known: Mapping[str, Topic]) -> Callable[[UUID], str | None]:
    """A node that had to fetch its topics knows only the ids among them."""
    if node.topics_now() is not None:
        return node.topic_name
    by_id = {topic.id: name for name, topic in known.items()}
    return by_id.get


async def _message(
    node: Node,
    found: Sequence[Topic],
    missing: Sequence[_Missing],
    request: MetadataRequest,
    ctx: RequestContext,
    error_code: int = 0,
) -> Answer:
    endpoints = node.nodes(ctx.listener)
    version = ctx.api_version
    operations = (
        partial(ctx.access.operations, AclResource.TOPIC) if request.include_topic_authorized_operations else None
    )
    answer = MetadataResponse(
        version=version,
        throttle_time_ms=0,
        brokers=_brokers(endpoints, version),
        cluster_id=node.cluster_id,
        controller_id=controller_of(node),
        authorized_operations=ctx.access.cluster_operations()
        if request.include_cluster_authorized_operations
        else None,
        error_code=error_code,
    )
    alive = frozenset(e.id for e in endpoints)
    topics = (_topic(version, topic, alive, operations) for topic in found)
    unknown = (_failed_topic(version, *one, operations) for one in missing)
    partitions = sum(len(topic.partitions) for topic in found)
    return await answer_with(answer, "topics", chain(topics, unknown), len(found) + len(missing), partitions)


def _brokers(endpoints: Sequence[NodeEndpoint], version: int) -> list[_Broker]:
    return [_Broker(version=version, node_id=e.id, host=e.host, port=e.port, rack=e.rack) for e in endpoints]


def _topic(
    version: int, topic: Topic, alive: frozenset[int], operations: Callable[[str], frozenset[int]] | None
) -> Any:
    """A topic as it is at this moment, its partitions in slices if they are many."""
    hide_dead = version == 0
    table = topic.partitions
    partitions = (
        _partition(version, partition_metadata(index, partition, alive, hide_dead=hide_dead))
        for index, partition in (table.items() if len(table) <= SMALL else list(table.items()))
    )
    head: dict[str, Any] = {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id or ZERO_UUID,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "authorized_operations": None if operations is None else operations(topic.name),
    }
    if len(table) <= SMALL:
        return _fields_of_topic(version)({**head, "partitions": list(partitions)})
    return InParts(_Topic(version=version, **head), "partitions", len(table), partitions)


def _partition(version: int, view: PartitionMetadata) -> tuple[object, ...]:
    """In the order of that version: much cheaper than an object for each."""
    if version >= 7:
        return view
    error, index, leader, _, replicas, isr, offline = view
    if version >= 5:
        return error, index, leader, replicas, isr, offline
    return error, index, leader, replicas, isr


def _failed_topic(
    version: int,
    name: str | None,
    topic_id: UUID,
    code: int,
    operations: Callable[[str], frozenset[int]] | None = None,
) -> tuple[object, ...]:
    """As in Kafka, a caller that may describe a topic that is not there learns what else it may do with it."""
    tells = operations is not None and name is not None and code != TopicAuthorizationFailed.code
    return _fields_of_topic(version)(
        {
            "error_code": code,
            "name": name,
            "topic_id": topic_id,
            "is_internal": name in INTERNAL_TOPICS and code != TopicAuthorizationFailed.code,
            "partitions": (),
            "authorized_operations": operations(name) if tells else None,  # type: ignore[misc,arg-type]
        }
    )


@cache
def _fields_of_topic(version: int) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    return in_order(_Topic, version)


async def fail(request: MetadataRequest, version: int, error: KafkaError) -> Answer:
    """As in Kafka, an answer in which all topics have failed has "" for a null name."""
    asked = request.topics or ()
    answer = MetadataResponse(version=version, throttle_time_ms=0, brokers=[], error_code=error.code)
    topics = (_failed_topic(version, t.name or "", t.topic_id or ZERO_UUID, error.code) for t in asked)
    return await answer_with(answer, "topics", topics, len(asked))


API = served(
    MetadataRequest,
    Acl(AclOperation.DESCRIBE, AclResource.TOPIC),
    handle=handle,
    fail=fail,
    max_elements=ALL_PARTITIONS,
)
