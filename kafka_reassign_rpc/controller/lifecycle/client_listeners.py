"""The listeners for clients and brokers, and the node that they find there: an ordinary node of the cluster that is its
controller, or a standby. The controller answers from memory; a standby reads from ZooKeeper what clients ask, and names
the controller to them.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.api.api_definition import Api, RequestContext
from kafka_reassign_rpc.api.config_ports import AclPort, ConfigPort, DefaultsChange, QuotaPort, SettingsPort
from kafka_reassign_rpc.api.dispatch import SENT_TO_CONTROLLER, SENT_TO_SERVERS, SERVER_APIS, Dispatcher, advertised
from kafka_reassign_rpc.api.ports import LONGEST_WAIT_MS, NodeEndpoint, RecordedEvents, StatusPort
from kafka_reassign_rpc.controller.duties.broker_survey import BrokersDoor
from kafka_reassign_rpc.controller.duties.defaults_judge import DefaultsJudge
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper, ServedAcls
from kafka_reassign_rpc.controller.lifecycle.server_config import listed, static_configs
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.telemetry.event_recorder import recorded_events
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.configs.config_layers import (
    ConfigLayers,
    Configs,
    LiveBrokers,
    common_layers,
    live_brokers,
)
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuotas
from kafka_reassign_rpc.core.settings.broker_settings import as_configs
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint, endpoint_for
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.protocol.versions import Versions, announced_versions
from kafka_reassign_rpc.server.listener import Listener, ListenerSecurity
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.zookeeper.config_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas, ServedSettings
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError


class ServedPorts(NamedTuple):
    """What clients read and change through the node. acls: None, this server has no authorizer."""

    configs: ConfigPort
    settings: SettingsPort
    quotas: QuotaPort
    mutation_quotas: MutationQuotas
    acls: AclPort | None
    status: StatusPort


class ServerNode:
    """The `Node` port of the server process (see api.ports). `endpoints`: where clients reach it, by listener name."""

    log_dirs = None

    def __init__(
        self,
        around: Surroundings,
        controller: ControllerService,
        standby: Standby,
        registration: ServerRegistration,
        ports: ServedPorts,
        endpoints: Callable[[], Sequence[Endpoint]],
    ) -> None:
        zk, config, self._survey, self._recorder, _, _ = around
        self.node_id = config.server_id
        self.cluster_id = ""
        """It is known once ZooKeeper is connected."""
        self.apis: Mapping[int, Api] = SERVER_APIS
        self.controller = controller
        self.configs, self.settings, self.quotas, self.mutation_quotas, self.acls, self.status = ports
        self._brokers_listener = config.brokers_listener
        self._static_configs = static_configs(config)
        self._standby = standby
        self._endpoints = endpoints
        self._judge = DefaultsJudge(zk, config.links, f"configs-{config.server_id}")
        self._registration = registration
        self._announced: tuple[tuple[int, bool], Versions] | None = None

    def announced_versions(self) -> Versions:
        controller = self.controller_id()
        stock_controls = controller is not None and controller in self._survey.brokers
        known = self._survey.revision, stock_controls
        if self._announced is None or self._announced[0] != known:
            sent_to_us = SENT_TO_SERVERS if stock_controls else SENT_TO_CONTROLLER
            found = announced_versions(advertised(self.apis), self._survey.versions(), sent_to_us)
            self._announced = known, found
        return self._announced[1]

    def authorizer(self) -> str | None:
        return self._survey.authorizer

    @property
    def static_configs(self) -> Mapping[str, str]:
        """The server's own values, and for the rest those that brokers were started with."""
        learnt = common_layers(self._survey.last_of_topics, {}, {}).static
        return {**learnt, **as_configs(self._survey.settings), **self._survey.policies, **self._static_configs}

    async def live_brokers(self, *, answered: bool = False) -> LiveBrokers:
        if answered:
            await self._survey.all_answered()
        return live_brokers(self._survey.of_topics, *await self._dynamic_configs())

    async def topic_layers(self) -> ConfigLayers:
        """The layers that most brokers have. What is set for this server goes before them."""
        own, defaults, _ = common_layers(self._survey.last_of_topics, *await self._dynamic_configs())
        of_this = await self.configs.get(BROKERS, str(self.node_id))
        return ConfigLayers({**own, **of_this}, defaults, self.static_configs)

    async def _dynamic_configs(self) -> tuple[Configs, Mapping[int, Configs]]:
        brokers = list(self._survey.brokers)
        cluster = self.controller.cluster
        if cluster is not None:
            return cluster.default_configs, {id_: cluster.broker_configs.get(str(id_), {}) for id_ in brokers}
        found = await asyncio.gather(*map(self._read_configs, (DEFAULT, *map(str, brokers))))
        return found[0], dict(zip(brokers, found[1:], strict=True))

    async def _read_configs(self, broker: str) -> Configs:
        try:
            return await self.configs.get(BROKERS, broker)
        except InvalidConfig:
            return {}

    async def unknown_settings(self, names: Collection[str], timeout_ms: int = LONGEST_WAIT_MS) -> Collection[str]:
        return await self._survey.unknown(names, min(max(timeout_ms, 0), LONGEST_WAIT_MS) / 1000)

    async def accept_defaults(self, change: DefaultsChange) -> None:
        await self._judge.accept(change)

    def controller_id(self) -> int | None:
        return self.node_id if self.controller.is_active() else self._standby.named_to_clients()

    def is_privileged(self, listener: str) -> bool:
        return listener == self._brokers_listener or len(self._endpoints()) == 1

    def nodes(self, listener: str) -> Sequence[NodeEndpoint]:
        cluster = self.controller.cluster
        brokers = self._standby.brokers if cluster is None else cluster.brokers
        protocol = next((one.security_protocol for one in self._endpoints() if one.listener == listener), "")
        found = [_seen_from(listener, protocol, broker) for broker in brokers.values()]
        own = self._own(listener)
        if own is not None and self.node_id not in brokers:
            found.append(own)
        if cluster is None:
            others = self._standby.controller_node(listener, protocol)
            found.extend(other for other in others if other.id != self.node_id)
        return found

    def topics_now(self) -> Mapping[str, Topic] | None:
        cluster = self.controller.cluster
        return None if cluster is None else cluster.topics

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        return await self._standby.topics(names)

    def topic_name(self, topic_id: UUID) -> str | None:
        cluster = self.controller.cluster
        return None if cluster is None else cluster.topic_names.get(topic_id)

    async def servers(self, listener: str) -> Sequence[NodeEndpoint]:
        try:
            running = await self._registration.servers()
        except ZkError:
            return ()
        found = []
        for number, server in running.items():
            chosen = next((one for one in server.endpoints if one.listener == listener), server.endpoints[0])
            found.append(NodeEndpoint(number, chosen.host, chosen.port))
        return found

    async def events(self, first: int, max_bytes: int) -> RecordedEvents | None:
        return await recorded_events(self._recorder, first, max_bytes)

    def _own(self, listener: str) -> NodeEndpoint | None:
        endpoints = self._endpoints()
        if not endpoints:
            return None
        endpoint = endpoint_for(endpoints, listener)
        return NodeEndpoint(self.node_id, endpoint.host, endpoint.port)


