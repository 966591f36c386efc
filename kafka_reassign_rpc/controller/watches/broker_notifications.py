"""Znodes by which brokers, and Kafka 2.x's election tool, notify the controller. It deletes them once they are done.

    /log_dir_event_notification       a broker has lost a log dir: it is asked which of its replicas are offline
    /isr_change_notification          brokers with an inter.broker.protocol.version below 2.7 have written states of
                                      partitions: these are read, and all brokers learn them
    /admin/preferred_replica_election Kafka 2.x's election tool: the preferred replicas of its partitions become
                                      leaders if they are in sync; a partition without its preferred leader is reported

A new controller does what it finds there, so a notification that arrives during the failover cannot be lost. (Kafka
deletes them unread, and then reads and sends everything.)

    content that is no notification       reported with its path, deleted
    its ACL forbids to read or delete it  reported, left alone
    children under it                     reported, left alone
    many at a time                        read and deleted in slices; a broker or a partition is dealt with once

Source: KafkaController.processLogDirEventNotification, processIsrChangeNotification, and processReplicaLeaderElection
with the trigger ZkTriggered.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

from kafka_reassign_rpc.controller.commands.cluster_commands import StatesRead
from kafka_reassign_rpc.controller.commands.leadership_commands import ElectLeadersCommand
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller.loading.load_topics import decoded, watched_children
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, NotController, UnknownServerError
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Delete, Stat
from kafka_reassign_rpc.zookeeper.znode_contents import decode_log_dir_event, decode_partitions
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, NoNode, ZkError

PATH = znode_paths.PREFERRED_REPLICA_ELECTION
BY_ZNODE = requesters.znode(PATH)
WHO = f"znode {PATH}"
REPORTED = 100
"""How many partitions without an election are reported one by one; of the others only the number is."""


class PreferredReplicaElection:
    """Carries out the znode once for each time that it is written."""

    def __init__(self, zk: ZooKeeper, store: FencedZooKeeper, loop: ControllerLoop, record: Record) -> None:
        self._zk = zk
        self._store = store
        self._loop = loop
        self._record = record
        self._done = -1
        """The last change (mzxid) of a znode that is left alone."""

    async def carry_out(self) -> None:
        """A watch reports the znode's creation or its next change."""
        while True:
            stat = await self._zk.exists(PATH, watch=True)
            if stat is None or stat.mzxid == self._done:
                return
            try:
                data, stat = await self._zk.get(PATH)
            except NoNode:
                continue
            except NoAuth as error:
                self._leave_alone(stat, f"it is left alone: {error}")
                return
            self._record(await self._elect(data))
            try:
                await self._store.write([Delete(PATH, stat.version)])
            except ReloadNeeded as error:
                now = await self._zk.exists(PATH)
                if now is not None and now.mzxid == stat.mzxid:
                    self._leave_alone(stat, f"it is done, and cannot be deleted: {error}")

    def _leave_alone(self, stat: Stat, why: str) -> None:
        self._done = stat.mzxid
        self._record([Event(catalogue.ENTRY_REFUSED, who=WHO, reason=why)])

    async def _elect(self, data: bytes) -> list[Event]:
        try:
            names = await decoded(decode_partitions, data, PATH)
        except BadZnode as error:
            return [Event(catalogue.ENTRY_REFUSED, who=WHO, reason=f"deleted, nothing of it can be done: {error}")]
        try:
            results = await self._loop.insist(lambda: ElectLeadersCommand(list(names), unclean=False, by=BY_ZNODE))
        except UnknownServerError as error:  # a defect, which another try does not mend
            return [Event(catalogue.ENTRY_REFUSED, who=WHO, reason=f"deleted, it cannot be decided: {error}")]
        failed = [
            (topic, index, error)
            for topic, index, error in results
            if error is not None and not isinstance(error, ElectionNotNeeded)
        ]
        problems = [
            Event(catalogue.ENTRY_REFUSED, topic, index, who=WHO, reason=f"{error.name}: {error}")
            for topic, index, error in failed[:REPORTED]
        ]
        if len(failed) > REPORTED:
            reason = counted(len(failed) - REPORTED, "more partition")
            problems.append(Event(catalogue.ENTRY_REFUSED, who=WHO, reason=reason))
        return problems


T = TypeVar("T")

log = logging.getLogger(__name__)

READ_TOGETHER = 64
"""How many notifications are read at a time: 64 MiB at the worst, usually a few KiB."""
DELETED_TOGETHER = 500
STATES_TOGETHER = 500
REPORTED = 10
"""How many notifications of one pass are reported one by one; of the others only the number is."""


class NotificationHandler(Protocol):
    def log_dirs_failed(self, brokers: Collection[int]) -> None:
        """These brokers have to say which of their replicas are offline."""

    def states_changed(self, names: Sequence[TopicPartition]) -> None:
        """Brokers have to learn these partitions' leaders and ISRs."""


