"""ConsumerGroupDescribe: UNSUPPORTED_VERSION for each group, as for ConsumerGroupHeartbeat."""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import NOT_TOLD
from kafka_reassign_rpc.api.api_definition import MANY, Api, ApiGroup, Handled, RequestContext
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnsupportedVersion
from kafka_reassign_rpc.protocol.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse

_Group = ConsumerGroupDescribeResponse.DescribedGroup


def handle(_node: Node, _request: ConsumerGroupDescribeRequest, _ctx: RequestContext) -> NoReturn:
    raise UnsupportedVersion


def fail(request: ConsumerGroupDescribeRequest, version: int, error: KafkaError) -> Handled:
    groups = (
        _Group(version=version, group_id=group, error_code=error.code, members=[], authorized_operations=NOT_TOLD)
        for group in request.group_ids
    )
    return answer_with(ConsumerGroupDescribeResponse(version=version), "groups", groups, len(request.group_ids))


API = Api(
    key=69,
    name="ConsumerGroupDescribe",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
