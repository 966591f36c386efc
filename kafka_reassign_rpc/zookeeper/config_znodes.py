"""Dynamic configs in ZooKeeper, as Kafka stores and announces them (AdminZkClient, ZkConfigRepository): of topics and
brokers, and of users, clients and IPs, whose quotas (KIP-546) and SCRAM credentials (KIP-554) they are.

    /config/topics/$topic   /config/brokers/$id                     /config/brokers/<default>
    /config/users/$user     /config/users/$user/clients/$client     /config/clients/$client     /config/ips/$ip

Each holds {"version":1,"config":{…}}. A sequential znode under /config/changes announces every change, here in one
transaction with the write, so that none stays unannounced; Kafka makes them one after the other.

Names of users and clients are quoted for URLs (Kafka's Sanitizer); the znode `<default>` holds what is for all others.

`AnnouncedChanges` follows changes, of ACLs too, as Kafka's ZkNodeChangeNotificationListener does: all is read after
each connection, since an announcement may have come and gone, then what is announced. The repair of a znode that could
not be read is not announced: it is watched.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, SHAPES, USER, QuotaEntity
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_contents, znode_decoder, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData, Stat, WatchKind
from kafka_reassign_rpc.zookeeper.transactions import split_ops, transact_anew
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, NotSent, TransactionFailed, Unknown

log = logging.getLogger(__name__)

CHANGE_EXPIRATION_MS = 15 * 60 * 1000
"""How long an announcement stays (ZkNodeChangeNotificationListener)."""
RACES = 20
"""How often `alter` tries, where another process was faster, before it raises what ZooKeeper has answered."""

Change = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Returns the wanted configs from the current ones. Pure: after a lost race it is called again."""


Removal = Callable[[Stat | None], Awaitable[Sequence[Op] | None]]
"""Returns the operations that remove an entity's znode as it was read (None: there is none); None if it has to stay."""


class Changes(NamedTuple):
    """Entity paths (`topics/x`), each once, in order; `last` is the number to continue from."""

    last: int
    entities: list[str]
    bad: list[BadZnode]


def entity_path(entity_type: str, name: str) -> str:
    return f"{entity_type}/{name}"


class ConfigStore:
    """The methods raise BadZnode."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        return (await self._read(znode_paths.config(entity_path(entity_type, name))))[0]

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        """A broker's malformed znode counts as empty: brokers leave it out too."""
        try:
            return (await self._read(znode_paths.config(entity_path(entity_type, name))))[0]
        except BadZnode as error:
            if entity_type != BROKERS:
                raise
            log.warning("%s: this broker counts as one without configs of its own, as it does for itself", error)
            return {}

    async def get_all(self, entity_type: str) -> tuple[dict[str, dict[str, str]], list[BadZnode]]:
        try:
            names = await self._zk.children(znode_paths.config_type(entity_type))
        except NoNode:
            return {}, []
        where = [f"{znode_paths.config_type(entity_type)}/{name}" for name in names]
        found, bad = znode_decoder.decode_many(
            znode_contents.decode_config, zip(where, await self._zk.multi_get(where), strict=True)
        )
        return {path.rpartition("/")[2]: config for path, config in found.items()}, bad

    async def alter(
        self,
        entity_type: str,
        name: str,
        change: Change,
        removal: Removal | None = None,
        by: Requester = CONTROLLER,  # noqa: ARG002 - Kafka's znodes do not say who has changed them
    ) -> None:
        """Writes (compare-and-set) and announces. Passes on what `change` raises. An entity that is left without
        configs keeps its znode unless `removal` says how it goes, in the same transaction. Raises as
        `ZooKeeper.transact`.

        It announces even if nothing changes, as Kafka does (AdminZkClient.changeEntityConfig): brokers keep the configs
        of a deleted topic, and the announcement makes them read again.
        """
        entity = entity_path(entity_type, name)
        path = znode_paths.config(entity)

        async def make() -> list[Op]:
            current, stat = await self._read(path)
            wanted = dict(change(current))
            removed = None
            if removal is not None and not wanted:
                removed = await self._zk.reading(partial(removal, stat))
            return [*([written(path, wanted, stat)] if removed is None else removed), announcement(entity)]

        await transact_anew(self._zk, make, RACES)

    async def changes_since(self, last: int, *, watch: bool = False) -> Changes:
        """`last` -1: all that are still there. A watch reports the next one, or the creation of their parent, whose
        numbers begin again."""
        feed = znode_paths.CONFIG_CHANGES
        since = partial(announced_since, self._zk, feed, last, watch=watch)
        if (read := await self._zk.if_there(feed, since, watch=watch)) is None:
            return Changes(-1, [], [])
        newest, announced = read
        pace = Pace()
        entities: dict[str, None] = {}
        bad: list[BadZnode] = []
        for one in announced:
            found, malformed = znode_decoder.decode_many(znode_contents.decode_config_change, [one])
            entities.update(dict.fromkeys(found.values()))
            bad += malformed
            await pace.rest()
        return Changes(newest, list(entities), bad)

    async def purge_changes(self, now_ms: int) -> None:
        await purge_announcements(self._zk, znode_paths.CONFIG_CHANGES, now_ms)

    async def _read(self, path: str) -> tuple[dict[str, str], Stat | None]:
        try:
            data, stat = await self._zk.reading(lambda: self._zk.get(path))
        except NoNode:
            return {}, None
        return znode_contents.decode_config(data, path), stat


