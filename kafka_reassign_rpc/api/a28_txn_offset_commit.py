"""TxnOffsetCommit, see `coordinator_refusals`."""

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
from kafka_reassign_rpc.api.coordinator_refusals import check_group, check_transaction, group_error
from kafka_reassign_rpc.api.partition_refusals import PartitionRefusals, TopicRights, named_topics, same, topic_right
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafka_reassign_rpc.support.turns import Work

REFUSALS = PartitionRefusals(TxnOffsetCommitResponse)


def handle(node: Node, request: TxnOffsetCommitRequest, ctx: RequestContext) -> Work[Answer]:
    check_transaction(ctx.access, AclOperation.WRITE, request.transactional_id)
    check_group(ctx.access, AclOperation.READ, request.group_id)

    known = yield from named_topics(node, request.topics)
    rights = TopicRights(topic_right(ctx.access, AclOperation.READ), known)
    return (yield from REFUSALS.refuse(request, ctx.api_version, rights.errors(same(group_error(request.group_id)))))


API = Api(
    key=28,
    name="TxnOffsetCommit",
    min_version=0,
    max_version=4,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID),
        Acl(AclOperation.READ, AclResource.GROUP),
        Acl(AclOperation.READ, AclResource.TOPIC),
    ),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
