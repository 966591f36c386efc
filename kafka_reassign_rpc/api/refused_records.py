"""Records of partitions: this node leads none. See `refusals`.

Produce: with acks=0 the connection closes, since its producer reads no answer; without partitions it goes on. Fetch
opens no session. WriteTxnMarkers: each partition gets UNKNOWN_TOPIC_OR_PARTITION, as from a broker without a replica of
it (ReplicaManager.getMagic): a coordinator then asks Metadata for the leader.

Differences: of records only the attributes of first batches are read, so that invalid ones get no other error. Answers
do not name the leader (KIP-951). A standby knows no ids of topics.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.api.answer_fields import INTERNAL_TOPICS
from kafka_reassign_rpc.api.api_definition import (
    MANY,
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import (
    DENIED,
    UNKNOWN,
    KnownTopics,
    PartitionError,
    TopicErrors,
    TopicRights,
    anything,
    check_transaction,
    layout,
    of_partitions,
    partitions_of,
    partitions_refused,
    same,
    topic_right,
    topics_named_by,
    topics_refused,
)
from kafka_reassign_rpc.core.kafka_errors import (
    FetchSessionIdNotFound,
    InvalidRequest,
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    UnknownTopicId,
    UnsupportedVersion,
)
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol import messages as m
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import named_twice
from kafka_reassign_rpc.support.turns import in_turns, rest

READ, WRITE, DESCRIBE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.DELETE
TOPIC, CLUSTER = AclResource.TOPIC, AclResource.CLUSTER
_NOT_LEADER, _INVALID = NotLeaderOrFollower(), InvalidTopic()


# ------------------------------------------------------------------------------------------------------------- Produce

ADMIN_CLIENT = "__admin_client"
"""The client id that may write to internal topics (AdminUtils.ADMIN_CLIENT_ID)."""
_MAGIC, _ATTRIBUTES = 16, 22
"""Where a batch of records has its format, and the byte of its attributes that says whether it is transactional."""
_TRANSACTIONAL = 0x10
_PRODUCED = {"base_offset": -1}


async def _produce(node: Node, request: m.ProduceRequest, ctx: RequestContext) -> Answer:
    if request.acks == 0:
        return NoAnswer(closes=any(topic.partition_data for topic in request.topic_data))
    if any(_is_transactional(one.records) for topic in request.topic_data for one in topic.partition_data):
        if request.transactional_id is None:
            raise TransactionalIdAuthorizationFailed
        check_transaction(ctx.access, request.transactional_id)

    def error_of(topic: str) -> PartitionError:
        error: KafkaError = _NOT_LEADER
        if request.acks not in {-1, 1}:
            error = InvalidRequiredAcks()
        elif topic in INTERNAL_TOPICS and ctx.client_id != ADMIN_CLIENT:
            error = _INVALID
        return lambda _index, _partition: error

    known = await topics_named_by(node, request, ctx.api_version)
    errors = TopicRights(topic_right(ctx.access, WRITE), known).errors(error_of)
    return await partitions_refused(request, ctx.api_version, errors, _PRODUCED)


def _is_transactional(records: bytes | None) -> bool:
    """Whether the first batch says so (RequestUtils.hasTransactionalRecords)."""
    if records is None or len(records) <= _ATTRIBUTES or records[_MAGIC] != 2:
        return False
    return bool(records[_ATTRIBUTES] & _TRANSACTIONAL)


async def _not_produced(request: m.ProduceRequest, version: int, error: KafkaError) -> Answer:
    return (
        NoAnswer(closes=True)
        if request.acks == 0
        else await partitions_refused(request, version, same(error), _PRODUCED)
    )


# --------------------------------------------------------------------------------------------------------------- Fetch

_FIRST_WITH_SESSIONS, _FIRST_WITH_IDS, _FIRST_WITH_REPLICA_STATE = 7, 13, 15
_FULL_EPOCHS = {0, -1}
"""Epochs of a request that names all its partitions (FetchMetadata.isFull)."""
_FETCHED = {"high_watermark": -1}


async def _fetch(node: Node, request: m.FetchRequest, ctx: RequestContext) -> Answer:
    version = ctx.api_version
    if version >= _FIRST_WITH_SESSIONS and request.session_epoch not in _FULL_EPOCHS:
        return m.FetchResponse(version=version, error_code=FetchSessionIdNotFound.code)
    may = topic_right(ctx.access, READ)
    if _follower(request, version) >= 0:
        if not ctx.access.may_on_cluster(AclOperation.CLUSTER_ACTION):
            return await partitions_refused(request, version, same(DENIED), _FETCHED)
        may = anything
    if version < _FIRST_WITH_IDS:
        known = await topics_named_by(node, request, version)
        errors = TopicRights(may, known).errors(same(_NOT_LEADER))
    else:
        errors = _by_id(node, TopicRights(may, node.topics_now() or {}).errors(same(_NOT_LEADER)))
    return await partitions_refused(request, version, errors, _FETCHED)


def _by_id(node: Node, errors: TopicErrors) -> TopicErrors:
    def of_id(topic_id: UUID) -> PartitionError:
        name = node.topic_name(topic_id)
        return (lambda _index, _partition: UnknownTopicId()) if name is None else errors(name)

    return of_id


def _follower(request: m.FetchRequest, version: int) -> int:
    """The broker that fetches; -1 or less for a consumer."""
    if version < _FIRST_WITH_REPLICA_STATE:
        return request.replica_id
    return -1 if request.replica_state is None else request.replica_state.replica_id


async def _not_fetched(request: m.FetchRequest, version: int, error: KafkaError) -> Answer:
    if version >= _FIRST_WITH_IDS:
        return m.FetchResponse(version=version, error_code=error.code, session_id=request.session_id)
    top = {"error_code": error.code, "session_id": request.session_id} if version >= _FIRST_WITH_SESSIONS else {}
    return await partitions_refused(request, version, same(error), _FETCHED, **top)


# --------------------------------------------------------------------------------------------------------- ListOffsets

LEAST_VERSIONS: Mapping[int, int] = {-2: 1, -1: 1, -3: 7, -4: 8, -5: 9}
"""The places in a log that a negative time can mean, and since which version (handleListOffsetRequestV1AndAbove)."""
_EARLIEST = -2
_TWICE, _UNKNOWN_PLACE = InvalidRequest(), UnsupportedVersion()


async def _list_offsets(node: Node, request: m.ListOffsetsRequest, ctx: RequestContext) -> Answer:
    version = ctx.api_version
    known = await topics_named_by(node, request, version)
    rights = TopicRights(topic_right(ctx.access, DESCRIBE), known)
    named = ((topic.name, one.partition_index) for topic in request.topics for one in topic.partitions)
    twice = await in_turns(named_twice(named if version else ()))  # version 0 allows it

    def of_topic(name: str) -> PartitionError:
        if not rights.may(name):
            return lambda _index, _partition: DENIED
        existing = rights.existing(name)

        def error_of(index: int, partition: Any) -> KafkaError:
            if (name, index) in twice:
                return _TWICE
            if not _is_known_place(partition.timestamp, version):
                return _UNKNOWN_PLACE
            return _NOT_LEADER if index in existing else UNKNOWN

        return error_of

    return await partitions_refused(request, version, of_topic)


def _is_known_place(timestamp: int, version: int) -> bool:
    if version == 0:
        return timestamp >= _EARLIEST
    return timestamp >= 0 or version >= LEAST_VERSIONS.get(timestamp, version + 1)


async def _no_offsets(request: m.ListOffsetsRequest, version: int, error: KafkaError) -> Answer:
    return await partitions_refused(request, version, same(error))


# ----------------------------------------------------------------------------------------------------- WriteTxnMarkers

_Marker = m.WriteTxnMarkersResponse.WritableTxnMarkerResult


async def _write_markers(_node: Node, request: m.WriteTxnMarkersRequest, ctx: RequestContext) -> Answer:
    if not ctx.access.may_on_cluster(AclOperation.ALTER, log_if_denied=False):
        ctx.access.check_cluster(AclOperation.CLUSTER_ACTION, "WriteTxnMarkers")
    return await _not_written(request, ctx.api_version, UNKNOWN)


async def _not_written(request: m.WriteTxnMarkersRequest, version: int, error: KafkaError) -> Answer:
    def markers() -> Iterator[InParts]:
        for marker in request.markers:
            marker_result = _Marker(version=version, producer_id=marker.producer_id)
            topics = topics_refused(marker, _Marker, version, same(error))
            yield InParts(marker_result, layout(_Marker, version).topics, len(marker.topics), topics)

    items = 0
    for marker in request.markers:
        items += 1 + partitions_of(marker, version)
        await rest()
    return await answer_with(
        m.WriteTxnMarkersResponse(version=version), "markers", markers(), len(request.markers), items
    )


# -------------------------------------------------------------------------------------------------------------- others


def _of_deletion(_request: object, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
    def error_of(topic: str) -> PartitionError:
        return lambda _index, _partition: _INVALID if topic in INTERNAL_TOPICS else _NOT_LEADER

    return TopicRights(topic_right(ctx.access, DELETE), known).errors(error_of)


def _of_epochs(_request: object, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
    """Either right is enough."""
    follower = ctx.access.may_on_cluster(AclOperation.CLUSTER_ACTION, log_if_denied=False)
    may = anything if follower else topic_right(ctx.access, DESCRIBE)
    return TopicRights(may, known).errors(same(_NOT_LEADER))


def _of_producers(_request: object, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
    """The first error is that of a name that no topic can have."""
    errors = TopicRights(topic_right(ctx.access, READ), known).errors(same(_NOT_LEADER))
    return lambda name: errors(name) if is_valid_name(name) else same(_INVALID)(name)


# ---------------------------------------------------------------------------------------------------------------- rows

APIS: tuple[Api, ...] = (
    served(
        m.ProduceRequest,
        Acl(WRITE, TOPIC),
        Acl(WRITE, AclResource.TRANSACTIONAL_ID, "transactional records"),
        handle=_produce,
        fail=_not_produced,
        max_elements=MANY,
    ),
    served(
        m.FetchRequest,
        Acl(READ, TOPIC, "consumers"),
        Acl(AclOperation.CLUSTER_ACTION, CLUSTER, "followers"),
        handle=_fetch,
        fail=_not_fetched,
        max_elements=PARTITION_NUMBERS,
    ),
    served(
        m.ListOffsetsRequest,
        Acl(DESCRIBE, TOPIC),
        handle=_list_offsets,
        fail=_no_offsets,
        max_elements=PARTITION_NUMBERS,
    ),
    served(
        m.WriteTxnMarkersRequest,
        Acl(AclOperation.ALTER, CLUSTER, "or CLUSTER_ACTION"),
        Acl(AclOperation.CLUSTER_ACTION, CLUSTER, "or ALTER"),
        handle=_write_markers,
        fail=_not_written,
        max_elements=PARTITION_NUMBERS,
    ),
    of_partitions(m.DeleteRecordsRequest, Acl(DELETE, TOPIC), errors=_of_deletion, fields={"low_watermark": -1}),
    of_partitions(
        m.OffsetForLeaderEpochRequest,
        Acl(AclOperation.CLUSTER_ACTION, CLUSTER, "or the topics"),
        Acl(DESCRIBE, TOPIC),
        errors=_of_epochs,
    ),
    of_partitions(m.DescribeProducersRequest, Acl(READ, TOPIC), errors=_of_producers),
)
