"""Kafka 3.9's kafka.security.authorizer.AclAuthorizer, line by line, with its `aclCache` and `resourceCache`: all ACLs
by resource.

A request must not cost more where there are many ACLs. So each pattern keeps, for every principal and host, two ints
with a bit for each operation, and prefixes are looked up only in lengths that some pattern has.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping

from kafka_reassign_rpc.core.acls.acl_binding import (
    PATTERN_TYPES,
    RESOURCE_TYPES,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

MOST_FOUND = 1000
"""Pairs of principal and host for which the cache keeps what they may do to the cluster."""

Entries = frozenset[AccessControlEntry]
_Operations = dict[tuple[str, str], tuple[int, int]]
"""(principal, host) -> the denied operations, the allowed ones."""
_OfType = tuple[ResourceType, PatternType, AccessControlEntry]

NO_ENTRIES: Entries = frozenset()
DENY_ALL: Entries = frozenset(
    {AccessControlEntry(WILDCARD_PRINCIPAL, WILDCARD, AclOperation.ALL, AclPermissionType.DENY)}
)
"""In place of the ACLs of a pattern that cannot be read: only super users may do anything there."""


class AclCache:
    def __init__(self) -> None:
        self._entries: dict[ResourcePattern, Entries] = {}
        self._tables: Mapping[PatternType, list[dict[str, _Operations]]] = {
            one: [{} for _ in ResourceType] for one in PATTERN_TYPES
        }
        self._lengths: list[Counter[int]] = [Counter() for _ in ResourceType]
        self._in_order: list[tuple[int, ...]] = [() for _ in ResourceType]
        self._names: dict[_OfType, set[str]] = {}
        self._literal = self._tables[PatternType.LITERAL]
        self._prefixed = self._tables[PatternType.PREFIXED]
        self._on_cluster: dict[tuple[str, str, str], tuple[int, int] | None] = {}
        """What `operations` has found on the cluster since its ACLs changed: every request asks for it, and there are
        few callers.
        """
        self.unreadable: set[ResourcePattern] = set()
        """Patterns whose ACLs cannot be read."""
        self.size = 0
        """Number of ACLs."""

    def patterns(self) -> list[ResourcePattern]:
        return list(self._entries)

    def entries(self, pattern: ResourcePattern) -> Entries:
        """Empty if they cannot be read."""
        return NO_ENTRIES if pattern in self.unreadable else self._entries.get(pattern, NO_ENTRIES)

    def put(self, pattern: ResourcePattern, entries: Entries | None) -> Generator[None, None, None]:
        """Sets the ACLs of a pattern; None: they cannot be read. Yields after each item.

        Between two steps a request may be refused that neither the old nor the new ACLs refuse, but none is admitted
        that both refuse.
        """
        wanted = DENY_ALL if entries is None else entries
        before = self._entries.get(pattern, NO_ENTRIES)
        if entries is None:
            self.unreadable.add(pattern)
        else:
            self.unreadable.discard(pattern)
        if before == wanted:
            return
        table: _Operations = {}
        for entry in wanted:
            bit = 1 << entry.operation
            denied, allowed = table.get((entry.principal, entry.host), (0, 0))
            if entry.permission_type is AclPermissionType.DENY:
                denied |= bit
            elif entry.permission_type is AclPermissionType.ALLOW:
                allowed |= bit
            table[entry.principal, entry.host] = denied, allowed
            yield
        added, gone = wanted - before, before - wanted
        yield
        yield from self._change(pattern, added, AclPermissionType.DENY, add=True)
        yield from self._change(pattern, gone, AclPermissionType.ALLOW, add=False)
        self._put_table(pattern, wanted, table)
        yield from self._change(pattern, gone, AclPermissionType.DENY, add=False)
        yield from self._change(pattern, added, AclPermissionType.ALLOW, add=True)

    def _put_table(self, pattern: ResourcePattern, wanted: Entries, table: _Operations) -> None:
        self._on_cluster.clear()
        tables = self._tables[pattern.pattern_type][pattern.resource_type]
        self.size += len(wanted) - len(self._entries.get(pattern, NO_ENTRIES))
        if pattern.pattern_type is PatternType.PREFIXED and (pattern.name in tables) != bool(wanted):
            lengths = self._lengths[pattern.resource_type]
            lengths[len(pattern.name)] += 1 if wanted else -1
            if lengths[len(pattern.name)] < 2:
                self._in_order[pattern.resource_type] = tuple(sorted(each for each, count in lengths.items() if count))
        if wanted:
            tables[pattern.name] = table
            self._entries[pattern] = wanted
        else:
            tables.pop(pattern.name, None)
            self._entries.pop(pattern, None)

    def _change(
        self, pattern: ResourcePattern, entries: Entries, permission: AclPermissionType, *, add: bool
    ) -> Iterator[None]:
        for entry in entries:
            yield
            if entry.permission_type is not permission:
                continue
            key = pattern.resource_type, pattern.pattern_type, entry
            if add:
                self._names.setdefault(key, set()).add(pattern.name)
            else:
                names = self._names[key]
                names.discard(pattern.name)
                if not names:
                    del self._names[key]

    def operations(self, resource_type: ResourceType, name: str, principal: str, host: str) -> tuple[int, int] | None:
        """The denied operations and the allowed ones; None: no ACL is about the resource."""
        if resource_type is not ResourceType.CLUSTER:
            return self._look_up(resource_type, name, principal, host)
        asked = name, principal, host
        if asked not in self._on_cluster:
            if len(self._on_cluster) >= MOST_FOUND:
                self._on_cluster.clear()
            self._on_cluster[asked] = self._look_up(resource_type, name, principal, host)
        return self._on_cluster[asked]

    def _look_up(self, resource_type: ResourceType, name: str, principal: str, host: str) -> tuple[int, int] | None:
        literal = self._literal[resource_type]
        found = [literal.get(name), literal.get(WILDCARD)]
        prefixed = self._prefixed[resource_type]
        for length in self._in_order[resource_type]:
            if length > len(name):
                break
            found.append(prefixed.get(name[:length]))
        keys = ((principal, host), (principal, WILDCARD), (WILDCARD_PRINCIPAL, host), (WILDCARD_PRINCIPAL, WILDCARD))
        denied = allowed = 0
        none = True
        for table in found:
            if table is None:
                continue
            none = False
            for key in keys:
                of_key = table.get(key)
                if of_key is not None:
                    denied |= of_key[0]
                    allowed |= of_key[1]
        return None if none else (denied, allowed)

    def names(
        self,
        resource_type: ResourceType,
        pattern_type: PatternType,
        permission: AclPermissionType,
        principal: str,
        host: str,
        operation: AclOperation,
    ) -> list[Collection[str]]:
        """AclAuthorizer.matchingResources: names of patterns with such an ACL."""
        found: list[Collection[str]] = []
        for who in {principal, WILDCARD_PRINCIPAL}:
            for where in {host, WILDCARD}:
                for what in {operation, AclOperation.ALL}:
                    entry = AccessControlEntry(who, where, what, permission)
                    names = self._names.get((resource_type, pattern_type, entry))
                    if names:
                        found.append(names)
        return found


assert all(one < len(ResourceType) for one in RESOURCE_TYPES)  # lists are indexed by their codes


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
    """Hosts are as Java prints them (`config_values.java_host`), principals such as `User:alice`."""

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
