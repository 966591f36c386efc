"""The duties of a term, put together on the cluster that it has loaded; and what one finds for the others to do.

One keeps the mark of the last control: a server that is elected after others have controlled the cluster knows for how
long they did. It is first written when a failover is durable: a server that dies before leaves the decision about the
waiting moves to the next.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.controller.commands.cluster_commands import ControllerFailover
from kafka_reassign_rpc.controller.commands.leadership_commands import TellLaggingAgain
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.duties.delegation_tokens import expire_delegation_tokens
from kafka_reassign_rpc.controller.duties.leader_balance import LeaderBalance
from kafka_reassign_rpc.controller.duties.learnt_settings import LearntSettings, SettingsNotices
from kafka_reassign_rpc.controller.duties.producer_ids import ProducerIds
from kafka_reassign_rpc.controller.duties.progress_sampling import DiskSurvey, ProgressSampler
from kafka_reassign_rpc.controller.duties.propagation import Propagation
from kafka_reassign_rpc.controller.duties.replica_watch import CordonWatch, count_partitions
from kafka_reassign_rpc.controller.duties.reported_by_brokers import Obedience, ReportedByBrokers
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.duties.term_tasks import Duty, TermTasks
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions, TopicRemovals
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves, WindowChanges
from kafka_reassign_rpc.controller.lifecycle.controller_service import TermServices
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.loading.load_cluster import LoadedCluster
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.watches.broker_notifications import BrokerNotifications
from kafka_reassign_rpc.controller.watches.request_znodes import RequestZnodes
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ZooKeeperWatches
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper, ZooKeeperStore
from kafka_reassign_rpc.controller_channel import ChannelManager, Sender
from kafka_reassign_rpc.core.events.cluster_news import ClusterNews
from kafka_reassign_rpc.core.failover import KnownEpochs, LastControl
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.core.writers.facts import BrokersStartedWith
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import own_server_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import CHANGE_EXPIRATION_MS, ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

MARKED_EVERY_S = 60.0
"""By how much the mark may be older than the end of a term."""


async def mark_last_control(store: FencedZooKeeper, epoch: int, now_ms: int) -> None:
    """One that ZooKeeper refuses costs no term. Raises ControllerMoved, ReloadNeeded."""
    try:
        await store.ensure([znode_paths.ADMIN])
        (found,) = await store.read([znode_paths.LAST_CONTROL])
        await store.write([own_server_znodes.write_last_control(LastControl(epoch, now_ms), exists=found is not None)])
    except ReloadNeeded as error:
        if error.is_unknown:
            raise
        log.warning("the controller after this one may hold whatever waits then: the mark of the last control is not"
                    " written (%s)", error)  # fmt: skip


async def keep_marking_last_control(store: FencedZooKeeper, epoch: int, now_ms: Callable[[], int]) -> None:
    while True:
        await asyncio.sleep(MARKED_EVERY_S)
        await mark_last_control(store, epoch, now_ms())


log = logging.getLogger(__name__)


async def purge_config_changes(configs: ConfigStore, now_ms: Callable[[], int]) -> None:
    """Once all brokers have had time to read the announcements."""
    while True:
        await asyncio.sleep(CHANGE_EXPIRATION_MS / 1000)
        try:
            await configs.purge_changes(now_ms())
        except ZkError as error:
            log.info("old config change announcements stay for now: %s", error)


AFTER_S = 30.0
"""Kafka's default of replica.lag.time.max.ms: what lags for longer is out of sync."""


async def tell_lagging_again(loop: ControllerLoop) -> None:
    """Once in a term, when replicas have had the time to catch up: leaders learn again which replicas they have, where
    a live one is still out of sync (`isr_changes.replicas_sent_again`).
    """
    await asyncio.sleep(AFTER_S)
    try:
        found = await loop.submit(TellLaggingAgain())
    except NotController:
        return
    except KafkaError as error:
        log.warning("a replica that was added in ZooKeeper may stay out of sync until the next election: %s", error)
        return
    if found:
        log.info(
            "%s had a live replica out of sync: leaders are sent their replicas again, with the next leader epoch",
            counted(found, "partition"),
        )


