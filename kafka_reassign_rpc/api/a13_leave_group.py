"""LeaveGroup, see `coordinator_refusals`."""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.coordinator_refusals import refuse_member
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import LeaveGroupRequest, LeaveGroupResponse


def handle(_node: Node, request: LeaveGroupRequest, ctx: RequestContext) -> NoReturn:
    refuse_member(ctx.access, request.group_id)


API = Api(
    key=13,
    name="LeaveGroup",
    min_version=0,
    max_version=5,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.READ, AclResource.GROUP),),
    handle=handle,
    fail=error_alone(LeaveGroupResponse),
)
