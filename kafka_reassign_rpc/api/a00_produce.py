"""Produce, see `partition_refusals`. With acks=0 the connection closes, since its producer reads no answer; without
partitions it goes on.

Difference: of records only the attributes of first batches are read, so that invalid ones get no other error. The
answer does not name the leader (KIP-951).
"""

from kafka_reassign_rpc.api.api_definition import (
    MANY,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.coordinator_refusals import check_transaction
from kafka_reassign_rpc.api.partition_refusals import (
    Layout,
    PartitionError,
    PartitionRefusals,
    TopicRights,
    named_topics,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.visible_topics import INTERNAL_TOPICS
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
)
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer
from kafka_reassign_rpc.protocol.messages import ProduceRequest, ProduceResponse
from kafka_reassign_rpc.support.turns import Work

REFUSALS = PartitionRefusals(
    ProduceResponse,
    Layout("topic_data", "name", "partition_data", "index"),
    Layout("responses", "name", "partition_responses", "index"),
    {"base_offset": -1},
)
ADMIN_CLIENT = "__admin_client"
"""The client id that may write to internal topics (AdminUtils.ADMIN_CLIENT_ID)."""
_MAGIC, _ATTRIBUTES = 16, 22
"""Where a batch of records has its format, and the byte of its attributes that says whether it is transactional."""
_TRANSACTIONAL = 0x10


def handle(node: Node, request: ProduceRequest, ctx: RequestContext) -> Work[Answer]:
    if request.acks == 0:
        return NoAnswer(closes=any(topic.partition_data for topic in request.topic_data))
    if any(_is_transactional(one.records) for topic in request.topic_data for one in topic.partition_data):
        if request.transactional_id is None:
            raise TransactionalIdAuthorizationFailed
        check_transaction(ctx.access, AclOperation.WRITE, request.transactional_id)

    def error_of(topic: str) -> PartitionError:
        error: KafkaError = NotLeaderOrFollower()
        if request.acks not in {-1, 1}:
            error = InvalidRequiredAcks()
        elif topic in INTERNAL_TOPICS and ctx.client_id != ADMIN_CLIENT:
            error = InvalidTopic()
        return lambda _index, _partition: error

    known = yield from named_topics(node, request.topic_data)
    rights = TopicRights(topic_right(ctx.access, AclOperation.WRITE), known)
    return (yield from REFUSALS.refuse(request, ctx.api_version, rights.errors(error_of)))


def _is_transactional(records: bytes | None) -> bool:
    """Whether the first batch says so (RequestUtils.hasTransactionalRecords)."""
    if records is None or len(records) <= _ATTRIBUTES or records[_MAGIC] != 2:
        return False
    return bool(records[_ATTRIBUTES] & _TRANSACTIONAL)


def fail(request: ProduceRequest, version: int, error: KafkaError) -> Handled:
    return NoAnswer(closes=True) if request.acks == 0 else REFUSALS.fail(request, version, error)


API = Api(
    key=0,
    name="Produce",
    min_version=0,
    max_version=11,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.WRITE, AclResource.TOPIC),
        Acl(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, "transactional records"),
    ),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
