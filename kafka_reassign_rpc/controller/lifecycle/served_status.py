"""The status page of this server: what it gets to see of the server, and the event logs that it reads."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics, build_version
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Broker, Endpoint
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentEventsRequest
from kafka_reassign_rpc.server.http_server import Page
from kafka_reassign_rpc.status_page.events import ANSWER_S, EventReader, EventsUnknown, LogPage
from kafka_reassign_rpc.status_page.figure_keeper import FigureKeeper
from kafka_reassign_rpc.status_page.server_view import ServerView
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

SERVERS_S = 10.0
"""How often the registered servers are read."""
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (a name, not an address to listen on)


class Role(NamedTuple):
    """The role of a server, why it has none, and who is the controller: see `telemetry.metrics.ServerStatus`."""

    role: str
    reason: str
    controller: int


def page_address(bound: tuple[str, int], clients: str, *, tls: bool) -> str:
    """The address of the page. `bound`: where the server listens; `clients`: the host under which clients reach it."""
    host = clients if bound[0] in EVERY_ADDRESS else bound[0]
    return f"http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{bound[1]}/"


class ServedStatus:
    """Puts the page together. `start` is called once the server knows its cluster; `pages` may be served before.

    figures  of this server's moves, now and in the past
    role     of this server now
    """

    def __init__(
        self,
        config: ServerConfig,
        service: ControllerService,
        standby: Standby,
        figures: FigureKeeper,
        role: Callable[[], Role],
        *,
        full: bool,
    ) -> None:
        self._id = config.server_id
        self._service = service
        self._standby = standby
        self._links = config.links
        self._settings = config.settings
        self._role = role
        self._cluster_id = ""
        self._registration: ServerRegistration | None = None
        self._recorder: EventRecorder | None = None
        self._pages: Mapping[int, str] = {}
        self._logs: dict[tuple[int, tuple[Endpoint, ...]], _ServerLog] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._api = StatusApi(self._look, self._readers, figures, build_version(), full=full)

    @property
    def pages(self) -> Mapping[str, Page]:
        return self._api.pages

    def event(self, event: Event) -> None:
        """An event is being recorded."""
        self._api.event(event)

    async def start(self, registration: ServerRegistration, cluster_id: str, recorder: EventRecorder) -> None:
        self._registration, self._cluster_id, self._recorder = registration, cluster_id, recorder
        self._tasks = [
            asyncio.create_task(self._find_pages(registration), name="status-pages"),
        ]

    async def close(self) -> None:
        await end(*self._tasks)
        await self._api.close()
        for one in self._logs.values():
            one.close()

    async def _find_pages(self, registration: ServerRegistration) -> None:
        while True:
            with suppress(ZkError):
                servers = await registration.servers()
                self._pages = {number: one.page for number, one in servers.items() if one.page is not None}
            await asyncio.sleep(SERVERS_S)

    def _look(self) -> ServerView:
        role, reason, controller = self._role()
        term = self._service.view(self._settings)
        return ServerView(
            server=self._id,
            cluster_id=self._cluster_id,
            role=role,
            reason=reason,
            controller=controller,
            epoch=-1 if term is None else self._service.epoch,
            since=self._standby.controller_since() if term is None else self._service.since_ms,
            brokers=self._standby.brokers if term is None else term.cluster.brokers,
            pages=self._pages,
            term=term,
        )

    async def _readers(self) -> Mapping[int, EventReader]:
        if self._registration is None or self._recorder is None:
            return {}
        found: dict[int, EventReader] = {self._id: _OwnLog(self._recorder)}
        with suppress(ZkError):
            servers = await self._registration.servers()
            wanted = {(number, one.endpoints) for number, one in servers.items() if number != self._id}
            for gone in self._logs.keys() - wanted:
                self._logs.pop(gone).close()
            for number, endpoints in wanted - self._logs.keys():
                node = Broker(number, -1, endpoints)
                self._logs[number, endpoints] = _ServerLog(self._links, node, f"status-{self._id}")
        return found | {number: one for (number, _), one in self._logs.items()}


class Observers:
    """Takes events for the metrics and for the status page (an `event_recorder.EventCounter`)."""

    def __init__(self, metrics: Metrics, status: ServedStatus | None) -> None:
        self._metrics = metrics
        self._status = status

    def event(self, event: Event, at: int) -> None:
        self._metrics.event(event, at)
        if self._status is not None:
            self._status.event(event)

    def observe_duration(self, what: str, seconds: float) -> None:
        self._metrics.observe_duration(what, seconds)


class _OwnLog:
    """The event log of this server."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    async def page(self, first: int, max_bytes: int) -> LogPage:
        found = await self._recorder.read(first, max_bytes)
        if found is None:
            raise EventsUnknown("it keeps no event log (event.log.dir)")
        return LogPage([one.decode() for one in found.events], found.next_seq)


class _ServerLog:
    """The event log of another server, over the Kafka protocol."""

    def __init__(self, links: BrokerLinks, server: Broker, client_id: str) -> None:
        self._links = links
        self._server = server
        self._client_id = client_id
        self._client: RpcClient | None = None

    async def page(self, first: int, max_bytes: int) -> LogPage:
        cls = DescribeReassignmentEventsRequest
        try:
            if self._client is None:
                self._client = await self._links.reach(self._server, self._client_id, ANSWER_S)
            answer = await self._client.call(cls, cls(version=0, from_seq=first, max_bytes=max_bytes), 0)
        except (EOFError, ProtocolError) as error:
            self.close()
            raise EventsUnknown(f"it does not answer: {error}") from error
        except BaseException:  # also a cancelled call: its answer would be taken for that of the next one
            self.close()
            raise
        if answer.error_code:
            raise EventsUnknown(answer.error_message or f"error {answer.error_code}")
        return LogPage(answer.events, answer.next_seq)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None
