"""The listeners for clients and brokers, and the node that they find there."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.api.ports import StatusPort
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller.duties.acl_keeper import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.brokers_door import BrokersDoor
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.served_acls import ServedAcls
from kafka_reassign_rpc.controller.lifecycle.server_config import listed
from kafka_reassign_rpc.controller.lifecycle.server_node import ServedPorts, ServerNode
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuotas
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.listener_security import ListenerSecurity
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas, ServedSettings
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore


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
