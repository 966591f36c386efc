"""Fetch, see `partition_refusals`. Each partition gets its error at once, and the node opens no session.

Difference: the answer does not name the leader (KIP-951). A standby knows no ids of topics.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.partition_refusals import (
    DENIED,
    Layout,
    PartitionError,
    PartitionRefusals,
    TopicRights,
    anything,
    named_topics,
    same,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    FetchSessionIdNotFound,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicId,
)
from kafka_reassign_rpc.protocol.messages import FetchRequest, FetchResponse
from kafka_reassign_rpc.support.turns import Work

FIRST_WITH_SESSIONS = 7
FIRST_WITH_IDS = 13
FIRST_WITH_REPLICA_STATE = 15
_FIELDS: Mapping[str, Any] = {"high_watermark": -1}
_BY_NAME = PartitionRefusals(
    FetchResponse, Layout(name="topic", number="partition"), Layout("responses", "topic"), _FIELDS
)
_BY_ID = PartitionRefusals(
    FetchResponse, Layout(name="topic_id", number="partition"), Layout("responses", "topic_id"), _FIELDS
)
_FULL_EPOCHS = {0, -1}
"""Epochs of a request that names all its partitions (FetchMetadata.isFull)."""
_NOT_LEADER = same(NotLeaderOrFollower())


def handle(node: Node, request: FetchRequest, ctx: RequestContext) -> Work[Answer]:
    version = ctx.api_version
    if version >= FIRST_WITH_SESSIONS and request.session_epoch not in _FULL_EPOCHS:
        return FetchResponse(version=version, error_code=FetchSessionIdNotFound.code)
    may = topic_right(ctx.access, AclOperation.READ)
    if _follower(request, version) >= 0:
        if not ctx.access.may_on_cluster(AclOperation.CLUSTER_ACTION):
            refusals = _BY_NAME if version < FIRST_WITH_IDS else _BY_ID
            return (yield from refusals.refuse(request, version, same(DENIED)))
        may = anything
    if version < FIRST_WITH_IDS:
        known = yield from named_topics(node, request.topics, "topic")
        return (yield from _BY_NAME.refuse(request, version, TopicRights(may, known).errors(_NOT_LEADER)))
    rights = TopicRights(may, node.topics_now() or {}).errors(_NOT_LEADER)

    def of_id(topic_id: UUID) -> PartitionError:
        name = node.topic_name(topic_id)
        return _unknown_id if name is None else rights(name)

    return (yield from _BY_ID.refuse(request, version, of_id))


def _follower(request: FetchRequest, version: int) -> int:
    """The broker that fetches; -1 or less for a consumer."""
    if version < FIRST_WITH_REPLICA_STATE:
        return request.replica_id
    return -1 if request.replica_state is None else request.replica_state.replica_id


def _unknown_id(_index: int, _partition: Any) -> KafkaError:
    return UnknownTopicId()


def fail(request: FetchRequest, version: int, error: KafkaError) -> Handled:
    if version >= FIRST_WITH_IDS:
        return FetchResponse(version=version, error_code=error.code, session_id=request.session_id)
    top = {"error_code": error.code, "session_id": request.session_id} if version >= FIRST_WITH_SESSIONS else {}
    return _BY_NAME.refuse(request, version, same(error), **top)


API = Api(
    key=1,
    name="Fetch",
    min_version=0,
    max_version=17,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.READ, AclResource.TOPIC, "consumers"),
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "followers"),
    ),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