class Surroundings(NamedTuple):
    """What outlives the terms of a server."""

    zk: ZooKeeper
    config: ServerConfig
    survey: BrokerSurvey
    recorder: EventRecorder
    notices: SettingsNotices
    epochs: KnownEpochs


class TermDuties:
    """`all` is in the order of their start. The watches call the methods without a heading of their own
    (`zookeeper_watches.WatchHandler`, `broker_notifications.NotificationHandler`)."""

    def __init__(
        self,
        around: Surroundings,
        store: ZooKeeperStore,
        sender: Sender,
        loaded: LoadedCluster,
        tasks: TermTasks,
        held: Held | None = None,
        edited: Collection[TopicPartition] = (),
    ) -> None:
        self._zk, config, survey, recorder, self._notices, epochs = around
        self._survey = survey
        zk = self._zk
        cluster, record = loaded.cluster, partial(recorder.record, sender.epoch)
        self.own_id = sender.id
        self._held = held
        """As what the failover holds all that waits; None as soon as that is durable."""
        self._edited = edited
        """`ControllerFailover.edited`, until that is durable."""
        self._tasks = tasks
        self._health = PartitionHealth()
        self._producer_ids = ProducerIds(store, sender.id)
        self.loop = loop = ControllerLoop(
            cluster,
            store,
            self._round_replayed,
            self._topics_vanished,
            self.failover_command,
            lambda events: record(self._sampler.tracker.ended(events, cluster)),
            recorder.observe_duration,
        )
        self._record = record
        self._news = ClusterNews()
        self._settings = LearntSettings(survey, loop, record, self._settings_changed)
        self._deletions = TopicDeletions(cluster, self._removal_due, sender.id)
        self.removals = TopicRemovals(zk, store, loop, tasks, self._deletions.forget)
        self._obedience = obedience = Obedience()
        reports = ReportedByBrokers(
            loop,
            store,
            self._deletions,
            tasks,
            self._log_dirs_answered,
            obedience,
            partial(epochs.refused, sender.epoch),
            record,
        )
        self.channels = ChannelManager(lambda: cluster, sender, reports, config.links)
        self._propagation = Propagation(cluster, self.channels, self._deletions)
        self._waiting_moves = WaitingMoves(loop)
        self._cordon = CordonWatch(cluster, record)
        self._sampler = sampler = ProgressSampler(loop, config.sampling, str(sender.id), config.links, record)
        self._healer = Healer(
            loop,
            now_ms,
            sampler.everything,
            sampler.tracker.observed_throughput,
            sampler.failed_log_dirs,
        )
        self._windows = WindowChanges(loop, now_ms, self._healer.diagnose_again)
        self._disks = DiskSurvey(sampler.everything, now_ms)
        self.requests = RequestZnodes(zk, loop, record)
        self._balance = LeaderBalance(loop, lambda: survey.has_asked_all)
        notifications = BrokerNotifications(zk, store, loop, self, record)
        self.watches = ZooKeeperWatches(zk, self, loop, loaded.since, self.requests, notifications)
        self.all = (
            Duty("settings of brokers", self._settings.run, self._settings.stop, at_once=True),
            Duty("obedience", self._expect_brokers, obedience.nobody_is_asked, at_once=True),
            Duty("waiting moves", self._waiting_moves.run, at_once=True),
            Duty("windows", self._windows.run, at_once=True),
            Duty("watches", self.watches.run, self.watches.close),
            Duty("throttles", loop.throttle_leases.run),
            Duty("request znodes", self.requests.run),
            Duty("notifications", notifications.run),
            Duty("leader balance", self._balance.run),
            Duty("lagging replicas", lambda: tell_lagging_again(loop)),
            Duty("progress", sampler.run),
            Duty("partition counts", lambda: count_partitions(loop, self._health)),
            Duty("self-healing", self._healer.run),
            Duty("disks", self._disks.run),
            Duty("deletion marks", self.removals.run),
            Duty("last control", lambda: keep_marking_last_control(store, sender.epoch, now_ms)),
            Duty("config changes", lambda: purge_config_changes(ConfigStore(zk), now_ms)),
            Duty("delegation tokens", lambda: expire_delegation_tokens(zk, store, now_ms)),
        )

    def services(self) -> TermServices:
        moves = MovesTerm(
            self.loop,
            self.watches.up_to_date,
            self._sampler.tracker,
            self._healer,
            self._health,
            self._disks,
            lambda: self._zk.connected,
            self._obedience.wait,
        )
        return TermServices(moves, self._producer_ids, self._settings.deletion_known, self.channels.stops_answered)

    def failover_command(
        self, changed: Collection[TopicPartition] | None = None, bounced: Collection[int] = ()
    ) -> ControllerFailover:
        def propagate() -> None:
            self._held, self._edited = None, ()
            self._tasks.begin_steps(self._propagation.everything())
            self.requests.changed()
            self._healer.diagnose_again()
            self.watches.look_for_unreadable()

        return ControllerFailover(
            self.own_id,
            propagate,
            changed=changed,
            bounced=bounced,
            held=self._held,
            started_with=BrokersStartedWith(self.loop.cluster.soft.broker_settings, self._survey.migrating),
            edited=self._edited,
        )

    def _round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        cluster = self.loop.cluster
        self._settings.ask_new_brokers()
        self._notices.check(cluster)
        yield from self._propagation.round_replayed(applied)
        yield from self._waiting_moves.round_replayed(applied)
        yield from self._cordon.changed(applied.partitions)
        if news := [*self._news.of(cluster)]:
            self._record(news)
        if not cluster.moving and not cluster.queue:
            self._healer.nothing_moves()
        if cluster.twins and (freed := duplicate_topic_ids.freed(cluster)):
            self.watches.read_topics_again(freed)

    def _topics_vanished(self, gone: Sequence[Topic]) -> Iterator[None]:
        return self._propagation.topics_vanished(gone)

    async def _expect_brokers(self) -> None:
        if not self.loop.cluster.brokers:
            self._obedience.nobody_is_asked()

    def _removal_due(self, topic: Topic) -> None:
        self.removals.begin(topic)

    def _settings_changed(self, deletes_before: bool | None) -> None:
        """If deletion turns out to be disabled, the term ends, and the next one starts without the deletions under
        way."""
        cluster = self.loop.cluster
        self._balance.settings_changed()
        enabled = cluster.soft.broker_settings.delete_topic_enable
        if enabled is not deletes_before:
            deleting = [topic.name for topic in cluster.topics.values() if topic.deleting]
            if enabled:
                self.deletions_begun(deleting)
            elif deleting:
                log.warning(
                    "delete.topic.enable=false on the brokers: %s before all is deleted",
                    counted(len(deleting), "deletion", "end"),
                )
                self.controller_moved()
            self.watches.read_deletions_again()

    def controller_moved(self) -> None:
        self._tasks.end_term()

    def broker_has_id(self) -> None:
        self._tasks.end_term(f"broker {self.own_id} has registered, and this server has the same id")

    def brokers_changed(self) -> None:
        self._waiting_moves.may_start()
        self._healer.diagnose_again()

    def _log_dirs_answered(self) -> None:
        self._healer.diagnose_again()

    def configs_changed(self) -> None:
        self._windows.settings_changed()
        self._healer.diagnose_again()

    def topics_appeared(self, names: Sequence[str]) -> None:
        self._tasks.begin_steps(self._propagation.topics_appeared(names))
        topics = (topic for name in names if (topic := self.loop.cluster.topics.get(name)) is not None)
        partitions = (one for topic in topics for one in topic.partitions.values())
        self._tasks.begin_steps(self._healer.look_for_lost(partitions))

    def deletions_begun(self, names: Sequence[str]) -> None:
        self._tasks.begin_steps(self._propagation.topics_deleted(names))

    def stale_marks_found(self) -> None:
        self.removals.marks_found()

    def log_dirs_failed(self, brokers: Collection[int]) -> None:
        self._tasks.begin_steps(self._propagation.log_dirs_failed(brokers))

    def states_repaired(self, names: Sequence[TopicPartition]) -> None:
        self._tasks.begin_steps(self._propagation.states_repaired(names))

    def states_changed(self, names: Sequence[TopicPartition]) -> None:
        self._tasks.begin_steps(self._propagation.states_changed(names))
