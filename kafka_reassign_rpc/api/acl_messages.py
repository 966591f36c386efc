"""Filters of ACLs as DescribeAcls and DeleteAcls send them."""

from kafka_reassign_rpc.core.acls.acl_binding import AclOperation, AclPermissionType, PatternType, ResourceType
from kafka_reassign_rpc.core.acls.acl_filters import AclBindingFilter
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest


def binding_filter(
    resource_type: int,
    name: str | None,
    pattern_type: int | None,
    principal: str | None,
    host: str | None,
    operation: int,
    permission_type: int,
) -> AclBindingFilter:
    """The filter with these codes. `pattern_type` None: of version 0, which knows literal patterns alone.

    Raises InvalidRequest for the code 0, which stands for no value.
    """
    pattern = PatternType.LITERAL if pattern_type is None else pattern_type
    if not all((resource_type, pattern, operation, permission_type)):
        raise InvalidRequest("A filter has no UNKNOWN resource type, pattern type, operation or permission type.")
    return AclBindingFilter(
        ResourceType.of(resource_type),
        name,
        PatternType.of(pattern),
        principal,
        host,
        AclOperation.of(operation),
        AclPermissionType.of(permission_type),
    )
