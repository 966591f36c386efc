"""OffsetForLeaderEpoch, see `partition_refusals`. Either right is enough."""

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    RequestContext,
)
from kafka_reassign_rpc.api.partition_refusals import (
    Layout,
    PartitionRefusals,
    TopicRights,
    anything,
    named_topics,
    same,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import NotLeaderOrFollower
from kafka_reassign_rpc.protocol.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafka_reassign_rpc.support.turns import Work

_LAYOUT = Layout(name="topic", number="partition")
REFUSALS = PartitionRefusals(OffsetForLeaderEpochResponse, _LAYOUT, _LAYOUT)


def handle(node: Node, request: OffsetForLeaderEpochRequest, ctx: RequestContext) -> Work[Answer]:
    follower = ctx.access.may_on_cluster(AclOperation.CLUSTER_ACTION, told=False)
    may = anything if follower else topic_right(ctx.access, AclOperation.DESCRIBE)

    known = yield from named_topics(node, request.topics, "topic")
    errors = TopicRights(may, known).errors(same(NotLeaderOrFollower()))
    return (yield from REFUSALS.refuse(request, ctx.api_version, errors))


API = Api(
    key=23,
    name="OffsetForLeaderEpoch",
    min_version=0,
    max_version=4,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "or the topics"),
        Acl(AclOperation.DESCRIBE, AclResource.TOPIC),
    ),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
