"""DescribeAcls, as AclApis.handleDescribeAcls. An ACL whose operation or permission Kafka does not know, which only
another tool can have written to ZooKeeper, makes the whole answer UNKNOWN_SERVER_ERROR, as in Kafka.

Difference: a filter with a code that means no value at all is INVALID_REQUEST; a broker closes the connection.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.left_to_brokers import acls_of
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclBindingFilter,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, UnknownServerError
from kafka_reassign_rpc.protocol.messages import DeleteAclsRequest, DescribeAclsRequest, DescribeAclsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order


def binding_filter(one: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter, version: int) -> AclBindingFilter:
    """A filter of DescribeAcls or DeleteAcls. Version 0 knows only literal patterns. Raises InvalidRequest for the code
    0, which means no value.
    """
    pattern = one.pattern_type_filter if version >= 1 else PatternType.LITERAL
    if not all((one.resource_type_filter, pattern, one.operation, one.permission_type)):
        raise InvalidRequest("A filter has no UNKNOWN resource type, pattern type, operation or permission type.")
    return AclBindingFilter(
        ResourceType.of(one.resource_type_filter),
        one.resource_name_filter,
        PatternType.of(pattern),
        one.principal_filter,
        one.host_filter,
        AclOperation.of(one.operation),
        AclPermissionType.of(one.permission_type),
    )


_Resource = DescribeAclsResponse.DescribeAclsResource
_Description = _Resource.AclDescription


async def handle(node: Node, request: DescribeAclsRequest, ctx: RequestContext) -> Answer:
    acls = acls_of(node, "No Authorizer is configured on the broker")
    version = ctx.api_version
    found = await acls.find(binding_filter(request, version))
    if any(map(_is_unknown, found.values())):
        raise UnknownServerError("Contain UNKNOWN elements")
    answer = DescribeAclsResponse(version=version, throttle_time_ms=0, error_code=0, error_message="")
    resources = (_resource(version, pattern, entries) for pattern, entries in found.items())
    return await answer_with(answer, "resources", resources, len(found), sum(map(len, found.values())))


def _is_unknown(entries: Sequence[AccessControlEntry]) -> bool:
    return any(
        one.operation is AclOperation.UNKNOWN or one.permission_type is AclPermissionType.UNKNOWN for one in entries
    )


def _resource(version: int, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> InParts:
    fields = in_order(_Description, version)
    descriptions = (
        fields(
            {
                "principal": one.principal,
                "host": one.host,
                "operation": one.operation,
                "permission_type": one.permission_type,
            }
        )
        for one in entries
    )
    head = _Resource(
        version=version,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
    )
    return InParts(head, "acls", len(entries), descriptions)


API = served(DescribeAclsRequest, Acl(AclOperation.DESCRIBE, AclResource.CLUSTER), handle=handle)
