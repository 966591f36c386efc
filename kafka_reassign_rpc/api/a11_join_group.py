"""JoinGroup, see `coordinator_refusals`."""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.coordinator_refusals import refuse_member
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import GroupAuthorizationFailed, KafkaError
from kafka_reassign_rpc.protocol.messages import JoinGroupRequest, JoinGroupResponse

_FIRST_WITHOUT_PROTOCOL = 7
"""The first version that can say that there is none."""


def handle(_node: Node, request: JoinGroupRequest, ctx: RequestContext) -> NoReturn:
    refuse_member(ctx.access, request.group_id)


def fail(request: JoinGroupRequest, version: int, error: KafkaError) -> JoinGroupResponse:
    denied = isinstance(error, GroupAuthorizationFailed)
    return JoinGroupResponse(
        version=version,
        error_code=error.code,
        protocol_name=None if version >= _FIRST_WITHOUT_PROTOCOL else "",
        member_id="" if denied else request.member_id,
    )


API = Api(
    key=11,
    name="JoinGroup",
    min_version=0,
    max_version=9,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.READ, AclResource.GROUP),),
    handle=handle,
    fail=fail,
)
