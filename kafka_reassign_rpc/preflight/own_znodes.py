"""The znodes of this product in ZooKeeper, and those of others below them; and what else there only a migration to
KRaft concerns: who may write which znodes.

The path shows what is ours: a name below our roots that no server gives is not ours.
`/admin/reassign_partitions` is Kafka's, a stock controller carries it out.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kafka_reassign_rpc.preflight import znode_rights
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.zookeeper import acl_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

_ID = r"/(?:0|[1-9][0-9]*)"
_NAME = r"/[^/]+"
_BELOW: dict[str, str] = {
    znode_paths.REASSIGNMENTS: f"{_NAME}(?:{_ID})?",
    znode_paths.REASSIGNMENT_REQUESTS: r"/[^/]*(?:[0-9]{10}|-[0-9]{9})",
    **dict.fromkeys(znode_paths.QUEUES, r"/part_[0-9]{10}"),
    znode_paths.CANCEL_IN_PROGRESS: "",
    znode_paths.THROTTLES: f"/(?:topics|brokers)(?:{_NAME})?",
    znode_paths.SETTINGS: "",
    znode_paths.LAST_CONTROL: "",
    znode_paths.FAILED_BROKERS: _ID,
    znode_paths.FAILED_LOG_DIRS: _ID,
    znode_paths.RECEIPTS: "/[0-9a-f]{16}_[0-9]+",
    znode_paths.REASSIGNMENT_SERVERS: _ID,
    znode_paths.REASSIGNMENT_SERVER_IDS: _ID,
    znode_paths.REASSIGN_CANCEL: "",
}
"""Our roots, and what a server or an operator's request creates below each."""
ROOTS = tuple(_BELOW)
_SHAPES = {root: re.compile(f"{re.escape(root)}(?:{below})?", re.DOTALL) for root, below in _BELOW.items()}


class OwnZnode(NamedTuple):
    """`created`: its czxid; `session`: of its owner, 0 if it is not ephemeral."""

    path: str
    created: int
    version: int
    session: int


class OwnZnodes(NamedTuple):
    """`ours`: children before their parents; `others`: paths of what somebody else has put below them."""

    ours: list[OwnZnode]
    others: list[str]

    def below(self, *roots: str) -> list[OwnZnode]:
        return [one for one in self.ours if root_of(one.path) in roots]


def root_of(path: str) -> str:
    return next((root for root in ROOTS if path == root or path.startswith(f"{root}/")), "")


def is_ours(path: str) -> bool:
    shape = _SHAPES.get(root_of(path))
    return shape is not None and shape.fullmatch(path) is not None


async def read(zk: ZooKeeper) -> OwnZnodes:
    """Raises ZkError."""
    found = OwnZnodes([], [])
    for root in ROOTS:
        paths = await zk.tree(root)
        for path, znode in zip(paths, await zk.multi_get(paths), strict=True):
            if znode is not None and is_ours(path):
                stat = znode[1]
                found.ours.append(OwnZnode(path, stat.czxid, stat.version, stat.ephemeral_owner))
            elif znode is not None:
                found.others.append(path)
    return found


_WRITE = znode_rights.WRITE
_CHILDREN = znode_rights.CREATE | znode_rights.DELETE
_WRITTEN: Mapping[str, int] = {
    "/": _CHILDREN,  # /controller, /migration
    znode_paths.MIGRATION: _WRITE,
    znode_paths.CONTROLLER_EPOCH: _WRITE,
    znode_paths.TOPICS: _CHILDREN,
    znode_paths.PRODUCER_ID_BLOCK: _WRITE,
    znode_paths.CONFIG_CHANGES: znode_rights.CREATE,
    **dict.fromkeys(map(znode_paths.config_type, znode_paths.CONFIG_TYPES), _CHILDREN),
    znode_paths.DELEGATION_TOKENS: _CHILDREN,
    **dict.fromkeys(acl_znodes.paths(), _CHILDREN),
}
"""Rights that migrating controllers need on znodes that there may be (KafkaZkClient's calls of ZkMigrationClient)."""


class MigrationState(NamedTuple):
    """owners   who may write a znode, by its path; None: anybody; empty: no one, or not even its ACL may be read"""

    own: OwnZnodes
    owners: Mapping[str, frozenset[str] | None]

    @property
    def kept_throttles(self) -> list[str]:
        """Entities of configs, such as `brokers/1`, that leases have changed and not yet restored."""
        memories = [one.path.removeprefix(f"{znode_paths.THROTTLES}/") for one in self.own.below(znode_paths.THROTTLES)]
        return sorted(entity for entity in memories if entity.count("/") == 1)


async def read_migration_state(zk: ZooKeeper, state: FoundState) -> MigrationState:
    """Raises ZkError."""
    return MigrationState(own=await read(zk), owners=await _owners(zk, state))


async def _owners(zk: ZooKeeper, state: FoundState) -> dict[str, frozenset[str] | None]:
    needed = dict(_WRITTEN)
    for topic in islice(state.cluster.topics.values(), znode_rights.TOPICS):
        needed |= dict.fromkeys((znode_paths.topic(topic.name), znode_paths.config_topic(topic.name)), _WRITE)
        needed |= {znode_paths.partition_state(topic.name, index): _WRITE for index in sorted(topic.partitions)[:1]}
    found = await znode_rights.read_acls(zk, list(needed))
    return {path: writers(entries, needed[path]) for path, entries in found.items() if entries is not None}


def writers(entries: Sequence[AclEntry], needed: int) -> frozenset[str] | None:
    """None: anybody has all these rights. Pure."""
    rights: Counter[tuple[str, str]] = Counter()
    for one in entries:
        rights[one.scheme, one.id] |= one.permissions
    anybodys = rights["world", "anyone"]
    if not needed & ~anybodys:
        return None
    return frozenset(f"{scheme}:{name}" for (scheme, name), found in rights.items() if not needed & ~(found | anybodys))
