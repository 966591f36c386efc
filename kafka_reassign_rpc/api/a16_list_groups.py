"""ListGroups: the list is empty. Clients ask every node and merge the answers."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import ListGroupsRequest, ListGroupsResponse


def handle(_node: Node, _request: ListGroupsRequest, ctx: RequestContext) -> ListGroupsResponse:
    return ListGroupsResponse(version=ctx.api_version, throttle_time_ms=0, error_code=0, groups=[])


API = Api(
    key=16,
    name="ListGroups",
    min_version=0,
    max_version=5,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.DESCRIBE, AclResource.CLUSTER, "all groups"),
        Acl(AclOperation.DESCRIBE, AclResource.GROUP, "else the groups that are shown"),
    ),
    handle=handle,
    fail=error_alone(ListGroupsResponse),
)
