"""Keeps the SCRAM credentials of all users in memory up to date with `/config/users`, on every server.

As brokers do (ZkConfigManager): all users are read at the start and after each connection to ZooKeeper, then those that
`/config/changes` announces. While ZooKeeper is away, the credentials stay as they are.
"""

import asyncio
import logging
from collections.abc import Sequence

from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.security.sasl.credential_cache import CredentialCache
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.quota_znodes import READ_TOGETHER, QuotaStore, unquote_name
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, ZkError

log = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
USERS = "users"


class UserCredentials:
    """Fills a cache. `start` returns when all users have been read once."""

    def __init__(self, zk: ZooKeeper, cache: CredentialCache) -> None:
        self._zk = zk
        self._cache = cache
        self._configs = ConfigStore(zk)
        self._users = QuotaStore(zk)
        self._last = -1
        """The number of the last announcement that was looked at."""
        self._read_all = True
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises ZkError."""
        self._zk.on_watch(self._watch_fired)
        self._zk.on_connected(self._connected)
        await self._all()
        self._read_all = False
        self._task = asyncio.create_task(self._run(), name="user credentials")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _watch_fired(self, _kind: WatchKind, path: str) -> None:
        if path == znode_paths.CONFIG_CHANGES:
            self._wake.set()

    def _connected(self) -> None:
        self._read_all = True
        self._wake.set()

    async def _run(self) -> None:
        backoff = Backoff(FIRST_WAIT_S, LONGEST_WAIT_S)
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                if self._read_all:
                    self._read_all = False
                    await self._all()
                else:
                    await self._changed()
            except Exception as error:
                if not isinstance(error, ZkError):
                    log.exception("the credentials of users could not be read; all are read again")
                self._read_all = True
                self._wake.set()
                await backoff.sleep()
            else:
                backoff.reset()

    async def _all(self) -> None:
        self._last = (await self._configs.changes_since(self._last, watch=True)).last
        try:
            names = await self._zk.children(znode_paths.config_type(USERS))
        except NoNode:
            names = []
        users = [user for name in names if (user := unquote_name(name)) is not None]
        for some in pieces(users, READ_TOGETHER):
            await self._read(some)
            await asyncio.sleep(0)
        self._cache.keep_only(users)

    async def _changed(self) -> None:
        changes = await self._configs.changes_since(self._last, watch=True)
        self._last = changes.last
        parts = [entity.split("/") for entity in changes.entities]
        names = [unquote_name(part[1]) for part in parts if len(part) == 2 and part[0] == USERS]
        for some in pieces([name for name in names if name is not None], READ_TOGETHER):
            await self._read(some)

    async def _read(self, users: Sequence[str]) -> None:
        """A user whose znode is gone, or malformed, has no credentials."""
        found = await self._users.get_many([((USER, user),) for user in users])
        for user in users:
            self._cache.put(user, found.get(((USER, user),), {}))
