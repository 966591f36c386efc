"""What ZooKeeper holds that only a migration to KRaft concerns: what is ours, and the ACLs of znodes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kafka_reassign_rpc.preflight import own_znodes, znode_rights
from kafka_reassign_rpc.preflight.own_znodes import OwnZnodes
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.zookeeper import acl_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

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


async def read(zk: ZooKeeper, state: FoundState) -> MigrationState:
    """Raises ZkError."""
    return MigrationState(own=await own_znodes.read(zk), owners=await _owners(zk, state))


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
