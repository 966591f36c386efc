"""ResourcePatternFilter and AccessControlEntryFilter, in DescribeAcls and DeleteAcls."""

from typing import NamedTuple

from kafka_reassign_rpc.core.acls.acl_binding import (
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)


class AclBindingFilter(NamedTuple):
    """None and ANY match all; MATCH: all patterns about the resource `name`."""

    resource_type: ResourceType
    name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: AclPermissionType

    def matches_pattern(self, pattern: ResourcePattern) -> bool:
        """ResourcePatternFilter.matches."""
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return self.name == pattern.name
        if pattern.pattern_type is PatternType.LITERAL:
            return pattern.name in (self.name, WILDCARD)
        return self.name.startswith(pattern.name)

    def matches_entry(self, entry: AccessControlEntry) -> bool:
        """AccessControlEntryFilter.matches."""
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission_type in (AclPermissionType.ANY, entry.permission_type)
        )

    def patterns(self) -> tuple[ResourcePattern, ...]:
        """AclAuthorizer.filterToResources: at most one pattern of each type, where the filter needs no search."""
        if self.name is None or self.resource_type in (ResourceType.ANY, ResourceType.UNKNOWN):
            return ()
        if self.pattern_type is PatternType.ANY:
            types: tuple[PatternType, ...] = (PatternType.LITERAL, PatternType.PREFIXED)
        elif self.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            types = (self.pattern_type,)
        else:
            return ()
        return tuple(ResourcePattern(self.resource_type, self.name, one) for one in types)
