"""Dynamic configs in ZooKeeper, followed for all brokers of a process (DynamicConfigManager,
ZkNodeChangeNotificationListener): a sequential znode in /config/changes announces a change; after a new connection all
are read again."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

AGAIN_S = 0.5


class DynamicConfigs:
    """Sets the configs of `throttles` within a second of each change."""

    def __init__(self, zk: ZooKeeper, throttles: ThrottledReplicas) -> None:
        self._store = ConfigStore(zk)
        self._setters: dict[str, Callable[[str, Mapping[str, str]], None]] = {
            TOPICS: throttles.set_topic,
            BROKERS: throttles.set_broker,
        }
        self._seen = -1
        self._read_all = True
        self._wake = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._wake.set()
        zk.on_connected(self._connected)
        zk.on_watch(self._watch_fired)
        self._task = asyncio.create_task(self._run(), name="configs")

    async def ready(self) -> None:
        await self._caught_up.wait()

    async def close(self) -> None:
        await end(self._task)

    def _connected(self) -> None:
        self._read_all = True
        self._wake.set()

    def _watch_fired(self, kind: WatchKind, path: str) -> None:
        if kind is WatchKind.CHILDREN and path == znode_paths.CONFIG_CHANGES:
            self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._follow()
                self._caught_up.set()
            except ZkError as error:
                log.info("the brokers keep the dynamic configs that they have until these can be read: %s", error)
                await asyncio.sleep(AGAIN_S)
                self._read_all = True
                self._wake.set()

    async def _follow(self) -> None:
        changes = await self._store.changes_since(self._seen, watch=True)
        self._seen = changes.last
        bad = list(changes.bad)
        if self._read_all:
            self._read_all = False
            for kind, set_configs in self._setters.items():
                found, garbage = await self._store.get_all(kind)
                bad += garbage
                for name, configs in found.items():
                    set_configs(name, configs)
        else:
            for entity in changes.entities:
                kind, _, name = entity.partition("/")
                if kind in self._setters:
                    try:
                        self._setters[kind](name, await self._store.get(kind, name))
                    except BadZnode as error:
                        bad.append(error)
        for unreadable in bad:
            log.warning("a malformed config is skipped, so the brokers keep the one before: %s", unreadable)
