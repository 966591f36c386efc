"""The values of an ACL, with Kafka's names and codes (org.apache.kafka.common.acl, .resource), and the filters of
DescribeAcls and DeleteAcls (ResourcePatternFilter, AccessControlEntryFilter).
"""

from enum import IntEnum
from typing import NamedTuple, Self

from kafka_reassign_rpc.support.secrecy import told

WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
ANONYMOUS = "User:ANONYMOUS"
"""KafkaPrincipal.ANONYMOUS: a client that has not authenticated."""
CLUSTER_NAME = "kafka-cluster"


class _Code(IntEnum):
    """Its value is the code on the wire."""

    @classmethod
    def of(cls, code: int) -> Self:
        return cls._value2member_map_.get(code, cls(0))  # type: ignore[return-value]

    @property
    def in_znodes(self) -> str:
        """The spelling in znodes: `TransactionalId`, `AlterConfigs`."""
        return self.name.title().replace("_", "")


class AclOperation(_Code):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class AclPermissionType(_Code):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourceType(_Code):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Code):
    """Only filters have ANY and MATCH."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


RESOURCE_TYPES = tuple(one for one in ResourceType if one > ResourceType.ANY)
"""Types of resources that can have ACLs."""
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
"""Types of patterns that ACLs can have."""

SUPPORTED_OPERATIONS: dict[ResourceType, frozenset[AclOperation]] = {
    ResourceType.TOPIC: frozenset(
        {
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DESCRIBE,
            AclOperation.DELETE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset({AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE}),
    ResourceType.CLUSTER: frozenset(
        {
            AclOperation.CREATE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset({AclOperation.DESCRIBE, AclOperation.WRITE}),
}
"""AclEntry.supportedOperations: what an answer lists as authorized, for each type."""


class ResourcePattern(NamedTuple):
    resource_type: ResourceType
    name: str
    pattern_type: PatternType

    def __str__(self) -> str:
        return f"{self.resource_type.in_znodes}:{self.pattern_type.name}:{self.name}"


class AccessControlEntry(NamedTuple):
    """`principal`: such as `User:alice`; `host`: as Java prints it."""

    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


class AclBinding(NamedTuple):
    pattern: ResourcePattern
    entry: AccessControlEntry


def is_principal(text: str) -> bool:
    """SecurityUtils.parseKafkaPrincipal takes `type:name`."""
    return ":" in text


def parse_super_users(text: str) -> frozenset[str]:
    """Parses `super.users`. Raises ValueError."""
    found = text.split(";")
    while found and not found[-1]:  # as Java splits
        found.pop()
    users = [one.strip("".join(map(chr, range(33)))) for one in found]
    wrong = next((one for one in users if not is_principal(one)), None)
    if wrong is not None:
        raise ValueError(f"needs principals such as User:alice, separated by semicolons, not {told(wrong)}")
    return frozenset(users)


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
