"""DeleteAcls, as AclApis.handleDeleteAcls and AclAuthorizer.deleteAcls. An ACL that matches several filters is listed
under the first of them.

Difference: a filter with a code that means no value at all is INVALID_REQUEST for the whole request; a broker
closes the connection.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.a29_describe_acls import binding_filter
from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_ports import DeletedAcl
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.left_to_brokers import acls_of
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import each_element
from kafka_reassign_rpc.core.acls.acl_binding import AclBindingFilter
from kafka_reassign_rpc.protocol.messages import DeleteAclsRequest, DeleteAclsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order
from kafka_reassign_rpc.support.turns import rest

_Result = DeleteAclsResponse.DeleteAclsFilterResult
_Matching = _Result.DeleteAclsMatchingAcl


async def handle(node: Node, request: DeleteAclsRequest, ctx: RequestContext) -> Answer:
    acls = acls_of(node, "No Authorizer is configured.")
    deleted = await acls.delete(await _filters(request, ctx.api_version), ctx)
    answer = DeleteAclsResponse(version=ctx.api_version, throttle_time_ms=0)
    results = (_result(ctx.api_version, matching) for matching in deleted)
    return await answer_with(answer, "filter_results", results, len(deleted), sum(map(len, deleted)))


async def _filters(request: DeleteAclsRequest, version: int) -> list[AclBindingFilter]:
    found = []
    for one in request.filters:
        found.append(binding_filter(one, version))
        await rest()
    return found


def _result(version: int, matching: Sequence[DeletedAcl]) -> InParts:
    fields = in_order(_Matching, version)
    acls = (
        fields(
            {
                "error_code": code_of(error),
                "error_message": message_of(error),
                "resource_type": pattern.resource_type,
                "resource_name": pattern.name,
                "pattern_type": pattern.pattern_type,
                "principal": entry.principal,
                "host": entry.host,
                "operation": entry.operation,
                "permission_type": entry.permission_type,
            }
        )
        for (pattern, entry), error in matching
    )
    return InParts(_Result(version=version, error_code=0, error_message=None), "matching_acls", len(matching), acls)


API = served(DeleteAclsRequest, Acl(AclOperation.ALTER, AclResource.CLUSTER), handle=handle, fail=each_element())