class BrokerNotifications:
    def __init__(
        self, zk: ZooKeeper, store: FencedZooKeeper, loop: ControllerLoop, term: NotificationHandler, record: Record
    ) -> None:
        self._zk = zk
        self._store = store
        self._loop = loop
        self._term = term
        self._record = record
        self._election = PreferredReplicaElection(zk, store, loop, record)
        self._reads = {
            znode_paths.LOG_DIR_EVENTS: self.log_dir_events,
            znode_paths.ISR_CHANGES: self.isr_changes,
            znode_paths.PREFERRED_REPLICA_ELECTION: self._election.carry_out,
        }
        self._pending = dict.fromkeys(self._reads)
        self._wake = asyncio.Event()
        self._wake.set()
        self._left_alone: dict[str, set[str]] = {}
        """By parent: paths that are not deleted; the reason has been reported."""

    def changed(self, path: str) -> None:
        if path in self._reads:
            self._pending[path] = None
            self._wake.set()

    def read_everything(self) -> None:
        """Watches may have been lost."""
        self._pending.update(dict.fromkeys(self._reads))
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            pending, self._pending = self._pending, {}
            for path in pending:
                try:
                    await self._reads[path]()
                except NotController:
                    return
                except ZkError as error:
                    # On the next connection everything is read again; without a session this is no controller.
                    log.info("%s could not be read, and is read again on the next connection: %s", path, error)

    async def log_dir_events(self) -> None:
        brokers: set[int] = set()
        found = await self._read(znode_paths.LOG_DIR_EVENTS, decode_log_dir_event, brokers.add)
        if brokers:
            self._term.log_dirs_failed(brokers)
        await self._delete(znode_paths.LOG_DIR_EVENTS, found)

    async def isr_changes(self) -> None:
        named: dict[TopicPartition, None] = {}
        cluster = self._loop.cluster

        def take(partitions: Mapping[TopicPartition, None]) -> None:
            named.update((name, None) for name in partitions if cluster.get(*name) is not None)

        found = await self._read(znode_paths.ISR_CHANGES, decode_partitions, take)
        names = list(named)
        for some in pieces(names, STATES_TOGETHER):
            read = await load_topics.read_states(self._zk, some)
            for why in read.unreadable.values():
                log.error(load_topics.UNREADABLE_STATE, why)
            states = {name: state for name, state in read.found.items() if state is not None}
            with suppress(UnknownServerError):  # the loop has logged a defect, which another try does not mend
                await self._loop.insist(partial(StatesRead, states, self._term.states_changed))
        await self._delete(znode_paths.ISR_CHANGES, found)

    async def _read(self, parent: str, decode: Callable[[bytes, str], T], take: Callable[[T], None]) -> dict[str, int]:
        """Returns what is to be deleted: the paths with their versions. A watch reports the next change of the
        children."""
        names = await watched_children(self._zk, parent, many=True)
        left_alone = self._left_alone.setdefault(parent, set())
        if left_alone:
            left_alone.intersection_update([f"{parent}/{name}" for name in names])
        found: dict[str, int] = {}
        problems: list[str] = []
        pace = Pace()
        for some in pieces(names, READ_TOGETHER):
            paths = [f"{parent}/{name}" for name in some]
            for path, data, stat in await self._contents(parent, [path for path in paths if path not in left_alone]):
                found[path] = stat.version
                try:
                    take(await decoded(decode, data, path))
                except BadZnode as error:
                    problems.append(str(error) if len(problems) < REPORTED else "")
                await pace.rest()
        if problems:
            self._report(parent, [*problems[:REPORTED], *_others(len(problems) - REPORTED)], "deleted unread")
        return found

    async def _contents(self, parent: str, paths: Sequence[str]) -> list[tuple[str, bytes, Stat]]:
        try:
            read = await self._zk.multi_get(paths)
            return [(path, *one) for path, one in zip(paths, read, strict=True) if one is not None]
        except NoAuth as error:
            if len(paths) > 1:
                return [one for path in paths for one in await self._contents(parent, [path])]
            self._leave_alone(parent, paths[0], str(error))
            return []

    async def _delete(self, parent: str, found: Mapping[str, int]) -> None:
        """What others have changed since is read again."""
        deletes = [Delete(path, version) for path, version in found.items()]
        for together in pieces(deletes, DELETED_TOGETHER):
            try:
                await self._store.write(together)
            except ReloadNeeded:
                for one in together:
                    await self._delete_alone(parent, one)

    async def _delete_alone(self, parent: str, one: Delete) -> None:
        try:
            await self._store.write([one])
        except ReloadNeeded as error:
            stat = await self._zk.exists(one.path)
            if stat is not None and stat.version == one.version:
                self._leave_alone(parent, one.path, str(error))
            elif stat is not None:
                self.changed(parent)

    def _leave_alone(self, parent: str, path: str, why: str) -> None:
        left_alone = self._left_alone[parent]
        if path not in left_alone:
            left_alone.add(path)
            self._report(parent, [f"{path}: {why}"], "left alone")

    def _report(self, parent: str, problems: Sequence[str], what: str) -> None:
        who = f"znode {parent}"
        self._record([Event(catalogue.ENTRY_REFUSED, who=who, reason=f"{what}: {problem}") for problem in problems])


def _others(count: int) -> list[str]:
    return [f"{count} more"] if count > 0 else []
