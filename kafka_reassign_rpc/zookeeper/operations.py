"""Operations of a ZooKeeper transaction, Stat, and kinds of watch events."""

from enum import IntEnum
from typing import NamedTuple

import msgspec

ANY_VERSION = -1


class Stat(NamedTuple):
    """Times are in ms since 1970; `czxid` identifies the creation of the znode, and never comes again."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    """The session id of the owner; 0 if the znode is not ephemeral."""
    data_length: int
    num_children: int
    pzxid: int


class AclEntry(NamedTuple):
    """Permission bits, scheme (`world`, `ip`, `sasl` …) and id."""

    permissions: int
    scheme: str
    id: str


class WatchKind(IntEnum):
    CREATED = 1
    DELETED = 2
    CHANGED = 3
    CHILDREN = 4


class Check(msgspec.Struct, frozen=True, gc=False):
    path: str
    version: int


class Create(msgspec.Struct, frozen=True, gc=False):
    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


class SetData(msgspec.Struct, frozen=True, gc=False):
    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(msgspec.Struct, frozen=True, gc=False):
    path: str
    version: int = ANY_VERSION


Op = Check | Create | SetData | Delete

Result = Stat | tuple[str, Stat] | None
"""The result of one operation: Stat for SetData, (path, Stat) for Create, None for Check and Delete."""
