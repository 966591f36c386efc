"""DeleteGroups, see `coordinator_refusals`. Each group is answered once."""

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
from kafka_reassign_rpc.protocol.messages import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_reassign_rpc.protocol.sliced_messages import in_order
from kafka_reassign_rpc.support.turns import Steps

_Result = DeleteGroupsResponse.DeletableGroupResult


def handle(_node: Node, request: DeleteGroupsRequest, ctx: RequestContext) -> Handled:
    return _answer(request, ctx.api_version, partial(group_code, ctx.access, AclOperation.DELETE))


def fail(request: DeleteGroupsRequest, version: int, error: KafkaError) -> Handled:
    return _answer(request, version, lambda _group: error.code)


def _answer(request: DeleteGroupsRequest, version: int, code: Callable[[str], int]) -> Steps[Answer]:
    fields = in_order(_Result, version)
    groups = dict.fromkeys(request.groups_names)
    results = (fields({"group_id": group, "error_code": code(group)}) for group in groups)
    return answer_with(DeleteGroupsResponse(version=version), "results", results, len(groups))


API = Api(
    key=42,
    name="DeleteGroups",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DELETE, AclResource.GROUP),),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
