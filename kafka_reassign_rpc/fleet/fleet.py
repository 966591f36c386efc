"""Many simulated brokers in one process, on one event loop."""

import asyncio
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, Handler, served
from kafka_reassign_rpc.api.dispatch import CLIENT_APIS, INTER_BROKER_APIS, Dispatcher, table
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.fleet.broker_registration import check_free, cluster_id
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig
from kafka_reassign_rpc.fleet.log_dirs import lost_log_dirs
from kafka_reassign_rpc.fleet.seed_topics import SeedSizes, TopicSeeder
from kafka_reassign_rpc.fleet.simulated_broker import LISTENER, SimulatedBroker
from kafka_reassign_rpc.fleet.throttled_replicas import DynamicConfigs, ThrottledReplicas
from kafka_reassign_rpc.protocol.frame_codec import MAX_ELEMENTS
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    LeaderAndIsrRequest,
    SimulatedFetchRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError


def _api(request: type[ApiMessage], handle: Handler) -> Api:
    return served(
        request,
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
        handle=handle,
        group=ApiGroup.INTER_BROKER,
        max_elements=MAX_ELEMENTS,
    )


CONTROLLED_APIS: Mapping[int, Api] = table(
    (
        _api(LeaderAndIsrRequest, SimulatedBroker.leader_and_isr),
        _api(StopReplicaRequest, SimulatedBroker.stop_replica),
        _api(UpdateMetadataRequest, SimulatedBroker.update_metadata),
        _api(SimulatedFetchRequest, SimulatedBroker.fetch),
    )
)
"""The controller and other simulated brokers call these."""

_NOT_OF_KAFKA_3_9 = frozenset({ApiKey.DESCRIBE_TOPIC_PARTITIONS})
"""A broker in ZooKeeper mode does not serve these; tools fall back to Metadata."""

BROKER_APIS: Mapping[int, Api] = {
    **{key: api for key, api in {**CLIENT_APIS, **INTER_BROKER_APIS}.items() if key not in _NOT_OF_KAFKA_3_9},
    **CONTROLLED_APIS,
}
"""A simulated broker answers NOT_CONTROLLER to a request for the controller."""


log = logging.getLogger(__name__)

LIMITS = ServerLimits(socket_request_max_bytes=100 * 1024 * 1024)
"""As large as Kafka's frames: a controller may describe a whole cluster in one request."""
HEARTBEAT_S = 0.5
HEARTBEATS_PER_S = 200
"""Of all brokers of the process together: in large fleets each sends fewer."""
LOOK_AGAIN_S = 0.2


