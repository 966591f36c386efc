"""DescribeGroups (key 15), versions 0-5: this node coordinates no group.

Behaviour   Each group gets NOT_COORDINATOR, which sends the client back to FindCoordinator.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotCoordinator
from kafka_reassign_rpc.protocol.messages import DescribeGroupsRequest, DescribeGroupsResponse

_Group = DescribeGroupsResponse.DescribedGroup


def handle(_node: Node, _request: DescribeGroupsRequest, _ctx: RequestContext) -> NoReturn:
    raise NotCoordinator


def fail(request: DescribeGroupsRequest, version: int, error: KafkaError) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        version=version,
        throttle_time_ms=0,
        groups=[
            _Group(
                version=version,
                error_code=error.code,
                group_id=group,
                group_state="",
                protocol_type="",
                protocol_data="",
                members=[],
            )
            for group in request.groups
        ],
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
)
