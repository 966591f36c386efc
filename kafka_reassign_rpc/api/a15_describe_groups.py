"""DescribeGroups, see `coordinator_refusals`."""

from collections.abc import Callable
from functools import partial

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
from kafka_reassign_rpc.api.coordinator_refusals import group_code
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_reassign_rpc.protocol.sliced_messages import in_order
from kafka_reassign_rpc.support.turns import Steps

_Group = DescribeGroupsResponse.DescribedGroup


def handle(_node: Node, request: DescribeGroupsRequest, ctx: RequestContext) -> Handled:
    return _answer(request, ctx.api_version, partial(group_code, ctx.access, AclOperation.DESCRIBE))


def fail(request: DescribeGroupsRequest, version: int, error: KafkaError) -> Handled:
    return _answer(request, version, lambda _group: error.code)


def _answer(request: DescribeGroupsRequest, version: int, code: Callable[[str], int]) -> Steps[Answer]:
    fields = in_order(_Group, version)
    same = {
        "group_state": "",
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
        "authorized_operations": None,
        "error_message": None,
    }
    groups = (fields({**same, "group_id": group, "error_code": code(group)}) for group in request.groups)
    return answer_with(
        DescribeGroupsResponse(version=version, throttle_time_ms=0), "groups", groups, len(request.groups)
    )


API = Api(
    key=15,
    name="DescribeGroups",
    min_version=0,
    max_version=5,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.GROUP),),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
