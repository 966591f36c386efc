"""OffsetCommit, see `coordinator_refusals`.

Difference: in version 0 a broker stores offsets in ZooKeeper; this node does not.
"""

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
from kafka_reassign_rpc.api.coordinator_refusals import check_group
from kafka_reassign_rpc.api.partition_refusals import PartitionRefusals, TopicRights, named_topics, same, topic_right
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import NotCoordinator
from kafka_reassign_rpc.protocol.messages import OffsetCommitRequest, OffsetCommitResponse
from kafka_reassign_rpc.support.turns import Work

REFUSALS = PartitionRefusals(OffsetCommitResponse)


def handle(node: Node, request: OffsetCommitRequest, ctx: RequestContext) -> Work[Answer]:
    check_group(ctx.access, AclOperation.READ, request.group_id)

    known = yield from named_topics(node, request.topics)
    rights = TopicRights(topic_right(ctx.access, AclOperation.READ), known)
    return (yield from REFUSALS.refuse(request, ctx.api_version, rights.errors(same(NotCoordinator()))))


API = Api(
    key=8,
    name="OffsetCommit",
    min_version=0,
    max_version=9,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.READ, AclResource.GROUP), Acl(AclOperation.READ, AclResource.TOPIC)),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
