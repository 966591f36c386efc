"""One simulated broker: the parts put together, and the `Node` that API handlers see."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.api.api_definition import Api, RequestContext
from kafka_reassign_rpc.api.config_ports import DefaultsChange
from kafka_reassign_rpc.api.dispatch import advertised
from kafka_reassign_rpc.api.left_to_brokers import check_alter_config
from kafka_reassign_rpc.api.ports import LONGEST_WAIT_MS, NodeEndpoint
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, flag
from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.configs.config_layers import TIERED_STORAGE, ConfigLayers, LiveBrokers
from kafka_reassign_rpc.core.configs.config_rules import judge_reconfiguration
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.broker_registration import SESSION_END_S, Registration
from kafka_reassign_rpc.fleet.controller_connection import ControllerConnection, controlled_shutdown
from kafka_reassign_rpc.fleet.controller_requests import (
    SLICE,
    AppliedRequest,
    ControllerRequests,
    MetadataCache,
    Response,
    Steps,
    states_of,
)
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig
from kafka_reassign_rpc.fleet.isr_proposals import AlterPartitionSender, IsrProposals
from kafka_reassign_rpc.fleet.leader_replication import LeaderReplication
from kafka_reassign_rpc.fleet.log_dirs import SimulatedLogDirs, lost_log_dirs
from kafka_reassign_rpc.fleet.replica_fetcher import InboundBudget, ReplicaFetcher
from kafka_reassign_rpc.fleet.replica_table import Log, LogSizeFile, LogSizeFileError, ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.fleet.seed_topics import SeedSizes
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    SimulatedFetchRequest,
    SimulatedFetchResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import Versions
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace, rest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore, QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas
from kafka_reassign_rpc.zookeeper.znode_contents import encode_log_dir_event
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

log = logging.getLogger(__name__)

LISTENER = "PLAINTEXT"
"""The one listener of a simulated broker, also the inter-broker listener."""


class SimulatedBroker:
    """Call `close` only after `start` has succeeded. `heartbeat_s`: how often its fetchers send a heartbeat, in
    seconds."""

    def __init__(
        self,
        broker_id: int,
        config: FleetConfig,
        cluster_id: str,
        apis: Mapping[int, Api],
        throttles: ThrottledReplicas,
        sizes: SeedSizes,
        heartbeat_s: Callable[[], float],
    ) -> None:
        self.node_id = broker_id
        self.cluster_id = cluster_id
        self.apis = apis
        self.controller = None
        self._config = config
        self._throttles = throttles
        self._sizes = sizes
        self._heartbeat_s = heartbeat_s
        self._rack = config.racks.get(broker_id)
        self._zk = ZooKeeper(config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms)
        self.configs = ServedConfigs(ConfigStore(self._zk))
        self.settings = None
        self.status = None
        self.quotas = ServedQuotas(QuotaStore(self._zk))
        self.mutation_quotas = MutationQuotas(QuotaTable(), QuotaWindows(), time.monotonic)  # it asks no controller
        self._table = ReplicaTable(config.log_dirs)
        self._cache = MetadataCache()
        self._metadata_changed = asyncio.Condition()
        self._requests = ControllerRequests(broker_id, self._table, self._cache, sizes.size)
        self._order = asyncio.Lock()
        path = None if config.data_dir is None else config.data_dir / f"broker-{broker_id}.log"
        self._store = LogSizeFile(path, cluster_id, broker_id, config.log_dirs)
        self.log_dirs = SimulatedLogDirs(
            broker_id,
            [f"/simulated/broker-{broker_id}/dir-{number}" for number in range(config.log_dirs)],
            self._table,
            throttles,
            config.bandwidth,
            self._moved,
            config.disk,
        )
        self._lag_s = config.replica_lag_time_max_ms / 1000
        now = asyncio.get_running_loop().time()
        self._leading = LeaderReplication(
            broker_id, self._table, throttles, config.bandwidth, self._lag_s, self._caught_up, now
        )
        self._inbound = InboundBudget(broker_id, throttles, config.bandwidth, self.log_dirs.free, now)
        self._isr = IsrProposals(broker_id, self._table, self._leading, lambda broker: broker in self._cache.brokers)
        self._link = ControllerConnection(str(broker_id), self._find_controller)
        self._must_report = False
        """The controller does not know yet that a log dir is lost."""
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._followed: dict[TopicPartition, int] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._registration: Registration
        self._isr_sender: AlterPartitionSender

    # ------------------------------------------------------------------------------------------ life

    async def start(self, endpoint: Endpoint) -> None:
        """Registers in the background. Raises LogSizeFileError, OSError, NotSent."""
        self._table.lost.update(self._lost(lost_log_dirs(self._config.data_dir).get(self.node_id, ())))
        if not self.has_log_dirs:
            raise LogSizeFileError(
                f"all log dirs of broker {self.node_id} are lost: delete broker-{self.node_id}-dir-*.failed in "
                f"{self._config.data_dir}, or start the fleet without it"
            )
        self._table.load(self._store.open().items())
        try:
            await self._zk.start()
        except BaseException:
            self._store.close()
            raise
        self._endpoint = endpoint
        self._throttles.on_change.append(self._throttles_changed)
        self._isr_sender = AlterPartitionSender(self._isr, self._link, self._epochs, self._lag_s, self._leading.late)
        wait = self._config.session_timeout_ms / 1000 + SESSION_END_S
        self._registration = Registration(self._zk, self.node_id, [endpoint], self._rack, self._registered, wait)

    async def ready(self, has_controller: Callable[[], bool]) -> None:
        """While there is a controller, also until the cluster's metadata have come from it."""
        async with self._metadata_changed:
            await self._metadata_changed.wait_for(
                lambda: self.broker_epoch >= 0 and (self._cache.received or not has_controller())
            )

    def check_registration(self) -> None:
        self._registration.check()

    async def notify_waiting(self) -> None:
        """A condition that `ready` waits for may have changed."""
        async with self._metadata_changed:
            self._metadata_changed.notify_all()

    async def shut_down(self) -> None:
        """The listener still serves meanwhile."""
        if self._cache.controller_id is not None and self.broker_epoch >= 0:
            await controlled_shutdown(self._link, self._epochs)

    async def close(self) -> None:
        """Removes the registration. Sizes stay in the file."""
        self._throttles.on_change.remove(self._throttles_changed)
        await self._registration.close()
        await self._isr_sender.close()
        await asyncio.gather(*(fetcher.close() for fetcher in self._fetchers.values()), *self._closing)
        await self.log_dirs.close()
        self._link.close()
        await self._zk.close()
        self._store.close()

    @property
    def has_log_dirs(self) -> bool:
        """A broker without a log dir that works ends."""
        return bool(self._table.working)

    async def lose_log_dirs(self, directories: Collection[int]) -> None:
        """Reports it to the controller; after ZkError, call again. Source: ReplicaManager.handleLogDirFailure."""
        pace = Pace()
        async with self._order:
            for directory in self._lost(directories) - self._table.lost:
                log.warning(
                    "broker %d has lost %s: its replicas are offline", self.node_id, self.log_dirs.paths[directory]
                )
                self._must_report = True
                stopped = self._table.lose(directory)
                self.log_dirs.lost(directory)
                for some in pieces(stopped, SLICE):
                    self._start_and_stop(AppliedRequest(stopped=list(some)))
                    await pace.rest()
        if self._must_report and self.has_log_dirs:
            event = encode_log_dir_event(self.node_id)
            await self._zk.create(znode_paths.LOG_DIR_EVENT_PREFIX, event, sequence=True)
            self._must_report = False

    def _lost(self, directories: Collection[int]) -> set[int]:
        return {directory for directory in directories if directory < self._config.log_dirs}

    @property
    def broker_epoch(self) -> int:
        """-1 before the first registration."""
        return self._requests.broker_epoch

    @property
    def link(self) -> ControllerConnection:
        return self._link

    def knows_controller(self) -> bool:
        return self._find_controller() is not None

    def _registered(self, epoch: int) -> None:
        self._requests.broker_epoch = epoch
        self._in_background(self.notify_waiting())

    def _epochs(self) -> tuple[int, int]:
        return self.node_id, self.broker_epoch

    def _find_controller(self) -> tuple[int, Endpoint] | None:
        controller = self._cache.controller_id
        endpoint = None if controller is None else self._cache.endpoint(controller, LISTENER)
        return None if controller is None or endpoint is None else (controller, endpoint)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # --------------------------------------------------------------------------------- requests of the controller

    async def leader_and_isr(self, request: LeaderAndIsrRequest, ctx: RequestContext) -> LeaderAndIsrResponse:
        async with self._order:
            await self._sizes.look_up(self._brand_new(request))
            return await self._carry_out(self._requests.leader_and_isr(request, ctx.api_version))

    async def stop_replica(self, request: StopReplicaRequest, ctx: RequestContext) -> StopReplicaResponse:
        async with self._order:
            return await self._carry_out(self._requests.stop_replica(request, ctx.api_version))

    async def update_metadata(self, request: UpdateMetadataRequest, ctx: RequestContext) -> UpdateMetadataResponse:
        async with self._order:
            alive = self._cache.brokers.keys()
            answer = await self._carry_out(self._requests.update_metadata(request, ctx.api_version))
            for came in self._cache.brokers.keys() - alive:
                # It may have caught up while it was not among the live brokers.
                for name in self._leading.outside_isr(came):
                    self._isr.followers_changed(name)
            self._isr_sender.wake()
            self._link.leave_former()
        await self.notify_waiting()
        return answer

    def _brand_new(self, request: LeaderAndIsrRequest) -> set[str]:
        """Topics of which this broker gets a partition that has never had another leader."""
        logs = self._table.logs
        return {
            topic
            for topic, _, state in states_of(request)
            if state.leader_epoch == 0 and (topic, state.partition_index) not in logs
        }

    async def _carry_out(self, steps: Steps[Response]) -> Response:
        while True:
            try:
                applied = next(steps)
            except StopIteration as end:
                self._store.flush()
                self._isr_sender.wake()
                answer: Response = end.value
                return answer
            self._start_and_stop(applied)
            await rest()

    def _start_and_stop(self, applied: AppliedRequest) -> None:
        now = asyncio.get_running_loop().time()
        for name in applied.created:
            self._store.put(name, self._table.logs[name])
        for replica in applied.leaders:
            self._follow(replica.name, None)
            self._leading.became_leader(replica, now)
            self._isr.leader_and_isr_received(replica.name)
        for replica in applied.followers:
            self._leading.resigned(replica.name)
            self._isr.forget(replica.name)
            self._follow(replica.name, replica)
        for name in applied.paused:
            self._follow(name, None)
        for name in applied.stopped:
            self._leading.resigned(name)
            self._isr.forget(name)
            self._follow(name, None)
        for name in applied.deleted:
            self._store.delete(name)

    # ------------------------------------------------------------------------------------------ replication

    def fetch(self, request: SimulatedFetchRequest, _ctx: RequestContext) -> SimulatedFetchResponse:
        return self._leading.fetch(request, asyncio.get_running_loop().time())

    def _follow(self, name: TopicPartition, replica: SimulatedReplica | None) -> None:
        leader = None if replica is None or replica.leader < 0 else replica.leader
        before = self._followed.get(name)
        if before is not None and before != leader:
            del self._followed[name]
            self._fetchers[before].unfollow(name)
        if leader is not None and replica is not None:
            self._followed[name] = leader
            self._fetcher(leader).follow(replica)

    def _fetcher(self, leader: int) -> ReplicaFetcher:
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = ReplicaFetcher(
                self.node_id,
                leader,
                self._inbound,
                lambda: self._cache.endpoint(leader, LISTENER),
                self._written,
                self._store.flush,
                self._heartbeat_s,
            )
        return fetcher

    def _written(self, name: TopicPartition, held: Log) -> None:
        self._store.put(name, held)

    def _moved(self, name: TopicPartition, held: Log) -> None:
        self._store.put(name, held)
        self._store.flush()

    def _caught_up(self, replica: SimulatedReplica, follower: int) -> None:
        if follower not in replica.isr:
            self._isr.followers_changed(replica.name)
            self._isr_sender.wake()

    def _throttles_changed(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.throttles_changed()

    # ------------------------------------------------------------------------------------------ the Node

    def announced_versions(self) -> Versions:
        return advertised(self.apis)

    def controller_id(self) -> int | None:
        return self._cache.controller_id

    def is_privileged(self, listener: str) -> bool:
        return listener == LISTENER

    def nodes(self, listener: str) -> list[NodeEndpoint]:
        return [
            NodeEndpoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker in self._cache.brokers.values()
            if (endpoint := broker.endpoints.get(listener)) is not None
        ]

    def topics_now(self) -> Mapping[str, Topic]:
        return self._cache.topics

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        known = self._cache.topics
        return known if names is None else {name: known[name] for name in names if name in known}

    async def servers(self, _listener: str) -> Sequence[NodeEndpoint]:
        return ()

    async def events(self, first: int, max_bytes: int) -> None:
        """A broker keeps no event log."""

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._cache.topic_name(topic_id)

    acls = None

    def authorizer(self) -> str:
        """Any client that reaches a simulated broker may do everything."""
        return ""

    @property
    def static_configs(self) -> Mapping[str, str]:
        """What a stock broker with this configuration would show."""
        found = {
            "inter.broker.listener.name": "",  # it finds its controller by any listener
            **self._config.configs,
            "broker.id": str(self.node_id),
            "listeners": f"{LISTENER}://{self._endpoint.host}:{self._endpoint.port}",
            "log.dirs": ",".join(self.log_dirs.paths),
            "replica.lag.time.max.ms": str(self._config.replica_lag_time_max_ms),
            "zookeeper.connect": self._config.zookeeper_connect,
            "zookeeper.session.timeout.ms": str(self._config.session_timeout_ms),
        }
        if self._rack is not None:
            found["broker.rack"] = self._rack
        return found

    async def accept_defaults(self, change: DefaultsChange) -> None:
        """A broker answers for itself alone. If a policy would have to judge, it refuses."""
        await check_alter_config(self)
        own = await self.configs.get(BROKERS, str(self.node_id))
        try:
            judge_reconfiguration(
                self.static_configs, change.before, own, change.after, LISTENER.lower(), may_shrink=True
            )
        except ConfigValueError as error:
            raise InvalidRequest(str(error)) from None

    async def topic_layers(self) -> ConfigLayers:
        own = await self.configs.get(BROKERS, str(self.node_id))
        return ConfigLayers(own, await self.configs.get(BROKERS, DEFAULT), self.static_configs)

    async def live_brokers(self, *, answered: bool = False) -> LiveBrokers:  # noqa: ARG002
        """Only this broker: a stock broker looks only at its own configuration."""
        layers = await self.topic_layers()
        tiered = flag(layers.static.get(TIERED_STORAGE, "false"))
        return LiveBrokers((layers.effective(),), tiered_storage=tiered is True)

    async def unknown_settings(self, _names: Collection[str], _timeout_ms: int = LONGEST_WAIT_MS) -> Collection[str]:
        return ()


__all__: Sequence[str] = ["LISTENER", "SimulatedBroker"]
