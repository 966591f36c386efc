"""What happens in ZooKeeper, turned into commands.

Watches are one-shot: each is read (and placed again) together with what it watches, so nothing is missed.
After a reconnect everything is read again (`Supervisor` does that), which places all of them anew.

    /controller                  somebody else took over: stop
    /brokers/ids, /brokers/ids/N a broker came, went, bounced, or moved its listeners
    /brokers/topics, ./TOPIC     a topic appeared, vanished, or was changed by somebody else
    /admin/delete_topics         a topic is to be deleted
    /config/changes              dynamic configs changed
    /admin/reassign_partitions, ./cancel_reassignment_in_progress, ./reassign_cancel    KIP-236
    /admin/reassignment_requests a request was made: see `RequestZnodes`
    /admin/reassign_partitions_queue, ./reassign_partitions_extra                       its queue
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commands import cluster_commands, topic_commands
from kafka_reassign_rpc.controller.commands.queue_commands import QueueZnodesRead
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import AdminZnodesRead, ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading import load_cluster, load_queue
from kafka_reassign_rpc.controller.watches.request_znodes import RequestZnodes
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.state.cluster import Topic
from kafka_reassign_rpc.core.state.reassign_partitions_entries import CancelAll
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import Stat, WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

SYNC_TIMEOUT_S = 1.0
"""A ZooKeeper that is silent for longer is about to be given up: whatever waits for it may as well be tried."""
ADMIN = frozenset((znode_paths.REASSIGN_PARTITIONS, znode_paths.CANCEL_IN_PROGRESS, znode_paths.REASSIGN_CANCEL))


class WatchHandler(Protocol):
    """What a term of office does about events beyond what the loop decides."""

    own_id: int

    def controller_moved(self) -> None:
        """`/controller` is not ours any more."""

    def brokers_changed(self) -> None:
        """Brokers came or went."""

    def configs_changed(self) -> None:
        """Brokers' dynamic configs, or the whole cluster's, are others now."""

    def topics_appeared(self, names: Sequence[str]) -> None:
        """Topics that brokers have to be told everything of."""

    def deletions_begun(self, names: Sequence[str]) -> None:
        """Topics whose replicas have to be stopped."""

    def topics_vanished(self, topics: Sequence[Topic]) -> None:
        """Topics that brokers have to forget."""


class ZooKeeperWatches:
    """Watches what concerns the controller, for as long as it is the controller.

    since      the last transaction before the cluster was read: what came after it is reported
    requests   told when there are others, or when they may have waited for what has changed
    """

    def __init__(
        self, zk: ZooKeeper, term: "WatchHandler", loop: ControllerLoop, since: int, requests: RequestZnodes
    ) -> None:
        self._zk = zk
        self._term = term
        self._loop = loop
        self._since = since
        self._requests = requests
        self._news = asyncio.Event()
        self._pending: dict[Callable[[], Awaitable[None]], None] = {}
        self._topics: dict[str, None] = {}
        self._watched: set[str] = set()
        """Topics whose znodes have a watch: our own new ones get theirs when the list of topics shows them."""
        self._gone: set[str] = set()
        """Topics whose znodes were deleted: one that is there again is another topic, whatever its version."""
        self._configs = ConfigStore(zk)
        self._last_config_change = -1
        self._fired = 1
        self._known = 0
        """How many watches of configs and KIP-236's znodes have fired, and how many had when what is known was read.

        The first stands for `place`.
        """
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def seen(self, kind: WatchKind, path: str) -> None:
        """A watch fired (the session's callback). Only notes it; `run` does the reading."""
        if path == znode_paths.CONTROLLER:
            self._term.controller_moved()
        elif path == znode_paths.BROKER_IDS or path.startswith(znode_paths.BROKER_IDS + "/"):
            self._pending[self.brokers] = None
        elif path == znode_paths.TOPICS:
            self._pending[self.topics] = None
        elif path.startswith(znode_paths.TOPICS + "/"):
            name = path.removeprefix(znode_paths.TOPICS + "/")
            if kind is WatchKind.DELETED:  # the list of topics has changed too, and is read
                self._watched.discard(name)
                self._gone.add(name)
            else:
                self._topics[name] = None
        elif path == znode_paths.DELETE_TOPICS:
            self._pending[self.deletions] = None
        elif path == znode_paths.CONFIG_CHANGES:
            self._pending[self.configs] = None
            self._fired += 1
        elif path == znode_paths.REASSIGNMENT_REQUESTS:
            self._requests.changed()
        elif path in znode_paths.QUEUES:
            self._pending[self.queues] = None
            self._fired += 1
        elif path in ADMIN:
            self._pending[self.admin] = None
            self._fired += 1
        self._news.set()

    async def place(self) -> None:
        """Read everything that is watched once, which places the watches."""
        owner = await controller_election.owner(self._zk, watch=True)
        if owner is None or owner.session != self._zk.session_id:
            self._term.controller_moved()
            return
        self._watched = set(self._loop.cluster.topics)
        await self._zk.place_watches(data=[znode_paths.topic(name) for name in self._watched], since_zxid=self._since)
        for read in (self.brokers, self.topics, self.deletions, self.configs, self.admin, self.queues):
            await read()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            self._has_read(1)
            while True:
                await self._news.wait()
                self._news.clear()
                fired = self._fired
                pending, self._pending = self._pending, {}
                topics, self._topics = self._topics, {}
                for read in pending:
                    await self._guarded(read)
                self._has_read(fired)
                if topics:
                    await self._guarded(partial(self.changed_topics, tuple(topics)))
        finally:
            self.close()

    def close(self) -> None:
        """The term is over."""
        self._has_read(None)

    async def up_to_date(self) -> None:
        """Wait until each config and each znode of KIP-236 that had changed before this is known to the loop.

        So a guard holds from the moment that its maker knows that it exists. Ends early when the term ends.
        """
        with suppress(ZkError, TimeoutError):  # not connected: nothing will be written either
            async with asyncio.timeout(SYNC_TIMEOUT_S):
                await self._zk.sync(znode_paths.ADMIN)
        if self._known < self._fired:
            read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self._fired, read))
            await read

    def _has_read(self, fired: int | None) -> None:
        """None: nothing will be read any more."""
        self._known = sys.maxsize if fired is None else fired
        waiting, self._waiting = self._waiting, []
        for wanted, read in waiting:
            if wanted > self._known:
                self._waiting.append((wanted, read))
            elif not read.done():
                read.set_result(None)

    async def _guarded(self, read: Callable[[], Awaitable[None]]) -> None:
        try:
            await read()
        except ZkError as error:
            # Not connected: when we are again, everything is read; when the session is over, we are no controller.
            log.info("could not read what changed: %s", error)

    async def brokers(self) -> None:
        self._loop.submit(
            cluster_commands.BrokersRead(
                await load_cluster.read_brokers(self._zk, watch=True), self._term.brokers_changed
            )
        )

    async def topics(self) -> None:
        names = set(await self._zk.children(znode_paths.TOPICS, watch=True))
        known = self._loop.cluster.topics
        appeared = [name for name in names if name not in known]
        vanished = [name for name in known if name not in names]
        if appeared:
            await self._read(appeared)
        self._watched &= names
        await self.changed_topics(names - self._watched)
        if vanished:
            self._loop.submit(topic_commands.TopicsVanished(vanished, self._term.topics_vanished))
            self._settle(vanished)

    async def _read(self, names: Sequence[str]) -> None:
        since = self._zk.last_zxid
        self._gone.difference_update(names)
        moves, _ = await load_cluster.read_moves(self._zk, names)
        read = await load_cluster.read_topics(self._zk, names, moves)
        await self._zk.place_watches(data=[znode_paths.topic(name) for name in names], since_zxid=since)
        self._watched.update(names)
        self._loop.submit(
            topic_commands.TopicsRead(
                read.found,
                read.unreadable,
                self._term.own_id,
                appeared=self._term.topics_appeared,
                vanished=self._term.topics_vanished,
            )
        )

    async def changed_topics(self, names: Collection[str]) -> None:
        """Our own writes fire these watches too: only a version that we did not make is read again.

        A watch comes before the answer to the write that fired it: so first the round under way has to end.
        """
        found_versions: dict[str, int] = {}
        for name in names:
            stat = await self._zk.exists(znode_paths.topic(name), watch=True)
            self._watched.add(name)
            if stat is not None:
                found_versions[name] = stat.version
        if not self._newer(found_versions):
            return
        with suppress(NotController):  # the loop has ended, and we with it
            await self._loop.submit(cluster_commands.Barrier())
        foreign = self._newer(found_versions)
        if foreign:
            await self._read(foreign)

    def _newer(self, versions: Mapping[str, int]) -> list[str]:
        """Topics whose znode has a newer version than the one that we know, or is another one."""
        known = self._loop.cluster.topics
        return [
            name
            for name, version in versions.items()
            if name not in known or name in self._gone or version > known[name].version
        ]

    async def deletions(self) -> None:
        names = await load_cluster.watched_children(self._zk, znode_paths.DELETE_TOPICS)
        if names:
            self._loop.submit(topic_commands.TopicDeletionsRead(names, self._term.deletions_begun))
            self._settle(names)

    async def configs(self) -> None:
        changes = await self._configs.changes_since(self._last_config_change, watch=True)
        self._last_config_change = changes.last
        for error in changes.bad:
            log.error("left out: %s", error)
        for kind in ("topics", "brokers"):
            names = [name for entity in changes.entities for found, _, name in [entity.partition("/")] if found == kind]
            if names:
                read = await load_cluster.read_named_configs(self._zk, kind, names)
                self._loop.submit(cluster_commands.ConfigsRead(kind, {name: read.get(name, {}) for name in names}))
                if kind == "brokers":
                    self._settle()
                    self._requests.changed()
                    self._term.configs_changed()

    def _settle(self, topics: Collection[str] = ()) -> None:
        if self._loop.cluster.batch is not None or self._loop.cluster.queue:
            self._loop.submit(ProcessBatchAndQueue(topics))

    async def admin(self) -> None:
        found, batch_read = await self._admin_znodes()
        if self._is_new(found.cancel_all) and not batch_read:
            found, batch_read = await self._admin_znodes()  # a batch that was there before the cancel is part of it
        if (
            batch_read
            or self._is_new(found.cancel_all)
            or found.disabled_by_znode != self._loop.cluster.disabled_by_znode
        ):
            self._loop.submit(AdminZnodesRead(found, batch_read=batch_read))
            self._requests.changed()

    async def _admin_znodes(self) -> tuple[load_cluster.AdminZnodes, bool]:
        """And whether the batch is among them: our own writes fire its watch too, so it is read where its last change
        is not ours. That is looked at before the others are, which may have come later than a batch not seen yet."""
        stat = await self._zk.exists(znode_paths.REASSIGN_PARTITIONS, watch=True)
        with suppress(NotController):  # the loop has ended, and we with it
            await self._loop.submit(cluster_commands.Barrier())
        news = self._is_news(stat)
        return await load_cluster.read_admin(self._zk, batch=news, watch=True), news

    def _is_new(self, cancel: CancelAll | None) -> bool:
        return cancel is not None and cancel.id != self._loop.cluster.cancelled

    async def queues(self) -> None:
        """What the controller itself writes into them fires their watches too."""
        stats = {root: await self._zk.exists(root, watch=True) for root in znode_paths.QUEUES}
        with suppress(NotController):  # the loop has ended, and we with it
            await self._loop.submit(cluster_commands.Barrier())
        parts = self._loop.cluster.queue.parts
        seen = [
            await load_queue.read_root(self._zk, root)
            for root, stat in stats.items()
            if (root in parts if stat is None else root not in parts or stat.mzxid > parts[root].changed)
        ]
        if seen:
            self._loop.submit(QueueZnodesRead(seen))

    def _is_news(self, stat: Stat | None) -> bool:
        known = self._loop.cluster.batch
        return stat is not None if known is None else stat is None or stat.mzxid > known.changed
