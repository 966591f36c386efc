"""Kafka 3.9's kafka.security.authorizer.AclAuthorizer, line by line."""

from collections.abc import Collection, Iterable

from kafka_reassign_rpc.core.acls.acl_binding import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from kafka_reassign_rpc.core.acls.acl_cache import AclCache

CLASS_NAME = "kafka.security.authorizer.AclAuthorizer"


def _bits(*operations: AclOperation) -> int:
    return sum(1 << one for one in {*operations, AclOperation.ALL})


_DENIED_BY = [_bits(one) for one in AclOperation]
"""By the code of an operation: the operations of ACLs that deny it."""
_ALLOWED_BY = list(_DENIED_BY)
"""By the code of an operation: the operations of ACLs that allow it."""
_ALLOWED_BY[AclOperation.DESCRIBE] = _bits(
    AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER
)
_ALLOWED_BY[AclOperation.DESCRIBE_CONFIGS] = _bits(AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)


class AclAuthorizer:
    """Hosts are as Java prints them (`java_values.java_host`), principals such as `User:alice`."""

    def __init__(self, super_users: Iterable[str] = (), *, allow_everyone: bool = False) -> None:
        self.super_users = frozenset(super_users)
        self.allow_everyone = allow_everyone
        self.cache = AclCache()
        self.loaded = False
        """Whether all ACLs have been loaded once."""

    def authorize(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        """AclAuthorizer.authorizeAction."""
        if principal in self.super_users:
            return True
        if not self.loaded:
            return False
        found = self.cache.operations(resource_type, name, principal, host)
        if found is None:
            return self.allow_everyone
        denied, allowed = found
        return not denied & _DENIED_BY[operation] and bool(allowed & _ALLOWED_BY[operation])

    def authorized_operations(
        self, principal: str, host: str, resource_type: ResourceType, name: str
    ) -> frozenset[AclOperation]:
        """AuthHelper.authorizedOperations."""
        supported = SUPPORTED_OPERATIONS[resource_type]
        if principal in self.super_users:
            return supported
        if not self.loaded:
            return frozenset()
        found = self.cache.operations(resource_type, name, principal, host)
        if found is None:
            return supported if self.allow_everyone else frozenset()
        denied, allowed = found
        return frozenset(one for one in supported if not denied & _DENIED_BY[one] and allowed & _ALLOWED_BY[one])

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """AclAuthorizer.authorizeByResourceType: for any resource of the type."""
        if principal in self.super_users:
            return True
        if not self.loaded:
            return False

        def names(permission: AclPermissionType, pattern_type: PatternType) -> list[Collection[str]]:
            return self.cache.names(resource_type, pattern_type, permission, principal, host, operation)

        denied = names(AclPermissionType.DENY, PatternType.LITERAL)
        if any(WILDCARD in some for some in denied):
            return False
        if self.allow_everyone:
            return True
        denied_prefixes = names(AclPermissionType.DENY, PatternType.PREFIXED)
        allowed_prefixes = names(AclPermissionType.ALLOW, PatternType.PREFIXED)
        allowed = names(AclPermissionType.ALLOW, PatternType.LITERAL)
        if not denied and not denied_prefixes:
            return bool(allowed_prefixes or allowed)

        if any(WILDCARD in some for some in allowed):
            return True
        prefixes = frozenset().union(*denied_prefixes)
        lengths = sorted({len(prefix) for prefix in prefixes})

        def is_admitted(name: str) -> bool:
            return not any(name[:length] in prefixes for length in lengths if length <= len(name))

        return any(is_admitted(prefix) for some in allowed_prefixes for prefix in some) or any(
            is_admitted(name) for some in allowed for name in frozenset(some).difference(*denied)
        )
