"""One cluster that `watch` looks at."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from typing import Any

from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder, RecordedEvents
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics
from kafka_reassign_rpc.controller.telemetry.server_status import NO_FIGURES, ServerStatus, figures_of
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.server.http_server import Page
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.status_page.events import EventReader
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.cluster_name import CLUSTER
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.watch.clusters import api_of, page_of
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
