"""What a server shows over HTTP: /metrics, /health, /ready and the status page."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller.lifecycle.client_listeners import listening
from kafka_reassign_rpc.controller.lifecycle.served_status import page_address
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.telemetry.metrics import PAUSE, Metrics, health, readiness
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.server import interpreter_tuning
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.tasks import Background

if TYPE_CHECKING:
    from kafka_reassign_rpc.server.http_server import HttpServer, Page


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
        works = [("delays of the event loop", lambda: interpreter_tuning.measure_loop_delay(self._observe_delay))]
        if security.tls is not None:
            works.append(("certificates", security.tls.keep))
        if security.users_file is not None:
            works.append(("users of metrics", security.users_file.follow))
        self.background = Background(works)
        self._server: HttpServer | None = None

    @property
    def address(self) -> str | None:
        return None if self._server is None else "{}:{}".format(*self._server.address)

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
        with listening("metrics.listener", f"{host}:{port}"):
            await server.start()
        self._server = server

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()

    def _observe_delay(self, seconds: float) -> None:
        self.observers.observe_duration(PAUSE, seconds)
