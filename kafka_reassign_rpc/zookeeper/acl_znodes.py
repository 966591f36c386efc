"""ACLs in ZooKeeper, as AclAuthorizer and kafka-acls.sh write them (ZkAclStore, ZkAclChangeStore, AclEntry).

    /kafka-acl/$type/$name                                  {"version":1,"acls":[{"principal":"User:alice",
    /kafka-acl-extended/prefixed/$type/$prefix                "permissionType":"Allow","operation":"Read","host":"*"}]}
    /kafka-acl-changes/acl_changes_…                        TOPIC:t
    /kafka-acl-extended-changes/acl_changes_…               {"version":1,"resourceType":"TOPIC","name":"pre-",
                                                              "patternType":"PREFIXED"}

A write and its announcement are one transaction here; Kafka makes them one after the other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from kafka_reassign_rpc.core.acls.acl_authorizer import NO_ENTRIES, Entries
from kafka_reassign_rpc.core.acls.acl_binding import (
    RESOURCE_TYPES,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
    is_principal,
)
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import announced_since, numbered, purge_announcements
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.transactions import transact_anew
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

RACES = 10
"""How often a change is retried after another process was faster (AclAuthorizer.maxUpdateRetries)."""
READ_TOGETHER = 500
DECODED_AT_ONCE = 50_000
"""Bytes. A thread decodes a larger znode."""
MOST_BYTES = 1_000_000
"""The largest znode of one pattern that this server writes: ZooKeeper takes 1 MiB by default."""
PURGED_TOGETHER = 1000

Change = Callable[[Entries], Entries]
"""Returns the wanted ACLs of a pattern from the present ones. Pure: after a lost race it is called again."""


class TooManyAcls(ValueError):
    """The ACLs of one pattern do not fit into its znode."""


class _Entry(msgspec.Struct, rename="camel", gc=False):
    principal: str
    permission_type: str
    operation: str
    host: str


class _Acls(msgspec.Struct):
    version: Literal[1]
    acls: list[_Entry]


class _Change(msgspec.Struct, rename="camel"):
    version: int
    resource_type: str
    name: str
    pattern_type: str


_acls = msgspec.json.Decoder(_Acls)
_change = msgspec.json.Decoder(_Change)
_OPERATIONS = {one.in_znodes.upper(): one for one in AclOperation}
_PERMISSIONS = {one.in_znodes.upper(): one for one in AclPermissionType}


def decode_acls(data: bytes, path: str) -> Entries:
    """As in Kafka, an operation or permission that Kafka does not know is UNKNOWN: such an ACL neither denies nor
    allows. Raises BadZnode, even if Kafka takes the bad JSON for no ACLs.
    """
    if not data:
        return NO_ENTRIES
    found = []
    for one in decode_json(_acls, data, path).acls:
        operation = _OPERATIONS.get(one.operation.upper(), AclOperation.UNKNOWN)
        permission = _PERMISSIONS.get(one.permission_type.upper(), AclPermissionType.UNKNOWN)
        if not is_principal(one.principal):
            raise BadZnode(path, f"{shown(one.principal)} is no principal such as User:alice")
        if operation is AclOperation.ANY or permission is AclPermissionType.ANY:
            raise BadZnode(path, "an ACL of ANY operation or permission says nothing")
        found.append(AccessControlEntry(one.principal, one.host, operation, permission))
    return frozenset(found)


def encode_acls(entries: Entries) -> bytes:
    acls = [
        {
            "principal": one.principal,
            "permissionType": one.permission_type.in_znodes,
            "operation": one.operation.in_znodes,
            "host": one.host,
        }
        for one in sorted(entries)
    ]
    return msgspec.json.encode({"version": 1, "acls": acls})


def decode_extended_change(data: bytes, path: str) -> ResourcePattern:
    found = decode_json(_change, data, path)
    if found.version > 1:
        raise BadZnode(path, f"version {found.version} of an announcement is not known")
    return _pattern(found.resource_type, found.name, found.pattern_type, path)


def literal_change(data: bytes, path: str) -> ResourcePattern:
    """The pattern that a notification of the older feed names. Raises BadZnode."""
    kind, colon, name = str(data, errors="replace").partition(":")
    if not colon:
        raise BadZnode(path, f"{shown(data)} is no type and name such as TOPIC:t")
    return _pattern(kind, name, PatternType.LITERAL.name, path)


def _pattern(kind: str, name: str, pattern: str, path: str) -> ResourcePattern:
    resource_type = ResourceType.__members__.get(kind.upper(), ResourceType.UNKNOWN)
    pattern_type = PatternType.__members__.get(pattern.upper(), PatternType.UNKNOWN)
    if resource_type not in RESOURCE_TYPES or pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise BadZnode(path, f"{shown(kind)} and {shown(pattern)} are no types of resources and patterns")
    if not name or "/" in name:
        raise BadZnode(path, f"no resource has the name {shown(name)}")
    return ResourcePattern(resource_type, name, pattern_type)


def acl_path(pattern: ResourcePattern) -> str:
    return f"{_folder(pattern.pattern_type, pattern.resource_type)}/{pattern.name}"


def _folder(pattern_type: PatternType, resource_type: ResourceType) -> str:
    root = znode_paths.ACLS if pattern_type is PatternType.LITERAL else znode_paths.PREFIXED_ACLS
    return f"{root}/{resource_type.in_znodes}"


def announcement(pattern: ResourcePattern) -> Create:
    """Every authorizer then reads the ACLs of the pattern again."""
    if pattern.pattern_type is PatternType.LITERAL:
        path, data = znode_paths.ACL_CHANGES, f"{pattern.resource_type.name}:{pattern.name}".encode()
    else:
        path = znode_paths.EXTENDED_ACL_CHANGES
        data = msgspec.json.encode(
            {
                "version": 1,
                "resourceType": pattern.resource_type.name,
                "name": pattern.name,
                "patternType": pattern.pattern_type.name,
            }
        )
    return Create(f"{path}/acl_changes_", data, sequence=True)


FOLDERS = tuple(
    (pattern_type, resource_type)
    for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
    for resource_type in RESOURCE_TYPES
)
_DECODERS: Mapping[str, Callable[[bytes, str], ResourcePattern]] = {
    znode_paths.ACL_CHANGES: literal_change,
    znode_paths.EXTENDED_ACL_CHANGES: decode_extended_change,
}

Read = tuple[ResourcePattern, Entries | BadZnode]
"""A pattern with its ACLs, or why they cannot be read."""


class Changed(NamedTuple):
    """The patterns, each once; `last` is the number to continue from in each feed."""

    last: Mapping[str, int]
    patterns: list[ResourcePattern]
    bad: list[BadZnode]


def paths() -> Sequence[str]:
    return [*(_folder(*folder) for folder in FOLDERS), *_DECODERS]


class AclStore:
    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk

    async def create_paths(self) -> None:
        """Writes nothing where all are there: that is so after nearly every connection."""
        needed = paths()
        for path, stat in zip(needed, await asyncio.gather(*map(self._zk.exists, needed)), strict=True):
            if stat is None:
                await self._zk.ensure_path(path)

    async def read_all(self) -> AsyncIterator[Read]:
        """As in Kafka, without resource types that Kafka does not know."""
        for pattern_type, resource_type in FOLDERS:
            try:
                names = await self._zk.children(_folder(pattern_type, resource_type), many=True)
            except NoNode:
                continue
            for some in pieces(names, READ_TOGETHER):
                for read in await self.read([ResourcePattern(resource_type, name, pattern_type) for name in some]):
                    yield read

    async def read(self, patterns: Sequence[ResourcePattern]) -> list[Read]:
        paths = [acl_path(one) for one in patterns]
        found: list[Read] = []
        for pattern, path, read in zip(patterns, paths, await self._zk.multi_get(paths), strict=True):
            try:
                found.append((pattern, NO_ENTRIES if read is None else await _decoded(read[0], path)))
            except BadZnode as error:
                found.append((pattern, error))
        return found

    async def change(self, pattern: ResourcePattern, change: Change) -> tuple[Entries, Entries]:
        """Writes (compare-and-set) and announces; returns the ACLs before and after. Writes nothing if nothing changes.
        Raises BadZnode, TooManyAcls, what ZooKeeper has answered after too many lost races, and as
        `ZooKeeper.transact`.
        """
        path = acl_path(pattern)
        before = wanted = NO_ENTRIES

        async def make() -> list[Op]:
            nonlocal before, wanted
            try:
                data, stat = await self._zk.reading(lambda: self._zk.get(path))
            except NoNode:
                before, version = NO_ENTRIES, None
            else:
                before, version = await _decoded(data, path), stat.version
            wanted = change(before)
            return [] if wanted == before else [_write(path, wanted, version), announcement(pattern)]

        await transact_anew(self._zk, make, RACES + 1)
        return before, wanted

    async def changed_since(self, last: Mapping[str, int]) -> Changed:
        """By feed. Places a watch on each feed."""
        numbers = dict(last)
        patterns: dict[ResourcePattern, None] = {}
        bad: list[BadZnode] = []
        for feed, decode in _DECODERS.items():
            numbers[feed], announced = await announced_since(self._zk, feed, last.get(feed, -1), watch=True)
            for path, read in announced:
                if read is None:
                    bad.append(BadZnode(path, "was deleted before it was read"))
                    continue
                try:
                    patterns[decode(read[0], path)] = None
                except BadZnode as error:
                    bad.append(error)
        return Changed(numbers, list(patterns), bad)

    async def last_changes(self) -> dict[str, int]:
        """By feed. Places a watch on each feed."""
        return {feed: max(await numbered(self._zk, feed, watch=True), default=-1) for feed in _DECODERS}

    async def purge_changes(self, now_ms: int) -> None:
        for feed in _DECODERS:
            await purge_announcements(self._zk, feed, now_ms, PURGED_TOGETHER)


def _write(path: str, wanted: Entries, version: int | None) -> Op:
    if not wanted and version is not None:
        return Delete(path, version)
    data = encode_acls(wanted)
    if len(data) > MOST_BYTES:
        raise TooManyAcls(f"The {len(wanted)} ACLs would take {len(data)} bytes in ZooKeeper: {MOST_BYTES} fit")
    return Create(path, data) if version is None else SetData(path, data, version)


async def _decoded(data: bytes, path: str) -> Entries:
    if len(data) > DECODED_AT_ONCE:
        return await asyncio.to_thread(decode_acls, data, path)
    return decode_acls(data, path)
