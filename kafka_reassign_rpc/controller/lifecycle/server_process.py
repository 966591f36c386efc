"""The server process: a ZooKeeper session, listeners, election, metrics."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller import controller_election, odd_znodes
from kafka_reassign_rpc.controller.duties.acl_keeper import AclKeeper
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.duties.defaults_judge import DefaultsJudge
from kafka_reassign_rpc.controller.lifecycle.brokers_door import BrokersDoor
from kafka_reassign_rpc.controller.lifecycle.cluster_lookup import cluster_id, look_for_cluster
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.served_acls import ServedAcls
from kafka_reassign_rpc.controller.lifecycle.served_status import (
    FULL,
    OFF,
    Observers,
    Role,
    ServedStatus,
    page_address,
)
from kafka_reassign_rpc.controller.lifecycle.server_config import (
    AuthorizerConfig,
    EventLogConfig,
    ServerConfig,
    listed,
    static_configs,
)
from kafka_reassign_rpc.controller.lifecycle.server_node import ServerNode
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.supervisor import Supervisor
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.metrics import PAUSE, Metrics, ServerStatus, health, readiness
from kafka_reassign_rpc.controller.watches.client_configs import ClientConfigs
from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME, AclAuthorizer
from kafka_reassign_rpc.core.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuotas
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.core.reassignment.figure_history import FigureHistory
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.cluster import BATCH, Cluster, Endpoint
from kafka_reassign_rpc.security.sasl.credential_cache import CredentialCache
from kafka_reassign_rpc.server import interpreter_tuning
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.listener_security import ListenerSecurity
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.status_page.figure_keeper import FigureKeeper
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas, ServedSettings
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

if TYPE_CHECKING:
    from kafka_reassign_rpc.server.http_server import HttpServer, Page

log = logging.getLogger(__name__)

POLL_S = 0.02


class CannotListen(RuntimeError):
    """A listener cannot be opened."""


@contextmanager
def _listening(setting: str, addresses: str) -> Iterator[None]:
    """An error of the system names the setting, and says what is wrong."""
    try:
        yield
    except OSError as error:
        raise CannotListen(f"{setting}={addresses}: {error_text(error)}") from error


def _listener(endpoint: Endpoint, security: ListenerSecurity) -> Listener:
    return Listener(
        endpoint.host,
        endpoint.port,
        endpoint.listener,
        endpoint.security_protocol,
        security.tls,
        security.authenticator,
    )


def _event_log(config: EventLogConfig | None) -> EventLog | None:
    if config is None:
        return None
    return EventLog(
        config.directory,
        file_bytes=config.file_bytes,
        files=config.files,
        refusal_files=config.refusal_files,
        group_read=config.group_read,
    )


def _credentials(sasl: SaslSources | None) -> CredentialCache | None:
    """The credentials of SCRAM; None where no listener has it."""
    return sasl.credentials if sasl is not None and sasl.needs_credentials else None


def _acl_keeper(config: AuthorizerConfig | None, zk: ZooKeeper) -> AclKeeper | None:
    if config is None:
        return None
    return AclKeeper(zk, AclAuthorizer(config.super_users, allow_everyone=config.allow_everyone_if_no_acl_found))


def _waiting(cluster: Cluster) -> Counter[str]:
    """Number of waiting moves by route."""
    found = Counter(cluster.queue.routes)
    if cluster.batch is not None:
        found[BATCH] += cluster.batch.waiting
    return found


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class ControllerProcess:
    """A server from its start to its end: `async with ControllerProcess(config) as server: await server.ready()`."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._zk = ZooKeeper(
            config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms, access=config.zookeeper_access
        )
        history = FigureHistory()
        self._service = ControllerService(history)
        self._figures = FigureKeeper(lambda: self._service.view(config.settings), history)
        self._standby = Standby(self._zk)
        self._survey = BrokerSurvey(
            str(config.server_id),
            config.links,
            config.broker_settings if config.authorizer is None else {**config.broker_settings, AUTHORIZER: CLASS_NAME},
            refuses=config.refuses_by_policy,
        )
        is_guarded = config.authorizer is None and config.refuses_without_authorizer
        self._door = BrokersDoor(self._survey) if is_guarded else None
        self._metrics = None if config.metrics_listener is None else Metrics()
        self._page = self._status_page() if config.metrics_listener is not None and config.status_page != OFF else None
        observers = None if self._metrics is None else Observers(self._metrics, self._page)
        self._recorder = EventRecorder(_now_ms, _event_log(config.event_log), config.server_id, observers)
        self._acl_zk = config.zookeeper_of_acls()
        """None where the cluster's ZooKeeper has the ACLs, too."""
        self._acls = _acl_keeper(config.authorizer, self._acl_zk or self._zk)
        self._http: HttpServer | None = None
        self._background: list[asyncio.Task[None]] = []
        """What looks for new certificates, notes figures, and measures how late the event loop is."""
        self._quotas = QuotaTable()
        self._client_configs = ClientConfigs(self._zk, self._quotas, _credentials(config.sasl))
        self._server: Server
        self._supervisor: Supervisor
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def metrics_address(self) -> str | None:
        """host:port of /metrics, /health and /ready; None where they are not served."""
        return None if self._http is None else "{}:{}".format(*self._http.address)

    @property
    def bootstrap(self) -> str:
        """host:port of the first listener, as clients should use it."""
        first = self._endpoints()[0]
        return f"{first.host}:{first.port}"

    def live_brokers(self) -> list[int]:
        """Ids of the registered brokers."""
        cluster = self._service.cluster
        return sorted(self._standby.brokers if cluster is None else cluster.brokers)

    async def brokers_seen(self, wanted: Collection[int]) -> None:
        """Wait until this server knows all of these brokers as registered."""
        while not set(wanted) <= set(self.live_brokers()):  # noqa: ASYNC110 (once, at the start of a demonstration)
            await asyncio.sleep(POLL_S)

    async def ready(self) -> None:
        """Wait until this server is the controller, or a standby that knows the controller."""
        assert self._task is not None
        settled = asyncio.create_task(self._supervisor.controller_known())
        await asyncio.wait([settled, self._task], return_when=asyncio.FIRST_COMPLETED)
        settled.cancel()
        if self._task.done():
            self._task.result()

    async def ended(self) -> None:
        """Wait until this server takes part in elections no more. Raises why: IdOfBroker, or a defect."""
        assert self._task is not None
        await asyncio.wait([self._task])
        self._task.result()

    async def _start(self) -> None:
        config = self._config
        if config.sasl is not None:
            await config.sasl.start()
        if config.metrics_listener is not None and self._metrics is not None:
            await self._serve_http(self._metrics, *config.metrics_listener)
        await self._zk.start(config.connection_timeout_ms / 1000)
        found = odd_znodes.migration(await controller_election.read_migration(self._zk))
        if found.stops:
            raise controller_election.MigrationToKRaft(str(found.odd))
        if not config.new_cluster:
            await look_for_cluster(self._zk, config.takeover)
        for path in (*znode_paths.PERSISTENT, *znode_paths.OWN):
            await self._zk.ensure_path(path)
        if self._door is not None:
            self._door.acls_exist = await self._zk.exists(znode_paths.ACLS) is not None
        registration = ServerRegistration(self._zk, config.server_id, self._page_address())
        await registration.check_free()
        await self._recorder.open()
        await self._load_acls()
        identity = await cluster_id(self._zk)
        if self._page is not None:
            self._page.begin(registration, identity, self._recorder)
        configs = ServerConfigStore(self._zk, config.server_id)
        node = ServerNode(
            config.server_id,
            identity,
            SERVER_APIS,
            self._service,
            self._standby,
            ServedConfigs(configs),
            ServedSettings(configs),
            ServedQuotas(QuotaStore(self._zk)),
            MutationQuotas(self._quotas, config.limits.controller_quota_windows, time.monotonic),
            self._endpoints,
            static_configs(config),
            self._recorder,
            self._survey,
            DefaultsJudge(self._zk, config.links, f"configs-{config.server_id}"),
            registration,
            None if self._acls is None else ServedAcls(self._acls, self._record),
        )
        await self._client_configs.start()
        self._server = Server(
            Dispatcher(node, None if self._acls is None else self._acls.authorizer, self._tell_denied, self._door),
            [_listener(one, config.security.get(one.listener, ListenerSecurity())) for one in config.listeners],
            config.limits,
            self._quotas,
        )
        with _listening("listeners", listed(config.listeners)):
            await self._server.start()
        listeners = (one.tls.keep for one in config.security.values() if one.tls)
        for keep in (config.links.keep, config.zookeeper_access.keep, *listeners):
            self._background.append(asyncio.create_task(keep(), name="certificates"))
        self._supervisor = Supervisor(
            self._zk,
            config.server_id,
            self._endpoints(),
            self._service,
            self._standby,
            _now_ms,
            takeover=config.takeover,
            links=config.links,
            settings=config.settings,
            sampling=config.sampling,
            recorder=self._recorder,
            survey=self._survey,
            registration=registration,
            door=self._door,
        )
        self._background.append(asyncio.create_task(self._figures.keep(), name="figures"))
        self._task = asyncio.create_task(self._supervisor.run(), name="supervisor")

    async def _load_acls(self) -> None:
        """Connect to the ZooKeeper of the ACLs, and begin to load them."""
        config = self._config
        if self._acl_zk is not None and config.authorizer is not None:
            timeout_ms = config.authorizer.zookeeper_connection_timeout_ms or config.connection_timeout_ms
            await self._acl_zk.start(timeout_ms / 1000)
        if self._acls is not None:
            self._acls.start()

    async def _stop(self) -> None:
        """Give the controllership back at once; then answer the requests that have arrived, and disconnect."""
        if self._task is not None:
            await self._supervisor.resign(self._task)
        if hasattr(self, "_server"):
            await self._server.close()
        if self._config.sasl is not None:
            await self._config.sasl.close()
        await self._client_configs.close()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await end(*self._background)
        await self._survey.close()
        if self._acls is not None:
            await self._acls.close()
        if self._acl_zk is not None:
            await self._acl_zk.close()
        if self._page is not None:
            await self._page.close()
        await self._recorder.close()
        await self._zk.close()
        if self._http is not None:
            await self._http.close()

    def _record(self, events: Iterable[Event]) -> None:
        """Record events that need no controller."""
        self._recorder.record(-1 if self._service.cluster is None else self._service.epoch, events)

    def _tell_denied(self, ctx: RequestContext) -> None:
        by = requesters.client(ctx.principal, ctx.client_id, ctx.client_host, ctx.listener, ctx.mechanism)
        reason = f"{SERVER_APIS[ctx.api_key].name}: {ctx.access.describe_denied()}"
        self._record([Event(catalogue.ACCESS_DENIED, reason=reason, count=ctx.access.refusals).asked_by(by)])

    async def _serve_http(self, metrics: Metrics, host: str, port: int) -> None:
        """Serve /metrics, /health, /ready and the status page. Begins before ZooKeeper connects: /ready says why a
        server is not ready."""
        from kafka_reassign_rpc.server.http_server import (
            HttpServer,  # this import takes half a second, and few servers need it
        )

        metrics.show(self._status, self._stats, {key: api.name for key, api in SERVER_APIS.items()})
        pages: dict[str, Page] = {
            "/metrics": metrics.page,
            "/health": health,
            "/ready": lambda: readiness(self._status()),
            **({} if self._page is None else self._page.pages),
        }
        security = self._config.metrics_security
        self._http = HttpServer(host, port, pages, security, for_anybody=("/health", "/ready"))  # they tell a word
        with _listening("metrics.listener", f"{host}:{port}"):
            await self._http.start()
        if security.tls is not None:
            self._background.append(asyncio.create_task(security.tls.keep(), name="certificates"))
        if security.users_file is not None:
            self._background.append(asyncio.create_task(security.users_file.follow(), name="users of metrics"))
        delays = interpreter_tuning.measure_loop_delay(lambda seconds: metrics.observe_duration(PAUSE, seconds))
        self._background.append(asyncio.create_task(delays, name="delays of the event loop"))

    def _stats(self) -> ServerStats:
        return self._server.stats if hasattr(self, "_server") else ServerStats()

    def _status_page(self) -> ServedStatus:
        config = self._config
        full = config.status_page == FULL
        return ServedStatus(
            config.server_id,
            self._service,
            self._standby,
            config.links,
            config.settings,
            self._figures,
            self._role,
            full=full,
        )

    def _page_address(self) -> str | None:
        """Where the status page is, for other servers; None where there is none."""
        if self._http is None or self._page is None:
            return None
        clients = (self._config.advertised or self._config.listeners)[0].host
        return page_address(self._http.address, clients, tls=self._config.metrics_security.tls is not None)

    def _role(self) -> Role:
        controller = self._standby.controller_id()
        if not self._zk.connected:
            return Role("", "ZooKeeper is not connected", controller)
        if self._acls is not None and not self._acls.authorizer.loaded:
            return Role("", "the ACLs are not loaded yet: only super users are admitted", controller)
        if self._service.cluster is not None:
            return Role("controller", "", self._config.server_id)
        if controller != controller_election.UNKNOWN:
            return Role("standby", "", controller)
        return Role("", "no controller is known: an election or a controller failover is under way", controller)

    def _status(self) -> ServerStatus:
        cluster, (role, reason, controller) = self._service.cluster, self._role()
        return ServerStatus(
            role=role,
            reason=reason,
            controller=controller,
            epoch=-1 if cluster is None else self._service.epoch,
            moving=0 if cluster is None else sum(map(len, cluster.moving.values())),
            waiting={} if cluster is None else _waiting(cluster),
            brokers=len(self._standby.brokers if cluster is None else cluster.brokers),
            connected=self._zk.connected,
            round_trip=self._zk.round_trip,
            events_lost=self._recorder.lost,
            progress=self._service.totals,
            healing=self._service.repairs,
            refusing=self._config.links.troubles,
            figures=self._service.figures(self._config.settings),
        )

    def _endpoints(self) -> tuple[Endpoint, ...]:
        """Where clients reach this server, with the ports that the system chose."""
        advertised = self._config.advertised or self._config.listeners
        found = []
        for listening, published in zip(self._config.listeners, advertised, strict=True):
            host, port = self._server.addresses[listening.listener]
            found.append(
                Endpoint(
                    published.listener, published.security_protocol, published.host or host, published.port or port
                )
            )
        return tuple(found)
