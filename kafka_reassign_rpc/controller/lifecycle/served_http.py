"""What a server shows over HTTP: /metrics, /health, /ready and the status page, with what the page sees of the server
and of the event logs. And the present state of this server: its role, and the values that metrics and `/ready` show.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.controller.lifecycle.client_listeners import listening
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.own_tls import OwnTls
from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder, RecordedEvents
from kafka_reassign_rpc.controller.telemetry.metrics import PAUSE, Metrics, health, readiness
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.core.document_and_command_bodies import EventLog, EventLogBody
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, AskDocumentResponse
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.server.http_server import Page
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.status_page.events import ANSWER_S, EventReader, EventsUnknown, LogPage
from kafka_reassign_rpc.status_page.keepers import FigureKeeper, StatusKeeper
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.tasks import Background, end
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

if TYPE_CHECKING:
    from kafka_reassign_rpc.server.http_server import HttpServer, Page


class Role(NamedTuple):
    role: str
    reason: str
    controller: int | None


class ServerState:
    def __init__(
        self,
        around: Surroundings,
        service: ControllerService,
        standby: Standby,
        acls: AclKeeper | None,
        own_tls: OwnTls,
    ) -> None:
        self._around = around
        self._service = service
        self._standby = standby
        self._acls = acls
        self._own_tls = own_tls
        self.cluster_id = ""
        """Known once ZooKeeper is connected."""
        self.pages: Mapping[int, str] = {}
        """The addresses of status pages, by server."""

    @property
    def brokers(self) -> Mapping[int, Broker]:
        cluster = self._service.cluster
        return self._standby.brokers if cluster is None else cluster.brokers

    def role(self) -> Role:
        is_controller = self._service.cluster is not None
        controller = self._around.config.server_id if is_controller else self._standby.controller_id()
        if not self._around.zk.connected:
            return Role("", "ZooKeeper is not connected", controller)
        if self._acls is not None and not self._acls.authorizer.loaded:
            return Role("", "the ACLs are not loaded yet: only super users are admitted", controller)
        if is_controller:
            return Role("controller", "", controller)
        if controller is not None:
            return Role("standby", "", controller)
        if self._standby.is_kept_out:
            return Role("", "no controller is known, and this server must not be one: its log says why", controller)
        return Role("", "no controller is known: an election or a controller failover is under way", controller)

    def view(self) -> ServerView:
        role, reason, controller = self.role()
        service, standby, config = self._service, self._standby, self._around.config
        term = service.view()
        return ServerView(
            server=config.server_id,
            cluster_id=self.cluster_id,
            role=role,
            reason=reason,
            controller=ControllerView(
                controller,
                None if term is None else service.epoch,
                standby.controller_since() if term is None else service.since_ms,
                None if controller is None else self.pages.get(controller),
            ),
            brokers=standby.brokers if term is None else term.cluster.brokers,
            term=term,
            certificates=self._own_tls.found,
        )

    def status(self) -> ServerStatus:
        zk, config, _, recorder, _, _ = self._around
        return ServerStatus(
            document=status_of(self.view(), at=now_ms(), version=product_version(), full=True),
            connected=zk.connected,
            round_trip=zk.round_trip,
            events_lost=recorder.lost,
            healing=self._service.repairs,
            refusing=config.links.troubles,
            figures=self._service.figures(),
            webhooks=recorder.notified,
            certificates=self._own_tls.found,
        )


log = logging.getLogger(__name__)

SERVERS_S = 10.0
"""How often the registered servers are read."""
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (a name, not an address to listen on)


def page_address(bound: tuple[str, int], clients: str, *, tls: bool) -> str:
    """`bound` is where the server listens, `clients` the host at which clients reach it."""
    host = clients if bound[0] in EVERY_ADDRESS else bound[0]
    return f"http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{bound[1]}/"


class ServedStatus:
    """`start` is called once the server knows its cluster; `pages` may be served before.

    figures   of this server's moves, now and in the past
    is_shown  whether it has a page. Its documents can be asked for over the Kafka protocol, too
    """

    def __init__(
        self, config: ServerConfig, state: ServerState, figures: FigureKeeper, *, is_shown: bool, full: bool
    ) -> None:
        self._id = config.server_id
        self._links = config.links
        self._state = state
        self._is_shown = is_shown
        self._registration: ServerRegistration | None = None
        self._recorder: EventRecorder | None = None
        self._logs: dict[tuple[int, tuple[Endpoint, ...]], _ServerLog] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._api = StatusApi(
            state.view, self._readers, figures, product_version(), full=full, last=lambda: keeper.last
        )
        self.document = self._api.document
        self._keeper = keeper = StatusKeeper(self._api.whole_status, self._of_controller)

    @property
    def pages(self) -> Mapping[str, Page]:
        return self._api.pages if self._is_shown else {}

    async def start(self, registration: ServerRegistration, cluster_id: str, recorder: EventRecorder) -> None:
        self._registration, self._recorder = registration, recorder
        self._state.cluster_id = cluster_id
        self._tasks = [asyncio.create_task(self._keeper.keep(), name="last-status")]
        if self._is_shown:
            self._tasks += [asyncio.create_task(self._find_pages(registration), name="status-pages")]

    async def close(self) -> None:
        await end(*self._tasks)
        await self._api.close()
        for one in self._logs.values():
            one.close()

    async def _find_pages(self, registration: ServerRegistration) -> None:
        while True:
            with suppress(ZkError):
                servers = await registration.servers()
                self._state.pages = {number: one.page for number, one in servers.items() if one.page is not None}
            await asyncio.sleep(SERVERS_S)

    async def _of_controller(self) -> Status | None:
        """None where the controller is no server of this product, or does not answer."""
        controller = self._state.role().controller
        log_of = None if controller is None else (await self._readers()).get(controller)
        return await log_of.status() if isinstance(log_of, _ServerLog) else None

    async def _readers(self) -> Mapping[int, EventReader]:
        if self._registration is None or self._recorder is None:
            return {}
        found: dict[int, EventReader] = {self._id: RecordedEvents(self._recorder)}
        with suppress(ZkError):
            servers = await self._registration.servers()
            wanted = {(number, one.endpoints) for number, one in servers.items() if number != self._id}
            for gone in self._logs.keys() - wanted:
                self._logs.pop(gone).close()
            for number, endpoints in wanted - self._logs.keys():
                node = Broker(number, -1, endpoints)
                self._logs[number, endpoints] = _ServerLog(self._links, node, f"status-{self._id}")
        return found | {number: one for (number, _), one in self._logs.items()}


class _ServerLog:
    def __init__(self, links: BrokerLinks, server: Broker, client_id: str) -> None:
        self._links = links
        self._server = server
        self._client_id = client_id
        self._client: RpcClient | None = None
        self._turn = asyncio.Lock()

    async def page(self, first: int, max_bytes: int) -> LogPage:
        body = msgspec.json.encode(EventLogBody(from_seq=first, max_bytes=max_bytes))
        try:
            answer = await self._ask("event_log", body)
            if answer.error_code:
                raise EventsUnknown(answer.error_message or f"error {answer.error_code}")
            found = msgspec.json.decode(answer.body, type=EventLog)
        except (EOFError, ProtocolError, msgspec.MsgspecError) as error:
            raise EventsUnknown(f"it does not answer: {error}") from error
        return LogPage(found.events, found.next_seq)

    async def status(self) -> Status | None:
        try:
            answer = await self._ask("status", b"")
            return None if answer.error_code else msgspec.json.decode(answer.body, type=Status)
        except (OSError, TimeoutError, EOFError, ProtocolError, msgspec.MsgspecError) as error:
            log.debug("server %d does not send its status, so an older one is kept: %s", self._server.id, error)
            return None

    async def _ask(self, document: str, body: bytes) -> AskDocumentResponse:
        cls = AskDocumentRequest
        async with self._turn:
            try:
                if self._client is None:
                    self._client = await self._links.reach(self._server, self._client_id, ANSWER_S)
                return await self._client.call(cls, cls(version=0, document=document, body=body), 0)
            except BaseException:  # also a cancelled call: its answer would be taken for that of the next one
                self.close()
                raise

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None


class Shown(Protocol):
    def status(self) -> ServerStatus: ...


class Pages(Protocol):
    @property
    def pages(self) -> "Mapping[str, Page]":
        """The status page and its API; empty if there is none."""
        ...


class ServedHttp:
    """Begins before ZooKeeper connects: /ready says why a server is not ready. `observers` takes what is counted, and
    `background` is a part of its own."""

    def __init__(self, config: ServerConfig, state: Shown, stats: ServerStats, page: Pages) -> None:
        self._config = config
        self._page = page
        self.observers = metrics = Metrics()
        metrics.show(state.status, lambda: stats, {key: api.name for key, api in SERVER_APIS.items()})
        self._pages: dict[str, Page] = {
            "/metrics": metrics.page,
            "/health": health,
            "/ready": lambda: readiness(state.status()),
            **page.pages,
        }
        security = config.metrics_security
        works = [("delays of the event loop", lambda: process_limits.measure_loop_delay(self._observe_delay))]
        if security.tls is not None:
            works.append(("certificates", security.tls.keep))
        if security.users_file is not None:
            works.append(("users of metrics", security.users_file.follow))
        self.background = Background(works)
        self._server: HttpServer | None = None

    @property
    def address(self) -> str | None:
        return None if self._server is None else str(Address(*self._server.address))

    def page_address(self, clients: str) -> str | None:
        """For other servers. `clients`: the host at which clients reach this one."""
        if self._server is None or not self._page.pages:
            return None
        return page_address(self._server.address, clients, tls=self._config.metrics_security.tls is not None)

    async def start(self) -> None:
        from kafka_reassign_rpc.server.http_server import (
            HttpServer,  # this import takes half a second, and few servers need it
        )

        assert self._config.metrics_listener is not None
        host, port = self._config.metrics_listener
        security = self._config.metrics_security
        server = HttpServer(host, port, self._pages, security, for_any_host=("/health", "/ready"))  # one word
        with listening("metrics.listener", str(Address(host, port))):
            await server.start()
        self._server = server

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()

    def _observe_delay(self, seconds: float) -> None:
        self.observers.observe_duration(PAUSE, seconds)
