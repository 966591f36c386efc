"""What ZooKeeper holds that only a migration to KRaft reads: quotas, SCRAM credentials, tokens, ACLs of znodes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kafka_reassign_rpc.core.quotas.client_quotas import SHAPES
from kafka_reassign_rpc.preflight import own_znodes, znode_rights
from kafka_reassign_rpc.preflight.own_znodes import OwnZnodes
from kafka_reassign_rpc.preflight.read_state import FoundState, children
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import acl_znodes, znode_contents, znode_decoder, znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.quota_znodes import READ_TOGETHER, QuotaStore, quota_path
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
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
    """quotas          dynamic configs of users, clients and addresses, by the path under `/config`
    unreadable      such znodes that cannot be decoded, with the reason
    tokens          delegation tokens
    acls            those that cannot be decoded, by the path, with the reason
    owners          who may write a znode, by its path; None: anybody; empty: nobody, or not even its ACL may be read
    """

    quotas: Mapping[str, Mapping[str, str]]
    unreadable: Mapping[str, str]
    own: OwnZnodes
    tokens: int
    acls: Mapping[str, str]
    owners: Mapping[str, frozenset[str] | None]

    @property
    def kept_throttles(self) -> list[str]:
        """Entities of configs, such as `brokers/1`, that leases have changed and not yet restored."""
        memories = [one.path.removeprefix(f"{znode_paths.THROTTLES}/") for one in self.own.below(znode_paths.THROTTLES)]
        return sorted(entity for entity in memories if entity.count("/") == 1)


async def read(zk: ZooKeeper, state: FoundState) -> MigrationState:
    """Raises ZkError."""
    quotas, unreadable = await _quotas(zk)
    return MigrationState(
        quotas=quotas,
        unreadable=unreadable,
        own=await own_znodes.read(zk),
        tokens=len(await children(zk, znode_paths.DELEGATION_TOKENS)),
        acls={one.path: one.reason async for _, one in AclStore(zk).read_all() if isinstance(one, BadZnode)},
        owners=await _owners(zk, state),
    )


async def _quotas(zk: ZooKeeper) -> tuple[dict[str, Mapping[str, str]], dict[str, str]]:
    store = QuotaStore(zk)
    names = [quota_path(entity) for shape in SHAPES for entity in await store.entities(shape, {})]
    paths = {znode_paths.config(name): name for name in names}
    found: dict[str, Mapping[str, str]] = {}
    bad: dict[str, str] = {}
    for some in pieces(list(paths), READ_TOGETHER):
        read = ((path, one) for path, one in zip(some, await zk.multi_get(some), strict=True) if one and one[0])
        good, broken = znode_decoder.decode_many(znode_contents.decode_config, read)
        found |= {paths[path]: configs for path, configs in good.items()}
        bad |= {paths[error.path]: error.reason for error in broken}
    return found, bad


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