def _seen_from(listener: str, security_protocol: str, broker: Broker) -> NodeEndpoint:
    endpoint = broker.endpoint(listener, security_protocol)
    return NodeEndpoint(broker.id, endpoint.host, endpoint.port, broker.rack)


class CannotListen(RuntimeError): ...


@contextmanager
def listening(setting: str, addresses: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotListen(f"{setting}={addresses}: {error_text(error)}") from error


class ClientListeners:
    def __init__(
        self,
        around: Surroundings,
        service: ControllerService,
        standby: Standby,
        registration: ServerRegistration,
        status: StatusPort,
        acls: AclKeeper | None,
        door: BrokersDoor | None,
        quotas: QuotaTable,
        stats: ServerStats,
    ) -> None:
        zk, config, _, recorder, _, _ = around
        self._config = config
        self._service = service
        self._recorder = recorder
        configs = ServerConfigStore(zk, config.server_id)
        ports = ServedPorts(
            ServedConfigs(configs, self._record),
            ServedSettings(configs, self._record),
            ServedQuotas(QuotaStore(zk), self._record),
            MutationQuotas(quotas, config.limits.controller_quota_windows, time.monotonic),
            None if acls is None else ServedAcls(acls, self._record),
            status,
        )
        self._node = ServerNode(around, service, standby, registration, ports, self.endpoints)
        dispatcher = Dispatcher(self._node, None if acls is None else acls.authorizer, self._report_denied, door)
        listeners = [_listener(one, config.security.get(one.listener)) for one in config.listeners]
        self._server = Server(dispatcher, listeners, config.limits, quotas, stats)

    async def start(self, cluster_id: str) -> None:
        """Raises CannotListen."""
        self._node.cluster_id = cluster_id
        with listening("listeners", listed(self._config.listeners)):
            await self._server.start()

    async def close(self) -> None:
        await self._server.close()

    def endpoints(self) -> tuple[Endpoint, ...]:
        advertised = self._config.advertised or self._config.listeners
        found = []
        for bound, published in zip(self._config.listeners, advertised, strict=True):
            host, port = self._server.addresses[bound.listener]
            host, port = published.host or host, published.port or port
            found.append(Endpoint(published.listener, published.security_protocol, host, port))
        return tuple(found)

    def _record(self, events: Iterable[Event]) -> None:
        self._recorder.record(None if self._service.cluster is None else self._service.epoch, events)

    def _report_denied(self, ctx: RequestContext) -> None:
        reason = f"{SERVER_APIS[ctx.api_key].name}: {ctx.access.describe_denied()}"
        self._record([Event(catalogue.ACCESS_DENIED, reason=reason, count=ctx.access.refusals).asked_by(ctx.requester)])


def _listener(endpoint: Endpoint, security: ListenerSecurity | None) -> Listener:
    make = partial(Listener, endpoint.host, endpoint.port, endpoint.listener, endpoint.security_protocol)
    return make() if security is None else make(security.tls, security.authenticator)
