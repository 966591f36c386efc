"""Turns changes in ZooKeeper into commands.

Watches fire once; every read places the watch again, so no change is missed. A lost connection takes its watches with
it. On the next one of the session all are placed again: those of topics so that they fire at once where a topic has
changed since, and all else is read and compared with what the loop knows.

    /controller                         another controller was elected: the term ends
    /brokers/ids, /brokers/ids/N        a broker registered, is gone, registered again, or changed its listeners
    /admin/reassignment_server_ids, ./reassignment_servers   a server has taken an id, or has given it to a broker
    /brokers/topics, ./TOPIC            a topic appeared, vanished, or was changed by others
    /admin/delete_topics                a topic is to be deleted
    /config/changes                     dynamic configs changed
    states, configs                     those that cannot be read: see `unreadable_znodes`
    /admin/reassignment_settings        settings of the servers changed
    /admin/reassign_partitions, ./cancel_reassignment_in_progress, ./reassign_cancel   KIP-236
    /admin/reassign_partitions_queue, ./reassign_partitions_extra                      KIP-236's queue
    /admin/reassignment_requests        see `request_znodes`
    /log_dir_event_notification, /isr_change_notification, /admin/preferred_replica_election: see `broker_notifications`
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Protocol

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commands import cluster_commands, topic_commands
from kafka_reassign_rpc.controller.commands.queue_commands import QueueZnodesRead
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import AdminZnodesRead, ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading import load_cluster, load_topics
from kafka_reassign_rpc.controller.loading.load_topics import watched_children
from kafka_reassign_rpc.controller.watches.broker_notifications import BrokerNotifications
from kafka_reassign_rpc.controller.watches.request_znodes import RequestZnodes
from kafka_reassign_rpc.controller.watches.unreadable_znodes import UnreadableZnodes
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.state.queue_entries import CancelAll
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import facts
from kafka_reassign_rpc.core.writers.facts import AdminZnodes
from kafka_reassign_rpc.core.writers.topic_facts import MarksFound, TopicsFound, UnreadableGone
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import Stat, WatchKind
from kafka_reassign_rpc.zookeeper.own_server_znodes import give_to_brokers
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, Unknown, ZkError

log = logging.getLogger(__name__)

TOPICS_AT_ONCE = 200
"""How many changed topics are checked before other changes have their turn again: the death of a broker must not wait
for thousands of topics."""
ADMIN = frozenset((znode_paths.REASSIGN_PARTITIONS, znode_paths.CANCEL_IN_PROGRESS, znode_paths.REASSIGN_CANCEL))


class WatchHandler(Protocol):
    own_id: int

    def controller_moved(self) -> None:
        """This server no longer owns `/controller`."""

    def broker_has_id(self) -> None:
        """A broker has registered with this server's id."""

    def brokers_changed(self) -> None: ...

    def configs_changed(self) -> None:
        """Of brokers or of the whole cluster, or settings of the servers."""

    def topics_appeared(self, names: Sequence[str]) -> None:
        """Brokers have to learn all partitions of these topics."""

    def states_repaired(self, names: Sequence[TopicPartition]) -> None:
        """Any broker may hold what it has no replica of: while a state is unreadable, no broker is made to stop."""

    def deletions_begun(self, names: Sequence[str]) -> None:
        """The replicas of these topics have to stop."""

    def stale_marks_found(self) -> None:
        """Marks of `/admin/delete_topics` may have to go, since they mark no topic."""


