"""What a broker reads of ZooKeeper when it starts, and a KRaft controller when it takes a cluster over, as it is
now: configs of clients, broken configs, the cluster's id and features, producer ids, tokens, ACLs.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.core.restarts.client_values import CLIENTS, IPS, USERS
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.preflight.read_state import FoundState, children
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import restart_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.quota_znodes import READ_TOGETHER
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode


class RestartState(NamedTuple):
    """None: there is no such znode.

    configs   by path: all of clients, those of brokers, and those of topics that cannot be understood
    changes   names of announcements, by the znode above them
    tokens    delegation tokens, by path
    acls      those that cannot be decoded: the reason, by path
    """

    configs: Mapping[str, bytes]
    changes: Mapping[str, Sequence[str]]
    cluster_id: bytes | None
    features: bytes | None
    producer_ids: bytes | None
    tokens: Mapping[str, bytes]
    acls: Mapping[str, str]


async def read(zk: ZooKeeper, state: FoundState) -> RestartState:
    """Raises ZkError."""
    unread = [path for kind, name in state.cluster.config_versions if (path := _unread(state, kind, name))]
    tokens = [f"{znode_paths.DELEGATION_TOKENS}/{name}" for name in await children(zk, znode_paths.DELEGATION_TOKENS)]
    return RestartState(
        configs=await _data(zk, [*unread, *await _clients(zk)]),
        changes={folder: await children(zk, folder) for folder in restart_znodes.CHANGE_FOLDERS},
        cluster_id=await _one(zk, znode_paths.CLUSTER_ID),
        features=await _one(zk, znode_paths.FEATURE),
        producer_ids=await _producer_ids(zk),
        tokens=await _data(zk, tokens),
        acls={one.path: one.reason async for _, one in AclStore(zk).read_all() if isinstance(one, BadZnode)},
    )


def _unread(state: FoundState, kind: str, name: str) -> str | None:
    """All of brokers, since even their names count; of topics only those that could not be decoded."""
    if kind == TOPICS and name in state.cluster.topic_configs:
        return None
    return znode_paths.config(f"{kind}/{name}") if kind in (TOPICS, BROKERS) else None


async def _clients(zk: ZooKeeper) -> list[str]:
    """Names as they are stored: one that cannot be decoded has to be found too."""
    users = await _below(zk, [znode_paths.config_type(USERS)])
    of_users = await _below(zk, [f"{user}/{CLIENTS}" for user in users])
    others = await _below(zk, [znode_paths.config_type(kind) for kind in (CLIENTS, IPS)])
    return [*users, *of_users, *others]


async def _below(zk: ZooKeeper, parents: Sequence[str]) -> list[str]:
    found: list[str] = []
    for some in pieces(parents, READ_TOGETHER):
        names = await zk.multi_children(some)
        found += [f"{parent}/{name}" for parent, below in zip(some, names, strict=True) for name in sorted(below or ())]
    return found


async def _data(zk: ZooKeeper, paths: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for some in pieces(paths, READ_TOGETHER):
        read = zip(some, await zk.multi_get(some), strict=True)
        found |= {path: one[0] for path, one in read if one is not None}
    return found


async def _one(zk: ZooKeeper, path: str) -> bytes | None:
    with suppress(NoNode):
        return (await zk.get(path))[0]
    return None


async def _producer_ids(zk: ZooKeeper) -> bytes | None:
    """None as well where it has no data: nothing has been given out yet."""
    with suppress(NoNode):
        return (await zk.get_or_null(znode_paths.PRODUCER_ID_BLOCK))[0]
    return None
