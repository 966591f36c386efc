"""Configs of users, clients and IPs in ZooKeeper: their quotas (KIP-546) and SCRAM credentials (KIP-554).

    /config/users/$user     /config/users/$user/clients/$client     /config/clients/$client     /config/ips/$ip

Names are quoted for URLs (Kafka's Sanitizer); the znode `<default>` holds what is for all others.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import quote, unquote

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, SHAPES, USER, QuotaEntity
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_contents, znode_decoder, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import Change, ConfigStore
from kafka_reassign_rpc.zookeeper.operations import Delete, Op, Stat
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

log = logging.getLogger(__name__)

READ_TOGETHER = 100
"""How many znodes, or the clients of how many users, are read at a time."""

_ENTITY_TYPES: Mapping[str, str] = {USER: "users", CLIENT_ID: "clients", IP: "ips"}
_KINDS: Mapping[str, str] = {name: kind for kind, name in _ENTITY_TYPES.items()}


def quote_name(name: str | None) -> str:
    """With `%20`, `%2A`, `%7E`. None is the default of all others."""
    return DEFAULT if name is None else quote(name, safe="").replace("~", "%7E")


def unquote_name(name: str) -> str | None:
    return None if name == DEFAULT else unquote(name)


def quota_path(entity: QuotaEntity) -> str:
    """As in an announcement: `users/alice%40x/clients/c`, `ips/<default>`."""
    return "/".join(_path(entity))


def _path(entity: QuotaEntity) -> list[str]:
    return [part for kind, name in entity for part in (_ENTITY_TYPES[kind], quote_name(name))]


def quota_entity_of(path: str) -> QuotaEntity | None:
    """None if the path is that of a topic, of a broker, or nonsense."""
    parts = path.split("/")
    kinds = tuple(_KINDS.get(part, "") for part in parts[::2])
    if len(parts) % 2 or kinds not in SHAPES:
        return None
    return tuple((kind, unquote_name(name)) for kind, name in zip(kinds, parts[1::2], strict=True))


class QuotaStore:
    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self._configs = ConfigStore(zk)
        self.unreadable: set[str] = set()
        """Paths of znodes that `get_many` has found malformed. They are watched, since a repair is not announced."""

    async def get(self, entity: QuotaEntity) -> Mapping[str, str]:
        return await self._configs.get(*_split(entity))

    async def alter(self, entity: QuotaEntity, change: Change) -> None:
        """As ConfigStore.alter. An entity without configs keeps no znode, as in Kafka: there may be very many."""
        await self._configs.alter(*_split(entity), change, partial(self._removal, entity))

    async def _removal(self, entity: QuotaEntity, stat: Stat | None) -> list[Op] | None:
        """None keeps the znode, for a user whose clients have quotas. With its last client a user's parent of clients
        goes, and with that a user without configs. ZooKeeper deletes nothing that has changed or got children since.
        Source: AdminZkClient.tryCleanQuotaNodes.
        """
        if stat is None:
            return []
        if stat.num_children:
            return None
        path = znode_paths.config(quota_path(entity))
        removed: list[Op] = [Delete(path, stat.version)]
        if len(entity) > 1:
            clients = path.rpartition("/")[0]
            user = clients.rpartition("/")[0]
            parents = await self._zk.multi_get([clients, user])
            for parent, read in zip((clients, user), parents, strict=True):
                if read is None or read[1].num_children != 1 or (parent == user and _has_configs(read[0], user)):
                    break
                removed.append(Delete(parent, read[1].version))
        return removed

    async def get_all(
        self, shape: tuple[str, ...], exact: Mapping[str, str | None]
    ) -> dict[QuotaEntity, Mapping[str, str]]:
        """See `entities`. A malformed znode is logged and left out."""
        return await self.get_many(await self.entities(shape, exact))

    async def entities(self, shape: tuple[str, ...], exact: Mapping[str, str | None]) -> list[QuotaEntity]:
        """The entities of these types that may have configs; one with a name of `exact` may not exist."""
        entities: list[QuotaEntity] = [()]
        for kind in shape:
            if kind in exact:
                entities = [(*entity, (kind, exact[kind])) for entity in entities]
            else:
                entities = await self._children(entities, kind)
        return entities

    async def get_many(self, entities: Sequence[QuotaEntity]) -> dict[QuotaEntity, Mapping[str, str]]:
        found: dict[QuotaEntity, Mapping[str, str]] = {}
        for some in pieces(entities, READ_TOGETHER):
            paths = [znode_paths.config(quota_path(entity)) for entity in some]
            since = self._zk.last_zxid
            answers = await self._zk.reading(partial(self._zk.multi_get, paths))
            read = zip(paths, answers, strict=True)
            configs, bad = znode_decoder.decode_many(znode_contents.decode_config, read)
            for error in bad:
                log.warning("%s: the quotas of these clients do not hold at this server until it can be read", error)
            self.unreadable.difference_update(paths)
            if bad:
                self.unreadable.update(error.path for error in bad)
                await self._zk.place_watches([error.path for error in bad], since)
            found |= {entity: configs[path] for entity, path in zip(some, paths, strict=True) if path in configs}
        return found

    async def _children(self, parents: list[QuotaEntity], kind: str) -> list[QuotaEntity]:
        found: list[QuotaEntity] = []
        pace = Pace()
        for some in pieces(parents, READ_TOGETHER):
            paths = [znode_paths.config("/".join((*_path(parent), _ENTITY_TYPES[kind]))) for parent in some]
            answers = await self._zk.reading(partial(self._zk.multi_children, paths))
            for parent, names in zip(some, answers, strict=True):
                for name in names or ():
                    found.append((*parent, (kind, unquote_name(name))))
                    await pace.rest()
        return found


def _has_configs(data: bytes, path: str) -> bool:
    try:
        return bool(znode_contents.decode_config(data, path))
    except BadZnode:
        return True


def _split(entity: QuotaEntity) -> tuple[str, str]:
    entity_type, _, name = quota_path(entity).partition("/")
    return entity_type, name
