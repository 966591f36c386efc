"""What Kafka's AclAuthorizer decides, written from its text with lists and loops alone: no index, no bits."""

from collections.abc import Sequence

from kafka_reassign_rpc.core.acls.acl_binding import AclBinding, AclOperation, AclPermissionType, PatternType
from kafka_reassign_rpc.core.acls.acl_binding import ResourceType as Type

IMPLIES = {
    AclOperation.DESCRIBE: ("DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"),
    AclOperation.DESCRIBE_CONFIGS: ("DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
}


class Reference:
    """`acls`: all ACLs, each once."""

    def __init__(self, acls: Sequence[AclBinding], supers: Sequence[str], *, everyone: bool) -> None:
        self.acls, self.supers, self.everyone = acls, supers, everyone

    def authorize(self, principal: str, host: str, operation: AclOperation, kind: Type, name: str) -> bool:
        if principal in self.supers:
            return True
        about = [
            acl.entry
            for acl in self.acls
            if acl.pattern.resource_type is kind
            and (
                acl.pattern.name in (name, "*")
                if acl.pattern.pattern_type is PatternType.LITERAL
                else name.startswith(acl.pattern.name)
            )
        ]
        if not about:
            return self.everyone

        def exists(permission: AclPermissionType, wanted: AclOperation) -> bool:
            return any(
                entry.permission_type is permission
                and (entry.principal in (principal, "User:*"))
                and entry.operation in (wanted, AclOperation.ALL)
                and entry.host in (host, "*")
                for entry in about
            )

        if exists(AclPermissionType.DENY, operation):
            return False
        enough = IMPLIES.get(operation, (operation.name,))
        return any(exists(AclPermissionType.ALLOW, AclOperation[one]) for one in enough)

    def authorize_by_resource_type(self, principal: str, host: str, operation: AclOperation, kind: Type) -> bool:
        if principal in self.supers:
            return True

        def names(permission: AclPermissionType, pattern: PatternType) -> list[str]:
            return [
                acl.pattern.name
                for acl in self.acls
                if acl.pattern[0] is kind
                and acl.pattern.pattern_type is pattern
                and acl.entry.permission_type is permission
                and acl.entry.principal in (principal, "User:*")
                and acl.entry.host in (host, "*")
                and acl.entry.operation in (operation, AclOperation.ALL)
            ]

        deny_literals = names(AclPermissionType.DENY, PatternType.LITERAL)
        if "*" in deny_literals:
            return False
        if self.everyone:
            return True
        deny_prefixes = names(AclPermissionType.DENY, PatternType.PREFIXED)

        def dominated(name: str) -> bool:
            return any(name.startswith(prefix) for prefix in deny_prefixes)

        return any(not dominated(prefix) for prefix in names(AclPermissionType.ALLOW, PatternType.PREFIXED)) or any(
            name == "*" or (name not in deny_literals and not dominated(name))
            for name in names(AclPermissionType.ALLOW, PatternType.LITERAL)
        )
