"""Keeps the authorizer's ACLs as they are in ZooKeeper.

    not loaded   super users alone are admitted
    loaded       each announcement makes the keeper read that resource again. While ZooKeeper is away the ACLs that were
                 read last count, as in Kafka
    reconnected  everything is read again: an announcement may have come and gone
    unreadable   an entry that cannot be read is watched, and read again once it is repaired

Announcements are watched before ACLs are read, so no change is missed. One that cannot be read makes the keeper read
everything. ACLs that cannot be read refuse all but super users on their resources. A lock keeps a read from putting
something older over a write of this server.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence

from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import ResourcePattern
from kafka_reassign_rpc.core.acls.acl_cache import NO_ENTRIES, Entries
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, Change, Read, acl_path
from kafka_reassign_rpc.zookeeper.announced_changes import AnnouncedChanges
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

MOST_ACLS = 1_000_000
"""With more ACLs the keeper gives up, and admits only super users: memory has an end."""
MOST_LOGGED = 20
"""Unreadable znodes that are logged one by one at a load."""
READ_TOGETHER = 200
_FEEDS = frozenset((znode_paths.ACL_CHANGES, znode_paths.EXTENDED_ACL_CHANGES))


class TooManyInZooKeeper(RuntimeError): ...


class AclKeeper:
    def __init__(self, zk: ZooKeeper, authorizer: AclAuthorizer) -> None:
        self.authorizer = authorizer
        self._zk = zk
        self._store = AclStore(zk)
        self._cache = authorizer.cache
        self._lock = asyncio.Lock()
        self._unreadable: dict[str, ResourcePattern] = {}
        """By path. They are watched, since a repair is not announced."""
        self._last: Mapping[str, int] = {}
        self._pace = Pace()
        self._changes = AnnouncedChanges(zk, _FEEDS, self._unreadable, self._all, self._changed, _failed)

    async def start(self) -> None:
        self._changes.start("acls")

    async def close(self) -> None:
        await self._changes.close()

    async def change(self, pattern: ResourcePattern, change: Change) -> tuple[Entries, Entries]:
        """At once in force. Returns the ACLs before and after. Raises as AclStore.change."""
        async with self._lock:
            before, after = await self._store.change(pattern, change)
            await self._put(pattern, after)
            return before, after

    async def _all(self) -> None:
        async with self._lock:
            await self._load()

    async def _changed(self, repaired: Collection[str]) -> None:
        async with self._lock:
            await self._follow(repaired)

    async def _load(self) -> None:
        """What vanishes from ZooKeeper in the meantime is announced."""
        await self._store.create_paths()
        self._last = await self._store.last_changes()
        since = self._zk.last_zxid
        gone = dict.fromkeys(self._cache.patterns())
        bad = 0
        async for pattern, found in self._store.read_all():
            gone.pop(pattern, None)
            bad += isinstance(found, BadZnode)
            await self._take((pattern, found), logged=bad <= MOST_LOGGED)
            if self._cache.size > MOST_ACLS:
                self.authorizer.loaded = False
                raise TooManyInZooKeeper(f"more than {MOST_ACLS} ACLs: only super users are admitted")
        for pattern in gone:
            await self._put(pattern, NO_ENTRIES)
        await self._zk.place_watches(list(self._unreadable), since)
        if bad > MOST_LOGGED:
            log.error(
                "the ACLs of %s cannot be read: only super users are admitted there",
                counted(bad - MOST_LOGGED, "more resource"),
            )
        if not self.authorizer.loaded:
            log.info(
                "the authorizer decides from now on: it has loaded %s of %s",
                counted(self._cache.size, "ACL"),
                counted(len(self._cache.patterns()), "resource"),
            )
        self.authorizer.loaded = True
        await self._store.purge_changes(now_ms())

    async def _follow(self, repaired: Collection[str]) -> None:
        changed = await self._store.changed_since(self._last)
        if changed.bad:
            log.warning("an announcement cannot be decoded, so all ACLs are read again: %s", changed.bad[0])
            await self._load()
            return
        again = [self._unreadable[path] for path in repaired if path in self._unreadable]
        await self._read([*changed.patterns, *again])
        self._last = changed.last
        if changed.patterns:
            await self._store.purge_changes(now_ms())

    async def _read(self, patterns: Sequence[ResourcePattern]) -> None:
        since = self._zk.last_zxid
        for some in pieces(patterns, READ_TOGETHER):
            for read in await self._store.read(some):
                await self._take(read, logged=True)
        places = self._unreadable.keys() & {acl_path(pattern) for pattern in patterns}
        await self._zk.place_watches(sorted(places), since)

    async def _take(self, read: Read, *, logged: bool) -> None:
        pattern, found = read
        path = acl_path(pattern)
        self._unreadable.pop(path, None)
        if isinstance(found, BadZnode):
            self._unreadable[path] = pattern
            if logged:
                log.error("only super users are admitted to %s: %s", pattern, found)
            await self._put(pattern, None)
        else:
            await self._put(pattern, found)

    async def _put(self, pattern: ResourcePattern, entries: Entries | None) -> None:
        await self._pace.through(self._cache.put(pattern, entries))
        await self._pace.rest()


def _failed(error: Exception) -> None:
    if isinstance(error, ZkError | TooManyInZooKeeper):
        log.error("the ACLs cannot be loaded, so the last ones hold, or only super users are admitted: %s", error)
    else:
        log.error(
            "a defect: the last ACLs hold, or only super users are admitted, until all are loaded again",
            exc_info=error,
        )