def written(path: str, configs: Mapping[str, str], stat: Stat | None) -> Op:
    """`stat`: of the znode as it was read; None: there was none."""
    data = znode_contents.encode_config(configs)
    return Create(path, data) if stat is None else SetData(path, data, stat.version)


def written_or_gone(path: str, configs: Mapping[str, str], stat: Stat | None) -> list[Op]:
    """Of a broker: without configs it has no znode, as before it had any. Kafka reads both the same.

    What is deleted is written first: its own ACL decides, as about any other change of it.
    """
    change = written(path, configs, stat)
    gone = [Delete(path, stat.version + 1)] if not configs and stat is not None and not stat.num_children else []
    return [change, *gone]


def announcement(entity: str) -> Create:
    return Create(znode_paths.CONFIG_CHANGE_PREFIX, znode_contents.encode_config_change(entity), sequence=True)


async def numbered(zk: ZooKeeper, feed: str, *, watch: bool) -> dict[int, str]:
    """The paths of the announcements that are there, by number. Raises NoNode."""
    pace = Pace()
    found: dict[int, str] = {}
    for name in await zk.children(feed, watch=watch, many=True):
        if (number := znode_paths.sequence_number(name)) is not None:
            found[number] = f"{feed}/{name}"
        await pace.rest()
    return found


async def announced_since(
    zk: ZooKeeper, feed: str, last: int, *, watch: bool
) -> tuple[int, list[tuple[str, tuple[bytes, Stat] | None]]]:
    """The number to continue from, and each announcement after `last`, in order, as it was read (None: it is gone).
    All of them where each is before `last`: the feed was deleted and made again. Raises NoNode.
    """
    known = await numbered(zk, feed, watch=watch)
    if max(known, default=last) < last:
        last = -1
    new = [known[number] for number in sorted(known) if number > last]
    return max(known, default=last), list(zip(new, await zk.multi_get(new), strict=True))


async def purge_announcements(zk: ZooKeeper, feed: str, now_ms: int, most: int | None = None) -> None:
    """As brokers do; `most` bounds how many are looked at. Several processes may do so at once."""
    with suppress(NoNode):
        names = await zk.children(feed, many=True)
        paths = [f"{feed}/{name}" for name in sorted(names)[:most]]
        old = [
            Delete(path)
            for path, read in zip(paths, await zk.multi_get(paths), strict=True)
            if read is not None and read[1].ctime + CHANGE_EXPIRATION_MS < now_ms
        ]
        for batch in split_ops(old):
            try:
                await zk.multi(batch)
            except TransactionFailed as failure:
                if not isinstance(failure.error, NoNode):  # another process deletes them too: the rest goes next time
                    raise failure.error from failure


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


FIRST_RETRY_S, LONGEST_RETRY_S = 0.1, 10.0


class AnnouncedChanges:
    """feeds         the znodes whose children are announcements
    unreadable    paths of watched znodes that could not be read
    read_all      it and `read_changed` place the watch of the feeds first; one of the two runs at a time
    read_changed  gets the paths of unreadable znodes that have changed
    failed        gets what has gone wrong while ZooKeeper is there; all is read again after a while
    """

    def __init__(
        self,
        zk: ZooKeeper,
        feeds: Collection[str],
        unreadable: Container[str],
        read_all: Callable[[], Awaitable[None]],
        read_changed: Callable[[Collection[str]], Awaitable[None]],
        failed: Callable[[Exception], None],
    ) -> None:
        self._zk = zk
        self._feeds, self._unreadable = feeds, unreadable
        self._read_all, self._read_changed, self._failed = read_all, read_changed, failed
        self._is_stale = True
        self._repaired: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        zk.on_watch(self._watch_fired)
        zk.on_connected(self._connected)

    def start(self, name: str) -> None:
        """`name`: of the task."""
        if self._is_stale:
            self._wake.set()
        self._task = asyncio.create_task(self._run(), name=name)

    async def close(self) -> None:
        if self._task is not None:
            await end(self._task)

    def _watch_fired(self, _kind: WatchKind, path: str) -> None:
        if path in self._unreadable:
            self._repaired.add(path)
            self._wake.set()
        elif path in self._feeds:
            self._wake.set()

    def _connected(self) -> None:
        self._is_stale = True
        self._wake.set()

    async def read(self) -> None:
        """Once, before `start` too. Raises as `read_all` and `read_changed`."""
        self._wake.clear()
        is_stale, self._is_stale = self._is_stale, False
        repaired, self._repaired = self._repaired, set()
        try:
            await (self._read_all() if is_stale else self._read_changed(repaired))
        except BaseException:
            self._is_stale = True
            raise

    async def _run(self) -> None:
        backoff = Backoff(FIRST_RETRY_S, LONGEST_RETRY_S)
        while True:
            await self._wake.wait()
            try:
                await self.read()
            except Exception as error:
                if isinstance(error, NotSent | Unknown) or not self._zk.connected:
                    continue  # `_connected` comes, or has come
                self._failed(error)
                self._wake.set()
                await backoff.sleep()
            else:
                backoff.reset()
