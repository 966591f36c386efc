"""Filters of ACLs as DescribeAcls and DeleteAcls send them."""

from kafka_reassign_rpc.core.acls.acl_binding import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import DeleteAclsRequest, DescribeAclsRequest


def binding_filter(one: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter, version: int) -> AclBindingFilter:
    """Version 0 knows only literal patterns. Raises InvalidRequest for the code 0, which means no value."""
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
