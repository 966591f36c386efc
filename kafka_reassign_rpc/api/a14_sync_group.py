"""SyncGroup, see `coordinator_refusals`."""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.coordinator_refusals import refuse_member
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InconsistentGroupProtocol
from kafka_reassign_rpc.protocol.messages import SyncGroupRequest, SyncGroupResponse


def handle(_node: Node, request: SyncGroupRequest, ctx: RequestContext) -> NoReturn:
    if ctx.api_version >= 5 and None in (request.protocol_type, request.protocol_name):
        raise InconsistentGroupProtocol
    refuse_member(ctx.access, request.group_id)


API = Api(
    key=14,
    name="SyncGroup",
    min_version=0,
    max_version=5,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.READ, AclResource.GROUP),),
    handle=handle,
    fail=error_alone(SyncGroupResponse),
)
