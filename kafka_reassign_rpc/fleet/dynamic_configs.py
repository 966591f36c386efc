"""Dynamic configs in ZooKeeper, followed for all brokers of a process (DynamicConfigManager,
ZkNodeChangeNotificationListener): a sequential znode in /config/changes announces a change; after a new connection all
are read again."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.announced_changes import AnnouncedChanges
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

log = logging.getLogger(__name__)


class DynamicConfigs:
    """Sets the configs of `throttles` within a second of each change."""

    def __init__(self, zk: ZooKeeper, throttles: ThrottledReplicas) -> None:
        self._store = ConfigStore(zk)
        self._setters: dict[str, Callable[[str, Mapping[str, str]], None]] = {
            TOPICS: throttles.set_topic,
            BROKERS: throttles.set_broker,
        }
        self._seen = -1
        self._caught_up = asyncio.Event()
        feeds = (znode_paths.CONFIG_CHANGES,)
        self._changes = AnnouncedChanges(zk, feeds, (), self._all, self._changed, _failed)
        self._changes.start("configs")

    async def ready(self) -> None:
        await self._caught_up.wait()

    async def close(self) -> None:
        await self._changes.close()

    async def _all(self) -> None:
        await self._announced()
        for kind, set_configs in self._setters.items():
            found, garbage = await self._store.get_all(kind)
            _skip(garbage)
            for name, configs in found.items():
                set_configs(name, configs)
        self._caught_up.set()

    async def _changed(self, _repaired: Collection[str]) -> None:
        for entity in await self._announced():
            kind, _, name = entity.partition("/")
            if kind in self._setters:
                try:
                    self._setters[kind](name, await self._store.get(kind, name))
                except BadZnode as error:
                    _skip([error])

    async def _announced(self) -> Sequence[str]:
        changes = await self._store.changes_since(self._seen, watch=True)
        self._seen = changes.last
        _skip(changes.bad)
        return changes.entities


def _failed(error: Exception) -> None:
    log.info("the brokers keep the dynamic configs that they have until these can be read: %s", error)


def _skip(bad: Iterable[BadZnode]) -> None:
    for unreadable in bad:
        log.warning("a malformed config is skipped, so the brokers keep the one before: %s", unreadable)