class Fleet:
    """`async with Fleet(config) as fleet: await fleet.ready()`.

    Entering starts every broker; leaving stops each with a controlled shutdown. Entering raises OSError (ports, files),
    LogSizeFileError (a data directory of another fleet), BrokerIdTaken, ZkError. `ready` raises SeedError,
    BrokerIdTaken, ZkError.
    """

    def __init__(self, config: FleetConfig) -> None:
        self.config = config
        self.brokers: dict[int, SimulatedBroker] = {}
        self._servers: dict[int, Server] = {}
        self._throttles = ThrottledReplicas()
        self._zk = ZooKeeper(config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms)
        self._sizes = SeedSizes(self._zk)
        self._configs: DynamicConfigs | None = None
        self._losing: asyncio.Task[None] | None = None
        self._stops: list[asyncio.Task[None]] = []
        """Of brokers without log dirs. A fleet that ends meanwhile waits for them."""
        self._cluster_id = ""
        self._controller_exists = True

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.close(controlled=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(controlled=kind is None)

    @property
    def addresses(self) -> dict[int, tuple[str, int]]:
        return {broker: server.addresses[LISTENER] for broker, server in self._servers.items()}

    @property
    def bootstrap(self) -> str:
        return ",".join(str(Address(*at)) for at in self.addresses.values())

    async def ready(self) -> None:
        waiting = asyncio.create_task(self._brokers_ready())
        self._controller_exists = True
        try:
            while not waiting.done():
                try:
                    self._controller_exists = await self._zk.exists(znode_paths.CONTROLLER) is not None
                except ZkError as error:
                    log.info("topics wait: it is unknown whether there is a controller: %s", error)
                for broker in self.brokers.values():
                    broker.check_registration()
                    await broker.notify_waiting()
                await asyncio.wait([waiting], timeout=LOOK_AGAIN_S)
        finally:
            await end(waiting)
        if self.config.topics and self.brokers:
            first = next(iter(self.brokers.values()))
            await TopicSeeder(self._zk, first.link, first.knows_controller).create(self.config.topics, self._sizes)

    async def _brokers_ready(self) -> None:
        await asyncio.gather(*(broker.ready(self._has_controller) for broker in self.brokers.values()))

    def _has_controller(self) -> bool:
        return self._controller_exists

    async def start_broker(self, broker_id: int, port: int | None = None) -> None:
        """It registers soon after."""
        broker = SimulatedBroker(
            broker_id, self.config, self._cluster_id, BROKER_APIS, self._throttles, self._sizes, self._heartbeat_s
        )
        wanted = self.config.ports.get(broker_id, 0) if port is None else port
        server = Server(Dispatcher(broker), [Listener(self.config.host, wanted, LISTENER)], LIMITS)
        await server.start()
        host, bound = server.addresses[LISTENER]
        try:
            await broker.start(Endpoint(LISTENER, "PLAINTEXT", host, bound))
        except BaseException:
            await server.close(deadline=0)
            raise
        self._servers[broker_id] = server
        self.brokers[broker_id] = broker

    async def stop_broker(self, broker_id: int, *, controlled: bool = True) -> None:
        broker = self.brokers.pop(broker_id)
        server = self._servers.pop(broker_id)
        if controlled:
            await broker.shut_down()
        await broker.close()
        await server.close(deadline=1.0)

    async def close(self, *, controlled: bool = True) -> None:
        if self._losing is not None:
            await end(self._losing)
            self._losing = None
        stops = (self.stop_broker(broker, controlled=controlled) for broker in list(self.brokers))
        await asyncio.gather(*self._stops, *stops)
        if self._configs is not None:
            await self._configs.close()
            self._configs = None
        await self._zk.close()

    async def _start(self) -> None:
        await self._zk.start()
        self._cluster_id = await cluster_id(self._zk)
        self._configs = DynamicConfigs(self._zk, self._throttles)
        await self._configs.ready()
        await check_free(self._zk, self.config.broker_ids)
        for broker_id in self.config.broker_ids:
            await self.start_broker(broker_id)
        self._losing = asyncio.create_task(self._lose_log_dirs(), name="lost-log-dirs")

    async def _lose_log_dirs(self) -> None:
        """A broker that has lost all its log dirs ends."""
        logged = ""
        while self.config.data_dir is not None:
            try:
                all_lost, problem = lost_log_dirs(self.config.data_dir), ""
            except OSError as error:
                all_lost, problem = {}, str(error)
            if problem and problem != logged:
                log.warning("brokers lose no log dirs while --data-dir cannot be read: %s", problem)
            logged = problem
            for broker_id, lost in all_lost.items():
                broker = self.brokers.get(broker_id)
                if broker is None:
                    continue
                try:
                    await broker.lose_log_dirs(lost)
                except ZkError as error:
                    log.info("broker %d reports its lost log dir to the controller later: %s", broker_id, error)
                if not broker.has_log_dirs and self.brokers.get(broker_id) is broker:
                    log.error("broker %d ends: all its log dirs are lost", broker_id)
                    self._stops.append(asyncio.create_task(self.stop_broker(broker_id, controlled=False)))
                    await asyncio.shield(self._stops[-1])
            await asyncio.sleep(LOOK_AGAIN_S)

    def _heartbeat_s(self) -> float:
        connections = len(self.brokers) ** 2
        lag_time_max_s = self.config.replica_lag_time_max_ms / 1000
        return min(lag_time_max_s / 4, max(HEARTBEAT_S, connections / HEARTBEATS_PER_S))
