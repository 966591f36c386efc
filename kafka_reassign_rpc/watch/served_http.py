"""The pages of `watch` over HTTP (status pages, metrics, health), and each cluster that it looks at."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from typing import Any

import msgspec

from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder, RecordedEvents
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics, health, metrics_of_clusters, readiness
from kafka_reassign_rpc.controller.telemetry.server_status import NO_FIGURES, ServerStatus, figures_of
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.server.http_server import HttpPage, HttpSecurity, HttpServer, Page, QueryPage
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.status_page.events import EventReader
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.page import list_page
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.cluster_name import CLUSTER, of_cluster
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.human_units import duration, size
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.watch.clusters import Clusters, ClusterStatus, api_of, page_of
from kafka_reassign_rpc.watch.watcher import Watcher


class ClusterWatch:
    """`configs`: of the client. Without `event_log` events are not kept. `name` is "" where there
    is no other cluster.
    """

    def __init__(
        self,
        configs: Mapping[str, Any],
        event_log: EventLog | None,
        webhooks: WebhookConfig | None = None,
        name: str = "",
        *,
        full: bool = False,
    ) -> None:
        self.name = name
        self.metrics = Metrics()
        self._context = copy_context()
        self._context.run(CLUSTER.set, name)
        self.watcher = watcher = Watcher(configs, self._record, name)
        notifier = Webhooks(webhooks, lambda: watcher.cluster_id or None, None, name or None) if webhooks else None
        self.recorder = EventRecorder(now_ms, event_log, None, self.metrics, notifier)
        self.figures = FigureKeeper(lambda: watcher.view().term, FigureHistory())
        self.api = StatusApi(
            watcher.view, self._readers, self.figures, product_version(), full=full, name=name, api=api_of(name)
        )
        stats = ServerStats()
        self.metrics.show(self.status, lambda: stats, {})

    def task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """The log names the cluster in all that it does."""
        return asyncio.create_task(work, context=self._context)

    def pages(self) -> dict[str, Page]:
        return {page_of(self.name) if path == "/" else path: page for path, page in self.api.pages.items()}

    def _record(self, events: Sequence[Event]) -> None:
        if events:
            self.recorder.record(None, events)

    def status(self) -> ServerStatus:
        """What metrics show, and `/ready` to anybody."""
        view = self.watcher.view()
        document = status_of(view, at=now_ms(), version=product_version(), full=False)
        term = view.term
        figures = NO_FIGURES
        if term is not None:
            figures = figures_of(
                term.cluster, term.progress, term.silent, hidden=term.hidden, knows_leases=term.knows_leases
            )
        return ServerStatus(
            document,
            connected=self.watcher.answers,
            round_trip=0.0,
            events_lost=self.recorder.lost,
            figures=figures,
            webhooks=self.recorder.notified,
            only_looks=True,
        )

    async def _readers(self) -> Mapping[None, EventReader]:
        return {None: RecordedEvents(self.recorder)}


CLUSTERS = "/api/v1/clusters"


class ServedWatch:
    """Use it as an async context manager; then `address` has host and port. A single cluster in `watches` has no name.
    `page`: the status pages and their API are served.
    """

    def __init__(
        self, watches: Sequence[ClusterWatch], address: tuple[str, int], security: HttpSecurity, *, page: bool
    ) -> None:
        self.watches = watches
        self._is_one = not watches[0].name
        self._security = security
        metrics = watches[0].metrics.page if self._is_one else QueryPage(self._metrics)
        pages: dict[str, Page] = {"/metrics": metrics, "/health": health, "/ready": self._ready}
        clusters: dict[str, str] = {}
        for one in watches if page else ():
            own = one.pages()
            pages.update(own)
            clusters.update(dict.fromkeys(own, one.name))
        if page and not self._is_one:
            pages.update({"/": self._list, CLUSTERS: self._document})
        self._server = HttpServer(*address, pages, security, ("/health", "/ready"), clusters)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def address(self) -> str:
        return str(Address(*self._server.address))

    async def __aenter__(self) -> "ServedWatch":
        await self._server.start()
        for one in self.watches:
            await one.task(one.recorder.open())
        for one in self.watches:
            self._tasks += [one.task(one.watcher.run()), one.task(one.figures.keep())]
        if self._security.tls is not None:
            self._tasks.append(asyncio.create_task(self._security.tls.keep()))
        if self._security.users_file is not None:
            self._tasks.append(asyncio.create_task(self._security.users_file.follow()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(*self._tasks)
        for one in self.watches:
            await one.api.close()
        await self._server.close()
        await asyncio.gather(*(one.task(one.recorder.close()) for one in self.watches))  # each may wait for webhooks

    # ------------------------------------------------------------------------------------------------ its pages

    async def _metrics(self, _query: str) -> HttpPage:
        return await in_turns(metrics_of_clusters({one.name: one.metrics for one in self.watches}))

    def _ready(self) -> HttpPage:
        """A bad cluster does not take the process away from the others."""
        if self._is_one:
            return readiness(self.watches[0].status())
        seen = sum(one.watcher.view().term is not None for one in self.watches)
        shown = {"ready": seen > 0, "role": "watch", "clusters": len(self.watches), "seen": seen}
        return HttpPage(msgspec.json.encode(shown), status=200 if seen else 503)

    def _statuses(self) -> list[ClusterStatus]:
        return [ClusterStatus.of(one.name, one.api.status()) for one in self.watches]

    def _document(self) -> HttpPage:
        return HttpPage(msgspec.json.encode(Clusters(now_ms(), self._statuses())))

    def _list(self) -> HttpPage:
        return list_page([_row(one) for one in self._statuses()], product_version())


def _row(one: ClusterStatus) -> dict[str, str | None]:
    status = one.status
    totals, work, problems = status.totals, status.work, status.problems
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    row: dict[str, str | None] = {
        "name": one.name,
        "page": one.page,
        "problem": f"{problems[0].text.removeprefix(of_cluster(one.name))}{more}" if problems else None,
    }
    if totals is None:
        return row | dict.fromkeys(("moves", "stalled", "left", "done", "brokers"))
    left, done_ms = totals.bytes_left, None if work is None else work.done_ms
    return row | {
        "moves": str(totals.in_flight),
        "stalled": None if totals.stalled is None else str(totals.stalled),
        "left": None if left is None or totals.moves_without_size else size(left),
        "done": None if done_ms is None else duration(done_ms / 1000),
        "brokers": f"{status.brokers_live or 0} live"
        + (f", {status.brokers_lost} lost" if status.brokers_lost else ""),
    }
