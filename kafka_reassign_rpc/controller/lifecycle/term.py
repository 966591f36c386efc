"""One term as the controller: from the election to the resignation.

load        read the cluster from ZooKeeper; from here on APIs are served
fail over   make durable what `core.controller_failover` decides, before any other command
propagate   brokers learn the controller and the whole state
watch       from now on, changes in ZooKeeper become commands
work        the loop runs until the controller moves
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands import cluster_commands, topic_commands
from kafka_reassign_rpc.controller.commands.command import SLICE, Command
from kafka_reassign_rpc.controller.commands.leadership_commands import BeginReplicasAnew, LogDirsAnswered
from kafka_reassign_rpc.controller.commands.queue_commands import StartQueuedMoves
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.duties.delegation_tokens import expire_delegation_tokens
from kafka_reassign_rpc.controller.duties.feature_znode import ensure_feature_znode
from kafka_reassign_rpc.controller.duties.leader_balance import LeaderBalance, purge_config_changes
from kafka_reassign_rpc.controller.duties.partition_counting import count_partitions
from kafka_reassign_rpc.controller.duties.producer_ids import ProducerIds
from kafka_reassign_rpc.controller.duties.progress_sampling import SAMPLING, ProgressSampler, Sampling
from kafka_reassign_rpc.controller.duties.propagation import Propagation
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller.lifecycle.controller_service import TermServices
from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.controller.telemetry.event_recorder import ObserveDuration, Record
from kafka_reassign_rpc.controller.telemetry.settings_notices import SettingsNotices
from kafka_reassign_rpc.controller.watches.broker_notifications import BrokerNotifications
from kafka_reassign_rpc.controller.watches.request_znodes import RequestZnodes
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ZooKeeperWatches
from kafka_reassign_rpc.controller.zookeeper_store import topic_removal, znode_writes
from kafka_reassign_rpc.controller.zookeeper_store.store import ZooKeeperStore
from kafka_reassign_rpc.controller_channel import ChannelManager, Sender
from kafka_reassign_rpc.controller_channel.broker_channel import LogDirAnswer
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import NotController, RequestTimedOut, UnknownServerError
from kafka_reassign_rpc.core.partition_health import PartitionHealth
from kafka_reassign_rpc.core.reassignment import in_flight_caps
from kafka_reassign_rpc.core.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.round.replay import ReplayedChanges
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Topic, TopicPartition
from kafka_reassign_rpc.server import interpreter_tuning
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.slice_timer import SliceTimer
from kafka_reassign_rpc.support.slices import in_slices
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

_MOVED = "another server is the controller, or may be"

REMOVALS_AT_ONCE = 50
"""Topics whose znodes are being removed at the same time."""
FIRST_BACKOFF_S = 0.05
LONGEST_BACKOFF_S = 5.0
"""The wait between two attempts to remove znodes that others change meanwhile."""


class Term:
    """`serve` runs the term. Any part that notices another controller ends it with `controller_moved`.

    record   takes events from outside the loop's rounds (a round reports through its view)
    """

    def __init__(
        self,
        zk: ZooKeeper,
        store: ZooKeeperStore,
        sender: Sender,
        now_ms: Callable[[], int],
        links: BrokerLinks | None = None,
        settings: ReassignmentSettings = DEFAULT_SETTINGS,
        record: Record = lambda _: None,
        sampling: Sampling = SAMPLING,
        observe_duration: ObserveDuration = lambda *_: None,
        *,
        survey: BrokerSurvey,
        notices: SettingsNotices | None = None,
    ) -> None:
        self.own_id = sender.id
        self._zk = zk
        self._store = store
        self._sender = sender
        self._now_ms = now_ms
        self._links = links or BrokerLinks()
        self._settings = settings
        self.record = record
        self._observe_duration = observe_duration
        self._sampling = sampling
        self._survey = survey
        self._notices = notices or SettingsNotices()
        self._surveyed: Mapping[int, Broker] = {}
        self._over = asyncio.Event()
        self._why = _MOVED
        self._deletion_known = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._partition_health = PartitionHealth()
        self._watches: ZooKeeperWatches | None = None
        self._loop: ControllerLoop
        self._sampler: ProgressSampler
        self._healer: Healer
        self._channels: ChannelManager
        self._leader_balance: LeaderBalance
        self._topic_deletions: TopicDeletions
        self._propagation: Propagation
        self._requests: RequestZnodes
        self._notifications: BrokerNotifications
        self._removals = asyncio.Semaphore(REMOVALS_AT_ONCE)
        self._removes_marks = False
        self._is_confirming = False
        self._batch_length = 0
        self._is_processing = self._process_again = False

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """The registered brokers, as last known."""
        return self._loop.cluster.brokers if hasattr(self, "_loop") else {}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics, as last known."""
        return self._loop.cluster.topics if hasattr(self, "_loop") else {}

    def controller_moved(self, why: str = _MOVED) -> None:
        """Another server is the controller, or may be; or why else this term ends."""
        self._why = why
        self._over.set()

    def watch_fired(self, kind: WatchKind, path: str) -> None:
        if self._watches is not None:
            self._watches.watch_fired(kind, path)

    def connection_lost(self, lease_left: float) -> None:
        """The session may outlive its connection: then this term does, too."""
        if lease_left > 0 and not self._over.is_set():
            log.warning(
                "this server remains the controller if ZooKeeper is back within %.1f s: until then commands wait",
                lease_left,
            )
        if self._watches is not None:
            self._watches.connection_lost()

    def connected_again(self) -> None:
        """There is a connection of the same session."""
        if not self._over.is_set():
            log.info("ZooKeeper is back: this server goes on as the controller, with epoch %d", self._sender.epoch)
        if self._watches is not None:
            self._watches.connected_again()

    def broker_has_id(self) -> None:
        """A broker has registered with this server's id: nothing more is decided."""
        self.controller_moved(f"broker {self.own_id} has registered, and this server has the same id")

    async def serve(self, begin: Callable[[TermServices], None]) -> bool:
        """Run until the controller moves. Calls `begin` when APIs can be served. Returns whether the failover ended."""
        began = False
        why: str | None = None
        self.record([Event(catalogue.CONTROLLER_ELECTED)])
        try:
            loaded = await self._store.load(lambda: self._survey.settings)
            if self.own_id in loaded.cluster.brokers:
                self.broker_has_id()
                why = self._why
                return False
            await ensure_feature_znode(self._store)
            interpreter_tuning.leave_loaded_objects_alone()
            self._build(loaded.cluster)
            loop = asyncio.create_task(self._loop.run(), name="controller-loop")
            self._tasks.add(loop)
            self._watches = ZooKeeperWatches(
                self._zk, self, self._loop, loaded.since, self._requests, self._notifications
            )
            await self._remove_orphans(loaded.orphans)
            await self._remove_stale_marks_first()
            failed_over = self._loop.submit(self._failover_command())
            # The loaded state is durable, so clients may see it. Their changes wait in the loop behind the failover.
            begin(
                TermServices(
                    self._loop,
                    ProducerIds(self._store, self.own_id),
                    self._watches.up_to_date,
                    self._sampler.tracker,
                    self._healer,
                    self._deletion_known,
                    self._partition_health,
                    self._channels.stops_answered,
                )
            )
            await failed_over
            await self._store.reading(self._watches.place)
            self._background(self._watches.run())
            self._background(self._loop.throttle_configs.run())
            self._background(self._requests.run())
            self._background(self._notifications.run())
            self._background(self._leader_balance.run())
            self._background(self._sampler.run())
            self._background(count_partitions(self._loop, self._partition_health))
            self._background(self._healer.run())
            self._background(purge_config_changes(ConfigStore(self._zk), self._now_ms))
            self._background(expire_delegation_tokens(self._zk, self._store, self._now_ms))
            began = True
            cluster = loaded.cluster
            log.info("controlling %d topics on %d brokers", len(cluster.topics), len(cluster.brokers))
            over = asyncio.create_task(self._over.wait())
            await asyncio.wait([over, loop], return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            why = self._why
            if loop.done():
                loop.result()
        except (ControllerMoved, ReloadNeeded, NotController, RequestTimedOut, ZkError) as reason:
            why = str(reason) or type(reason).__name__
        finally:
            self._over.set()
            self._deletion_known.set()  # nobody need wait for it any longer
            await self._end()
            self.record([Event(catalogue.CONTROLLER_RESIGNED, reason=why)])
        return began

    async def _end(self) -> None:
        self._survey.on_settings = lambda: None
        self._survey.stop_waiting()
        if self._watches is not None:
            self._watches.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if hasattr(self, "_channels"):
            await self._channels.close()

    def _build(self, cluster: Cluster) -> None:
        self._deletion_settled(cluster)
        self._survey_brokers(cluster)
        self._channels = ChannelManager(
            lambda: cluster,
            self._sender,
            self._stopped,
            self._broker_knows_newer,
            self._links,
            self._log_dirs_answered,
            self._leader_and_isr_refused,
        )
        self._topic_deletions = TopicDeletions(
            cluster, lambda topic: self._background(self._remove_topic(topic)), self.own_id
        )
        self._propagation = Propagation(cluster, self._channels, self._topic_deletions)
        settings = replace(self._settings, sizes_sampled=self._sampling.interval_s > 0)
        self._loop = ControllerLoop(
            cluster,
            self._store,
            self._propagate_round,
            self._propagation.topics_vanished,
            self._failover_command,
            settings,
            lambda events: self.record(self._sampler.tracker.ended(events, cluster)),
            self._observe_duration,
        )
        self._sampler = ProgressSampler(self._loop, self._sampling, str(self._sender.id), self._links, self.record)
        sampler = self._sampler
        self._healer = Healer(
            self._loop, self._settings.healing, self._now_ms, sampler.everything, sampler.tracker.observed_throughput
        )
        self._requests = RequestZnodes(self._zk, self._loop, self.record)
        self._notifications = BrokerNotifications(self._zk, self._store, self._loop, self, self.record)
        self._leader_balance = LeaderBalance(self._loop, lambda: self._survey.has_asked_all)
        self._survey.on_settings = self._settings_learnt

    def _propagate_round(self, applied: ReplayedChanges) -> Iterator[None]:
        if self._loop.cluster.brokers != self._surveyed:
            self._survey_brokers(self._loop.cluster)
        self._notices.look(self._loop.cluster)
        yield from self._propagation.round_replayed(applied)
        batch = self._loop.cluster.batch
        if batch is not None and batch.crowded and len(batch.entries) < self._batch_length:
            self._loop.submit(ProcessBatchAndQueue())  # the znode has room for original replicas of other entries again
        self._batch_length = 0 if batch is None else len(batch.entries)
        yield from self._start_waiting_moves(applied)
        if not self._loop.cluster.moving and not self._loop.cluster.queue:
            self._healer.nothing_moves()

    def _survey_brokers(self, cluster: Cluster) -> None:
        """Have brokers asked that were not registered before, whether a watch has told of them or a reload."""
        self._surveyed = cluster.brokers
        self._survey.look(cluster.brokers)

    def _failover_command(
        self, changed: Collection[TopicPartition] | None = None, bounced: Collection[int] = ()
    ) -> cluster_commands.ControllerFailover:
        def propagate() -> None:
            self._in_slices(self._propagation.everything())
            self._requests.changed()
            self._healer.diagnose_again()

        return cluster_commands.ControllerFailover(self.own_id, propagate, changed=changed, bounced=bounced)

    def _start_waiting_moves(self, applied: ReplayedChanges) -> Iterator[None]:
        """Have waiting moves decided again, if there are any and the round may have made room for them."""
        cluster = self._loop.cluster
        if cluster.queue.more:
            self._process_waiting()
        elif cluster.queue or (cluster.batch is not None and cluster.batch.waiting):
            for (_, _, before, after), pause in in_slices(applied.partitions, SLICE):
                if before is not None and in_flight_caps.makes_room(before, after):
                    self._process_waiting()
                    break
                if pause:
                    yield

    def _process_waiting(self) -> None:
        """Submit a command that decides about waiting moves; while one is under way, once more after it."""
        self._process_again = self._is_processing
        if self._is_processing or not self._loop.is_open:
            return
        self._is_processing = True
        batch = self._loop.cluster.batch
        command = StartQueuedMoves() if batch is None or not batch.waiting else ProcessBatchAndQueue()
        self._loop.submit(command).add_done_callback(self._processed)

    def _processed(self, done: asyncio.Future[None]) -> None:
        self._is_processing = False
        if done.exception() is None and (self._process_again or self._loop.cluster.queue.more):
            self._process_waiting()

    # What follows from changes in ZooKeeper (see zookeeper_watches.WatchHandler)

    def brokers_changed(self) -> None:
        self._process_waiting()
        self._healer.diagnose_again()

    def _broker_knows_newer(self) -> None:
        """A broker says that there is a newer controller. ZooKeeper decides whether that is true."""
        if not self._is_confirming:
            self._is_confirming = True
            self._background(self._confirm())

    async def _confirm(self) -> None:
        try:
            await self._store.confirm()
        except ReloadNeeded as reason:  # the broker says it once more
            log.info("whether there is a newer controller could not be read: %s", reason)
        finally:
            self._is_confirming = False

    def _settings_learnt(self) -> None:
        """The survey may know more of the brokers' settings."""
        if self._survey.settings != self._loop.cluster.broker_settings:
            before = self._loop.cluster.broker_settings.delete_topic_enable
            learnt = self._loop.submit(cluster_commands.BrokerSettingsLearnt(self._survey.settings))
            learnt.add_done_callback(lambda _: self._settings_changed(before))
        news = self._survey.news()
        if news:
            self.record([Event(catalogue.BROKER_SETTINGS_DIFFER, reason=text) for text in news])

    def _settings_changed(self, deletes_before: bool | None) -> None:
        """Other settings of brokers are in force.

        Where deletion turns out to be disabled, the next term begins anew without the deletions that are under way.
        """
        cluster = self._loop.cluster
        self._leader_balance.settings_changed()
        enabled = cluster.broker_settings.delete_topic_enable
        if enabled is not deletes_before:
            deleting = [topic.name for topic in cluster.topics.values() if topic.deleting]
            if enabled:
                self.deletions_begun(deleting)
            elif deleting:
                log.warning("delete.topic.enable=false on the brokers: %d deletions under way end", len(deleting))
                self.controller_moved()
            if self._watches is not None:
                self._watches.read_deletions_again()
        self._deletion_settled(cluster)

    def _deletion_settled(self, cluster: Cluster) -> None:
        if cluster.broker_settings.delete_topic_enable is not None:
            self._deletion_known.set()

    def configs_changed(self) -> None:
        self._healer.diagnose_again()

    def topics_appeared(self, names: Sequence[str]) -> None:
        self._in_slices(self._propagation.topics_appeared(names))

    def deletions_begun(self, names: Sequence[str]) -> None:
        self._in_slices(self._propagation.topics_deleted(names))

    def stale_marks_found(self) -> None:
        if self._loop.cluster.stale_marks and not self._removes_marks:
            self._removes_marks = True
            self._background(self._remove_stale_marks())

    def _stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        deleted = {name: stop for name, stop in stops.items() if stop.leader_epoch == DELETED_EPOCH}
        if deleted:
            self._topic_deletions.confirm(broker, deleted)
        if len(deleted) < len(stops):
            self._loop.submit(
                cluster_commands.StopsConfirmed(
                    broker, {name: stop for name, stop in stops.items() if name not in deleted}
                )
            )

    # What brokers notify the controller of (see broker_notifications.NotificationHandler)

    def log_dirs_failed(self, brokers: Collection[int]) -> None:
        self._in_slices(self._propagation.log_dirs_failed(brokers))

    def states_changed(self, names: Sequence[TopicPartition]) -> None:
        self._in_slices(self._propagation.states_changed(names))

    def _log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer]) -> None:
        self._background(self._insist(lambda: LogDirsAnswered(broker, answers)))

    def _leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        self._background(self._insist(lambda: BeginReplicasAnew(broker, partitions)))

    async def _insist(self, command: Callable[[], Command[None]]) -> None:
        with suppress(NotController, UnknownServerError):  # the loop has logged a defect
            await self._loop.insist(command)

    async def _remove_orphans(self, names: Sequence[TopicPartition]) -> None:
        """Remove move records of partitions that do not exist."""
        try:
            await self._store.write(znode_writes.record_removal(self._loop.cluster, name) for name in names)
        except ReloadNeeded as reason:
            log.warning("move records of partitions that do not exist could not be removed: %s", reason)

    async def _remove_stale_marks_first(self) -> None:
        """Before clients are served: they do not see marks that an earlier controller has left behind."""
        cluster = self._loop.cluster
        if cluster.stale_marks:
            try:
                await topic_removal.remove_marks(
                    self._zk,
                    self._store,
                    cluster.stale_marks,
                    enabled=cluster.broker_settings.delete_topic_enable,
                )
            except ReloadNeeded as reason:  # the watch of the marks comes back to it
                log.warning("deletion marks without a topic could not be removed: %s", reason)
            else:
                replay.put_marks(cluster, stale=(), waiting=cluster.waiting_marks)

    async def _remove_stale_marks(self) -> None:
        """Remove marks that mark no topic, and those found meanwhile. Others may change them: then again."""
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        done: frozenset[str] = frozenset()
        try:
            while (names := self._loop.cluster.stale_marks) and names != done:
                try:
                    enabled = self._loop.cluster.broker_settings.delete_topic_enable
                    await topic_removal.remove_marks(self._zk, self._store, names, enabled=enabled)
                except ReloadNeeded as reason:
                    log.info("deletion marks without a topic are still to be removed: %s", reason)
                    await backoff.sleep()
                else:
                    done = names
        finally:
            self._removes_marks = False

    async def _remove_topic(self, topic: Topic) -> None:
        """Remove the znodes of a topic in removal. Others may change them meanwhile: then again, after a pause."""
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while self._is_deleting(topic):
            try:
                async with self._removals:
                    await topic_removal.remove_topic(self._zk, self._store, topic)
            except ReloadNeeded as reason:
                log.info("topic %s is still to be removed: %s", topic.name, reason)
                await backoff.sleep()
            else:
                self._loop.submit(topic_commands.TopicsVanished({topic.name: topic.created}))
                return
        self._topic_deletions.forget(topic)

    def _is_deleting(self, topic: Topic) -> bool:
        """Whether the topic is still the one of its name, and in deletion: it was, before somebody changed znodes."""
        known = self._loop.cluster.topics.get(topic.name)
        return known is not None and known.created == topic.created and known.deleting

    # Work beside the loop

    def _in_slices(self, steps: Iterator[None]) -> None:
        self._background(SliceTimer().through(steps))

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._run_in_background(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # it was never awaited if it was cancelled before it began

    async def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ControllerMoved as reason:
            log.warning("%s", reason)
            self.controller_moved()
        except (ReloadNeeded, ZkError) as reason:
            log.warning("this term ends, and the next one does it again: %s", reason)
            self.controller_moved()
        except Exception:
            log.exception("a defect ends this term; the next one begins anew")
            self.controller_moved()
