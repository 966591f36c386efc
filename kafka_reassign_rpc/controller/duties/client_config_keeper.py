"""Keeps in memory what is set for users, clients and IPs: quotas, and the SCRAM credentials of users. As in brokers
(ZkConfigManager), all is read after each connection to ZooKeeper, then what `/config/changes` announces, and malformed
znodes once they are repaired. While ZooKeeper is away, all stays.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence

from kafka_reassign_rpc.core.quotas.client_quotas import IP, SHAPES, USER, QuotaEntity, QuotaTable
from kafka_reassign_rpc.security.sasl.scram import CredentialCache
from kafka_reassign_rpc.support.host_port import resolved
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import (
    READ_TOGETHER,
    AnnouncedChanges,
    ConfigStore,
    QuotaStore,
    quota_entity_of,
)
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)


class ClientConfigKeeper:
    """Fills a table of quotas, and a cache of credentials if SCRAM needs one."""

    def __init__(self, zk: ZooKeeper, quotas: QuotaTable, credentials: CredentialCache | None) -> None:
        self._quotas = quotas
        self._credentials = credentials
        self._configs = ConfigStore(zk)
        self._store = QuotaStore(zk)
        self._addresses: dict[QuotaEntity, QuotaEntity] = {}
        """IPs as their quotas count, by IPs or names of hosts as they are set."""
        self._last = -1
        """The number of the last announcement that was read."""
        feeds = (znode_paths.CONFIG_CHANGES,)
        self._changes = AnnouncedChanges(zk, feeds, self._store.unreadable, self._all, self._changed, _failed)

    async def start(self) -> None:
        """Returns when all has been read once. Raises ZkError if credentials cannot be read; quotas are tried again
        later."""
        try:
            await self._changes.read()
        except ZkError as error:
            if self._credentials is not None:
                raise
            log.error("no quota of a user, client or IP holds until they can be read: %s", error)
        self._changes.start("client configs")

    async def close(self) -> None:
        await self._changes.close()

    async def _all(self) -> None:
        self._last = (await self._configs.changes_since(self._last, watch=True)).last
        entities = [entity for shape in SHAPES for entity in await self._store.entities(shape, {})]
        pace = Pace()
        for some in pieces(entities, READ_TOGETHER):
            await self._read(some)
            await pace.rest()
        self._addresses = {entity: self._addresses[entity] for entity in entities if entity in self._addresses}
        self._quotas.keep_only({self._addresses.get(entity, entity) for entity in entities})
        if self._credentials is not None:
            self._credentials.keep_only(user for entity in entities if (user := _user(entity)) is not None)

    async def _changed(self, repaired: Collection[str]) -> None:
        changes = await self._configs.changes_since(self._last, watch=True)
        self._last = changes.last
        paths = [*changes.entities, *(path.removeprefix(znode_paths.CONFIG + "/") for path in repaired)]
        entities = [entity for path in paths if (entity := quota_entity_of(path)) is not None]
        for some in pieces(entities, READ_TOGETHER):
            await self._read(some)

    async def _read(self, entities: Sequence[QuotaEntity]) -> None:
        """One whose znode is gone, or malformed, has neither quotas nor credentials."""
        found = await self._store.get_many(entities)
        await self._resolve([entity for entity in entities if _host(entity) is not None])
        for entity in entities:
            configs = found.get(entity, {})
            self._quotas.put(self._addresses.get(entity, entity), configs)
            if entity not in found:
                self._addresses.pop(entity, None)
            user = _user(entity)
            if self._credentials is not None and user is not None:
                self._credentials.put(user, configs)

    async def _resolve(self, entities: Sequence[QuotaEntity]) -> None:
        """Finds the IP of each, as IpConfigHandler does. A name that cannot be resolved has no quota."""
        found = await asyncio.gather(*(resolved(_host(entity) or "") for entity in entities))
        for entity, address in zip(entities, found, strict=True):
            before = self._addresses.get(entity)
            self._addresses[entity] = ((IP, address or _host(entity)),)
            if before not in (None, self._addresses[entity]):
                self._quotas.put(before, {})


def _failed(error: Exception) -> None:
    if not isinstance(error, ZkError):
        log.error("quotas and credentials could not be read; all are read again", exc_info=error)


def _host(entity: QuotaEntity) -> str | None:
    return entity[0][1] if entity[0][0] == IP else None


def _user(entity: QuotaEntity) -> str | None:
    return entity[0][1] if len(entity) == 1 and entity[0][0] == USER else None
