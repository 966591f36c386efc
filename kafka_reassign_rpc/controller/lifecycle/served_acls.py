"""ACLs as clients find, create and delete them here (AclAuthorizer.acls, createAcls, deleteAcls), and the
authorizer's, which are kept as they are in ZooKeeper:

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
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.config_ports import DeletedAcl
from kafka_reassign_rpc.core.acls.acl_authorizer import NO_ENTRIES, AclAuthorizer, Entries
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ResourcePattern,
    is_principal,
)
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, PolicyViolation, UnknownServerError
from kafka_reassign_rpc.support.counted import counted, first_of
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace, in_turns
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, Change, Read, TooManyAcls, acl_path
from kafka_reassign_rpc.zookeeper.config_znodes import AnnouncedChanges
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, Unknown, ZkError

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


Matching = dict[ResourcePattern, list[AccessControlEntry]]


class ServedAcls:
    """The `AclPort` of the server process. `record` takes the events of changes."""

    def __init__(self, keeper: AclKeeper, record: Callable[[Iterable[Event]], None]) -> None:
        self._keeper = keeper
        self._record = record
        self._cache = keeper.authorizer.cache

    async def find(self, wanted: AclBindingFilter) -> Mapping[ResourcePattern, Sequence[AccessControlEntry]]:
        self._check_loaded()
        return await in_turns(self._matching([wanted]))

    async def create(self, acls: Sequence[AclBinding], ctx: RequestContext) -> Sequence[KafkaError | None]:
        """All ACLs of a pattern together, as AclAuthorizer does."""
        self._check_loaded()
        wanted: dict[ResourcePattern, set[AccessControlEntry]] = {}
        for pattern, entry in acls:
            wanted.setdefault(pattern, set()).add(entry)
        outcomes = {pattern: await self._add(pattern, entries, ctx) for pattern, entries in wanted.items()}
        return [outcomes[acl.pattern] for acl in acls]

    async def _add(
        self, pattern: ResourcePattern, entries: set[AccessControlEntry], ctx: RequestContext
    ) -> KafkaError | None:
        wrong = next((one.principal for one in entries if not is_principal(one.principal)), None)
        if wrong is not None:
            return UnknownServerError(f"expected a string in format principalType:principalName but got {wrong}")
        if self._cache.size + len(entries) > MOST_ACLS:
            return PolicyViolation(f"This server keeps at most {MOST_ACLS} ACLs.")
        return await self._change(pattern, lambda current: current | entries, ctx)

    async def delete(self, filters: Sequence[AclBindingFilter], ctx: RequestContext) -> Sequence[Sequence[DeletedAcl]]:
        self._check_loaded()
        patterns = dict.fromkeys(await in_turns(self._matching(filters)))
        for wanted in filters:
            patterns.update(dict.fromkeys(one for one in wanted.patterns() if one.name and "/" not in one.name))
        deleted: list[list[DeletedAcl]] = [[] for _ in filters]
        pace = Pace()
        for pattern in patterns:
            about = [(index, one) for index, one in enumerate(filters) if one.matches_pattern(pattern)]
            chosen: dict[AccessControlEntry, int] = {}

            def without(
                current: Entries,
                about: Sequence[tuple[int, AclBindingFilter]] = about,
                chosen: dict[AccessControlEntry, int] = chosen,
            ) -> Entries:
                for entry in current:
                    index = next((index for index, one in about if one.matches_entry(entry)), None)
                    if index is not None:
                        chosen[entry] = index
                return current - chosen.keys()

            error = await self._change(pattern, without, ctx)
            for entry, index in chosen.items():
                deleted[index].append((AclBinding(pattern, entry), error))
            await pace.rest()
        return deleted

    def _matching(self, filters: Sequence[AclBindingFilter]) -> Generator[None, None, Matching]:
        found: Matching = {}
        patterns = self._cache.patterns()
        yield
        for pattern in patterns:
            about = [one for one in filters if one.matches_pattern(pattern)]
            yield
            for entry in self._cache.entries(pattern) if about else ():
                if any(one.matches_entry(entry) for one in about):
                    found.setdefault(pattern, []).append(entry)
                yield
        return found

    async def _change(
        self, pattern: ResourcePattern, change: Callable[[Entries], Entries], ctx: RequestContext
    ) -> KafkaError | None:
        try:
            before, after = await self._keeper.change(pattern, change)
        except TooManyAcls as error:
            return PolicyViolation(f"{error}: use a prefixed pattern, or a principal for several users.")
        except BadZnode as error:
            return UnknownServerError(f"The ACLs of {pattern} cannot be read: {error.reason}")
        except (NotSent, SessionOver, Unknown) as error:
            return BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}")
        except ZkError as error:
            log.warning(
                "the ACLs of %s stay as they were, and their client gets UNKNOWN_SERVER_ERROR: %s", pattern, error
            )
            return UnknownServerError(f"The ACLs of {pattern} cannot be changed: {error}")
        self._record(
            Event(event, reason=_shown(pattern, changed), count=len(changed)).asked_by(ctx.requester)
            for event, changed in ((catalogue.ACL_CREATED, after - before), (catalogue.ACL_DELETED, before - after))
            if changed
        )
        return None

    def _check_loaded(self) -> None:
        if not self._keeper.authorizer.loaded:
            raise BrokerNotAvailable("The ACLs are not loaded yet. Try again.")


SHOWN = 3


def _shown(pattern: ResourcePattern, entries: Entries) -> str:
    some = [
        f"{one.permission_type.name} {one.operation.name} to {one.principal} from {one.host}"
        for one in sorted(entries)[:SHOWN]
    ]
    return f"{pattern}: {first_of(some, SHOWN, of=len(entries))}"
