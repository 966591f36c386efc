"""OffsetDelete, see `coordinator_refusals`. The group's error replaces those of topics, as in Kafka."""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    RequestContext,
)
from kafka_reassign_rpc.api.coordinator_refusals import check_group, group_error
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import OffsetDeleteRequest, OffsetDeleteResponse


def handle(_node: Node, request: OffsetDeleteRequest, ctx: RequestContext) -> NoReturn:
    check_group(ctx.access, AclOperation.DELETE, request.group_id)
    raise group_error(request.group_id)


API = Api(
    key=47,
    name="OffsetDelete",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DELETE, AclResource.GROUP),),
    handle=handle,
    fail=error_alone(OffsetDeleteResponse),
    max_elements=PARTITION_NUMBERS,
)
