"""DeleteRecords, see `partition_refusals`."""

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
    PartitionError,
    PartitionRefusals,
    TopicRights,
    named_topics,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.visible_topics import INTERNAL_TOPICS
from kafka_reassign_rpc.core.kafka_errors import InvalidTopic, NotLeaderOrFollower
from kafka_reassign_rpc.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_reassign_rpc.support.turns import Work

REFUSALS = PartitionRefusals(DeleteRecordsResponse, fields={"low_watermark": -1})


def handle(node: Node, request: DeleteRecordsRequest, ctx: RequestContext) -> Work[Answer]:
    def error_of(topic: str) -> PartitionError:
        error = InvalidTopic() if topic in INTERNAL_TOPICS else NotLeaderOrFollower()
        return lambda _index, _partition: error

    known = yield from named_topics(node, request.topics)
    rights = TopicRights(topic_right(ctx.access, AclOperation.DELETE), known)
    return (yield from REFUSALS.refuse(request, ctx.api_version, rights.errors(error_of)))


API = Api(
    key=21,
    name="DeleteRecords",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DELETE, AclResource.TOPIC),),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