class ZooKeeperWatches:
    """since           the last transaction before the cluster was read: changes of known topics after it are reported
    requests        notified of new request znodes, and of changes that they may have waited for
    """

    def __init__(
        self,
        zk: ZooKeeper,
        term: "WatchHandler",
        loop: ControllerLoop,
        since: int,
        requests: RequestZnodes,
        notifications: BrokerNotifications,
    ) -> None:
        self._zk = zk
        self._term = term
        self._loop = loop
        self._since = since
        self._requests = requests
        self._notifications = notifications
        self._wake = asyncio.Event()
        self._pending: dict[Callable[[], Awaitable[None]], None] = {}
        self._reads: Mapping[str, Callable[[], Awaitable[None]]] = {
            znode_paths.TOPICS: self.topics,
            znode_paths.DELETE_TOPICS: self.deletions,
            **dict.fromkeys(znode_paths.SERVERS, self.servers),
        }
        self._unreadable = UnreadableZnodes(zk, loop, term.own_id, term.states_repaired)
        self._topics: dict[str, None] = {}
        self._watched: set[str] = set(loop.cluster.topics)
        """Topics whose changes after `since` are, or will be, reported. Topics that this controller creates get a watch
        when the list of topics shows them."""
        self._is_placed = False
        """Whether the watches of the topics are placed on the present connection."""
        self._configs = ConfigStore(zk)
        self._last_config_change = -1
        self._fired = 1
        self._known = 0
        """How many watches of `_awaited` have fired, and after how many of them the loop knew all.

        The first one is that of `place`; each lost connection counts as one.
        """
        self._awaited: dict[str, Callable[[], Awaitable[None]]] = {
            znode_paths.CONFIG_CHANGES: self.configs,
            znode_paths.SETTINGS: self.settings,
            **dict.fromkeys(znode_paths.QUEUES, self.queues),
            **dict.fromkeys(ADMIN, self.admin),
        }
        """Configs, settings and KIP-236's znodes, for which `up_to_date` waits."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def watch_fired(self, kind: WatchKind, path: str) -> None:
        """The session's callback; `run` reads what has changed."""
        if path == znode_paths.CONTROLLER:
            self._term.controller_moved()
        elif path == znode_paths.BROKER_IDS or path.startswith(znode_paths.BROKER_IDS + "/"):
            self._pending[self.brokers] = None
        elif path in self._reads:
            self._pending[self._reads[path]] = None
        elif self._unreadable.changed(path):
            self._pending[self.unreadable] = None
            self._fired += 1
        elif path.startswith(znode_paths.TOPICS + "/"):
            name = path.removeprefix(znode_paths.TOPICS + "/")
            if kind is WatchKind.DELETED:  # the list of topics has changed too: it is read
                self._watched.discard(name)
            else:
                self._topics[name] = None
        elif path in self._awaited:
            self._pending[self._awaited[path]] = None
            self._fired += 1
        elif path == znode_paths.REASSIGNMENT_REQUESTS:
            self._requests.changed()
        else:
            self._notifications.changed(path)
        self._wake.set()

    def connection_lost(self) -> None:
        """What the watches have reported so far is still to be read."""
        if self._is_placed:
            self._since = self._zk.last_zxid
        self._is_placed = False
        self._fired += 1
        self._unreadable.connection_lost()

    def connected_again(self) -> None:
        self._requests.changed()
        self._notifications.read_everything()
        self._wake.set()

    async def place(self) -> None:
        await self._place_topics()
        for read in self._everything:
            await read()

    @property
    def _everything(self) -> Sequence[Callable[[], Awaitable[None]]]:
        first = self.brokers, self.servers, self.topics, self.deletions
        return *first, self.configs, self.settings, self.admin, self.queues, self.unreadable

    async def _place_topics(self) -> None:
        """Those of topics that have changed after `since` fire at once."""
        owner = await controller_election.owner(self._zk, watch=True)
        if owner is None or owner.session != self._zk.session_id:
            self._term.controller_moved()
            return
        created = set(self._loop.cluster.topics) - self._watched
        self._watched |= created
        self._topics.update(dict.fromkeys(created))
        await self._zk.place_watches([znode_paths.topic(name) for name in self._watched], self._since)
        self._is_placed = True

    async def _is_placed_again(self) -> bool:
        """Whether the watches are placed, or were placed now. Everything else is still to be read then."""
        if self._is_placed:
            return True
        try:
            await self._zk.sync(znode_paths.ADMIN)  # this server may be behind the one of the former connection
            await self._place_topics()
        except (NotSent, Unknown) as error:
            log.info("changes are seen again from the next connection on: %s", error)
            return False
        self._pending.update(dict.fromkeys(self._everything))
        return True

    async def run(self) -> None:
        try:
            self._has_read(1)
            while True:
                await self._wake.wait()
                self._wake.clear()
                fired = self._fired
                if not await self._is_placed_again():
                    continue
                pending, self._pending = self._pending, {}
                for read in pending:
                    await self._read_or_log(read)
                if not self._is_placed:
                    continue
                if fired > self._known:
                    await self._loop_has_caught_up()
                    self._has_read(fired)
                topics = tuple(islice(self._topics, TOPICS_AT_ONCE))
                if topics:
                    for name in topics:
                        del self._topics[name]
                    if not await self._read_or_log(partial(self.changed_topics, topics)):
                        self._topics.update(dict.fromkeys(topics))
                if self._topics:
                    self._wake.set()
        finally:
            self.close()

    def close(self) -> None:
        self._has_read(None)

    def read_topics_again(self, names: Collection[str]) -> None:
        """Their znodes may mean something else now, although they have not changed."""
        self._topics.update(dict.fromkeys(names))
        self._wake.set()

    def read_deletions_again(self) -> None:
        """Marks may mean something else now."""
        self._pending[self.deletions] = None
        self._wake.set()

    def look_for_unreadable(self) -> None:
        """Znodes were read."""
        self._pending[self.unreadable] = None
        self._wake.set()

    async def unreadable(self) -> None:
        await self._loop_has_caught_up()
        if await self._unreadable.read():
            self._settings_changed()

    async def up_to_date(self) -> None:
        """Waits until the loop knows every config, setting and znode of KIP-236 that changed before this call: so
        `/admin/reassign_cancel` holds as soon as its creator knows it exists. Waits for a lost connection, and ends
        early with the term."""
        with suppress(ZkError):  # without a session this server will write nothing either
            await self._zk.reading(partial(self._zk.sync, znode_paths.ADMIN))
        if self._known < self._fired:
            read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self._fired, read))
            await read

    def _has_read(self, fired: int | None) -> None:
        """The loop knows what `fired` watches reported; None: nothing will be read any more."""
        self._known = sys.maxsize if fired is None else fired
        waiting, self._waiting = self._waiting, []
        for wanted, read in waiting:
            if wanted > self._known:
                self._waiting.append((wanted, read))
            elif not read.done():
                read.set_result(None)

    async def _read_or_log(self, read: Callable[[], Awaitable[None]]) -> bool:
        """Returns whether the connection has lasted. Without a session this server is not the controller."""
        try:
            await read()
        except ZkError as error:
            log.info("what changed could not be read, and is read again on the next connection: %s", error)
            return not isinstance(error, NotSent | Unknown)
        return True

    async def _loop_has_caught_up(self) -> None:
        with suppress(NotController):  # the loop has ended, and so does this task
            await self._loop.submit(cluster_commands.Barrier())

    async def brokers(self) -> None:
        registered = await load_cluster.read_brokers(self._zk, watch=True)
        if self._term.own_id in registered:
            self._term.broker_has_id()
        else:
            brokers = facts.BrokersRegistered(registered, self._zk.last_zxid)
            self._loop.submit(cluster_commands.BrokersRead(brokers, self._term.own_id, self._term.brokers_changed))
            await give_to_brokers(self._zk, sorted(self._loop.cluster.servers & registered.keys()))

    async def servers(self) -> None:
        """Another server may be a standby: nothing waits any longer for a broker with its id."""
        ids = await load_cluster.read_servers(self._zk, watch=True)
        if ids != self._loop.cluster.servers:
            self._loop.submit(cluster_commands.Reported(facts.ServersRegistered(ids, self._zk.last_zxid)))
            self._process_batch_and_queue()

    async def topics(self) -> None:
        before = {name: topic.created for name, topic in self._loop.cluster.topics.items()}
        names = set(await self._zk.children(znode_paths.TOPICS, watch=True, many=True))
        known = self._loop.cluster.topics
        vanished = {name: created for name, created in before.items() if name not in names}
        if vanished:
            self._loop.submit(topic_commands.TopicsVanished(vanished))
            self._process_batch_and_queue(vanished)
        unreadable = [name for name in self._loop.cluster.unreadable if name not in names and name not in before]
        if unreadable:
            self._loop.submit(cluster_commands.Reported(UnreadableGone(unreadable, self._zk.last_zxid)))
        if vanished or self._loop.cluster.stale_marks:
            self.read_deletions_again()  # what marked them no longer marks a topic
        if not known.keys() <= names | before.keys():
            self._pending[self.topics] = None  # created since: the next list has them, or they have vanished
            self._wake.set()
        appeared = [name for name in names if name not in known]
        if appeared:
            await self._read(appeared)
        self._watched &= names
        unwatched = names - self._watched
        if unwatched:
            self._topics.update(dict.fromkeys(unwatched))
            self._wake.set()

    async def _read(self, names: Sequence[str]) -> None:
        since = self._zk.last_zxid
        moves = await load_topics.read_moves(self._zk, names)
        read = await load_topics.read_topics(self._zk, names, moves.found)
        # The config of a new topic is not announced. It is written before the topic: so it is read after it.
        configs = await load_cluster.read_named_configs(self._zk, TOPICS, list(read.found))
        await self._zk.place_watches([znode_paths.topic(name) for name in names], since)
        self._watched.update(names)
        known = self._loop.cluster.topics
        replaced = {
            name: known[name].created
            for name, topic in read.found.items()
            if name in known and known[name].created < topic.created
        }
        if replaced:
            with suppress(NotController):  # the loop has ended, and so does this task
                await self._loop.submit(topic_commands.TopicsVanished(replaced))
        self._loop.submit(
            topic_commands.TopicsRead(
                TopicsFound(read.found, read.unreadable, configs.configs),
                self._term.own_id,
                appeared=self._term.topics_appeared,
            )
        )
        if configs.unreadable:
            self._loop.submit(cluster_commands.ConfigsRead(TOPICS, {}, unreadable=configs.unreadable))
        if configs.unreadable or any(topic.unreadable for topic in read.found.values()):
            self.look_for_unreadable()
        await self.deletions()  # a mark may have been there before its topic was known

    async def changed_topics(self, names: Collection[str]) -> None:
        """The controller's own writes fire the watches too, before the answer to the write: so the round under way has
        to end before versions are compared."""
        stats = await asyncio.gather(*(self._zk.exists(znode_paths.topic(name), watch=True) for name in names))
        self._watched.update(names)
        found = {name: stat for name, stat in zip(names, stats, strict=True) if stat is not None}
        if not self._newer(found):
            return
        await self._loop_has_caught_up()
        foreign = self._newer(found)
        if foreign:
            await self._read(foreign)

    def _newer(self, found: Mapping[str, Stat]) -> list[str]:
        known = self._loop.cluster.topics
        return [
            name
            for name, stat in found.items()
            if name not in known or stat.czxid != known[name].created or stat.version > known[name].version
        ]

    async def deletions(self) -> None:
        """Reads even if there are no marks: the loop may know of some, or may still have to decide about some."""
        names = await watched_children(self._zk, znode_paths.DELETE_TOPICS, many=True)
        known = self._loop.cluster.topics
        new = [name for name in names if name not in known or not known[name].deleting]
        marks = await load_cluster.read_deletion_marks(self._zk, new)
        self._loop.submit(
            topic_commands.TopicDeletionsRead(
                MarksFound(marks, self._zk.last_zxid),
                self._term.own_id,
                marked=self._term.deletions_begun,
                stale=self._term.stale_marks_found,
            )
        )
        if names:
            self._process_batch_and_queue(names)

    async def configs(self) -> None:
        changes = await self._configs.changes_since(self._last_config_change, watch=True)
        self._last_config_change = changes.last
        for error in changes.bad:
            log.error("%s: the change of configs that it announces may hold only from the next term on", error)
        for kind in (TOPICS, BROKERS):
            names = [name for entity in changes.entities for found, _, name in [entity.partition("/")] if found == kind]
            if names:
                read = await load_cluster.read_named_configs(self._zk, kind, names)
                configs = {name: read.configs.get(name, {}) for name in names}
                self._loop.submit(cluster_commands.ConfigsRead(kind, configs, read.versions, read.unreadable))
                if read.unreadable:
                    self.look_for_unreadable()
                if kind == BROKERS:
                    self._settings_changed()

    async def settings(self) -> None:
        found = await load_cluster.read_settings(self._zk, watch=True)
        self._loop.submit(cluster_commands.Reported(facts.SettingsFound(*found, self._zk.last_zxid)))
        self._settings_changed()

    def _settings_changed(self) -> None:
        self._process_batch_and_queue()
        self._requests.changed()
        self._term.configs_changed()

    def _process_batch_and_queue(self, topics: Collection[str] = ()) -> None:
        if self._loop.cluster.batch is not None or self._loop.cluster.queue:
            self._loop.submit(ProcessBatchAndQueue(topics))

    async def admin(self) -> None:
        found, batch_read = await self._admin_znodes()
        if self._is_new(found.cancel_all) and not batch_read:
            found, batch_read = await self._admin_znodes()  # the cancel includes a batch that was there before it
        if (
            batch_read
            or self._is_new(found.cancel_all)
            or found.disabled_by_znode != self._loop.cluster.disabled_by_znode
        ):
            self._loop.submit(AdminZnodesRead(found, batch_read=batch_read, read_at=self._zk.last_zxid))
            self._requests.changed()

    async def _admin_znodes(self) -> tuple[AdminZnodes, bool]:
        """Returns whether the batch is among them: it is read only if others have changed it. It is checked first: the
        other znodes may be newer than a batch that is not known yet."""
        stat = await self._zk.exists(znode_paths.REASSIGN_PARTITIONS, watch=True)
        await self._loop_has_caught_up()
        changed = self._batch_changed(stat)
        return await load_cluster.read_admin(self._zk, batch=changed, watch=True), changed

    def _is_new(self, cancel: CancelAll | None) -> bool:
        return cancel is not None and cancel.id != self._loop.cluster.soft.cancelled

    async def queues(self) -> None:
        """The controller's own writes fire the watches too."""
        stats = {root: await self._zk.exists(root, watch=True) for root in znode_paths.QUEUES}
        await self._loop_has_caught_up()
        parts = self._loop.cluster.queue.parts
        changed = [
            await load_cluster.read_root(self._zk, root)
            for root, stat in stats.items()
            if (root in parts if stat is None else root not in parts or stat.mzxid > parts[root].changed)
        ]
        if changed:
            self._loop.submit(QueueZnodesRead(changed))

    def _batch_changed(self, stat: Stat | None) -> bool:
        known = self._loop.cluster.batch
        return stat is not None if known is None else stat is None or stat.mzxid > known.changed
