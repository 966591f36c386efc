"""The status page of `watch`, its API, /metrics, /health and /ready, and the event log: a server's own."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_reassign_rpc.controller.telemetry.cluster_figures import NO_FIGURES, figures_of
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics, ServerStatus, build_version, health, readiness
from kafka_reassign_rpc.controller.telemetry.recorded_events import RecordedEvents
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.figure_history import FigureHistory
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import UNKNOWN
from kafka_reassign_rpc.server.http_security import HttpSecurity
from kafka_reassign_rpc.server.http_server import HttpServer, Page
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.status_page.events import EventReader
from kafka_reassign_rpc.status_page.figure_keeper import FigureKeeper
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.watch.watcher import Watcher


class ServedWatch:
    """Use it as an async context manager; then `address` has host and port.

    configs    of the client
    address    where to listen
    page       "off", "counts" or "full"
    event_log  None: events are not kept
    webhooks   None: nobody is notified
    """

    def __init__(
        self,
        configs: Mapping[str, Any],
        address: tuple[str, int],
        security: HttpSecurity,
        page: str,
        event_log: EventLog | None,
        webhooks: WebhookConfig | None = None,
    ) -> None:
        metrics = Metrics()
        self.watcher = watcher = Watcher(configs, self._record)
        notifier = Webhooks(webhooks, lambda: watcher.cluster_id or None, UNKNOWN) if webhooks else None
        self._recorder = EventRecorder(now_ms, event_log, UNKNOWN, metrics, notifier)
        self._figures = FigureKeeper(lambda: watcher.view().term, FigureHistory())
        self._api = StatusApi(watcher.view, self._readers, self._figures, build_version(), full=page == "full")
        stats = ServerStats()
        metrics.show(self._status, lambda: stats, {})
        self._security = security
        pages: dict[str, Page] = {
            "/metrics": metrics.page,
            "/health": health,
            "/ready": lambda: readiness(self._status()),
            **(self._api.pages if page != "off" else {}),
        }
        self._server = HttpServer(*address, pages, security, for_anybody=("/health", "/ready"))
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def address(self) -> str:
        return "{}:{}".format(*self._server.address)

    async def __aenter__(self) -> "ServedWatch":
        await self._server.start()
        await self._recorder.open()
        works = [self.watcher.run(), self._figures.keep()]
        if self._security.tls is not None:
            works.append(self._security.tls.keep())
        if self._security.users_file is not None:
            works.append(self._security.users_file.follow())
        self._tasks = [asyncio.create_task(work) for work in works]
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(*self._tasks)
        await self._api.close()
        await self._server.close()
        await self._recorder.close()

    def _record(self, events: Sequence[Event]) -> None:
        if events:
            self._recorder.record(UNKNOWN, events)

    def _status(self) -> ServerStatus:
        view = self.watcher.view()
        document = status_of(view, at=now_ms(), version=build_version(), full=True)
        figures = NO_FIGURES if view.term is None else figures_of(view.term.cluster, view.term.progress)
        return ServerStatus(
            document,
            connected=self.watcher.answers,
            round_trip=0.0,
            events_lost=self._recorder.lost,
            figures=figures,
            webhooks=self._recorder.notified,
        )

    async def _readers(self) -> Mapping[int, EventReader]:
        return {UNKNOWN: RecordedEvents(self._recorder)}
