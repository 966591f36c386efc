"""All ACLs, by resource: AclAuthorizer's `aclCache` and `resourceCache`.

A request must not cost more where there are many ACLs. So the ACLs of a pattern are kept as two sets of operations for
each principal and host: those that are denied, and those that are allowed. A set of operations is an int with a bit for
each of their codes. The prefixes of a name are looked up one by one, those lengths only that some pattern has.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping

from kafka_reassign_rpc.core.acls.acl_binding import (
    PATTERN_TYPES,
    RESOURCE_TYPES,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.support.slices import in_slices

SLICE = 1000
"""Entries between two yields."""

Entries = frozenset[AccessControlEntry]
_Operations = dict[tuple[str, str], tuple[int, int]]
"""(principal, host) -> the operations denied, and those allowed."""
_OfType = tuple[ResourceType, PatternType, AccessControlEntry]

NO_ENTRIES: Entries = frozenset()
DENY_ALL: Entries = frozenset(
    {AccessControlEntry(WILDCARD_PRINCIPAL, WILDCARD, AclOperation.ALL, AclPermissionType.DENY)}
)
"""Counts as the ACLs of a pattern whose ACLs cannot be read: nobody but a super user may do anything there."""


class AclCache:
    """The ACLs of all patterns. A pattern without ACLs is not there."""

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
        self.unreadable: set[ResourcePattern] = set()
        """Patterns whose ACLs cannot be read."""
        self.size = 0
        """Number of ACLs."""

    def patterns(self) -> list[ResourcePattern]:
        return list(self._entries)

    def entries(self, pattern: ResourcePattern) -> Entries:
        """The ACLs of a pattern; none where they cannot be read."""
        return NO_ENTRIES if pattern in self.unreadable else self._entries.get(pattern, NO_ENTRIES)

    def put(self, pattern: ResourcePattern, entries: Entries | None) -> Generator[None, None, None]:
        """These are the ACLs of the pattern from now on; None: they cannot be read. Yields after each slice.

        Between two steps some requests may be refused that neither the former nor the new ACLs refuse, but none is
        admitted that both refuse.
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
        for entry, pause in in_slices(wanted, SLICE):
            bit = 1 << entry.operation
            denied, allowed = table.get((entry.principal, entry.host), (0, 0))
            if entry.permission_type is AclPermissionType.DENY:
                denied |= bit
            elif entry.permission_type is AclPermissionType.ALLOW:
                allowed |= bit
            table[entry.principal, entry.host] = denied, allowed
            if pause:
                yield
        added, gone = wanted - before, before - wanted
        yield
        yield from self._change(pattern, added, AclPermissionType.DENY, add=True)
        yield from self._change(pattern, gone, AclPermissionType.ALLOW, add=False)
        self._put_table(pattern, wanted, table)
        yield from self._change(pattern, gone, AclPermissionType.DENY, add=False)
        yield from self._change(pattern, added, AclPermissionType.ALLOW, add=True)

    def _put_table(self, pattern: ResourcePattern, wanted: Entries, table: _Operations) -> None:
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
        """Changes the names of patterns by type and ACL."""
        for entry, pause in in_slices(entries, SLICE):
            if pause:
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
        """The operations on a resource that ACLs deny to the principal from the host, and those that they allow; None
        where no ACL is about the resource."""
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
        """The names of the patterns of a type that have an ACL with that permission for that principal, host and
        operation (AclAuthorizer.matchingResources)."""
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
