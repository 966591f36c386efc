"""A server: its listeners, its connections, and what they share (limits, counts, the budget of request bytes)."""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from kafka_reassign_rpc.server.connection import ServerConnection
from kafka_reassign_rpc.server.limits import ConnectionCounts, CreationRate, IdleWheel, Limits
from kafka_reassign_rpc.server.service import Service
from kafka_reassign_rpc.server.stats import ServerStats

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
MAX_IDLE_SLOTS = 1024


class Listener(msgspec.Struct, frozen=True):
    """Where to listen. Port 0: the system chooses. `tls` is for SSL and SASL_SSL listeners."""

    host: str
    port: int
    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    tls: ssl.SSLContext | None = None


class Server:
    """Answers on all its listeners with one service.

    `start` binds (OSError where that fails); `close` drains. `addresses` has the real host and port by listener name.
    """

    def __init__(self, service: Service, listeners: Sequence[Listener], limits: Limits | None = None) -> None:
        self.service = service
        self.limits = limits or Limits()
        self.stats = ServerStats()
        self.served: Mapping[int, tuple[int, int]] = {}
        self.addresses: dict[str, tuple[str, int]] = {}
        self.loop: asyncio.AbstractEventLoop
        self._listeners = tuple(listeners)
        self._sockets: list[asyncio.Server] = []
        self._connections: set[ServerConnection] = set()
        self._counts = ConnectionCounts(self.limits)
        self._rate = CreationRate(self.limits.max_connection_creation_rate)
        self._idle: IdleWheel[ServerConnection] = IdleWheel(self._idle_slots())
        self._waiting: deque[ServerConnection] = deque()
        self._starving: dict[ServerConnection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticker: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._closing = False

    # ------------------------------------------------------------------------------------------------ life

    async def start(self) -> None:
        """Bind all listeners and accept."""
        self.loop = asyncio.get_running_loop()
        self.served = dict(self.service.served)
        try:
            for listener in self._listeners:
                server = await self.loop.create_server(
                    partial(ServerConnection, self, listener.name),
                    listener.host or None,
                    listener.port,
                    backlog=self.limits.socket_listen_backlog_size,
                    ssl=listener.tls,
                    ssl_handshake_timeout=self.limits.tls_handshake_timeout_ms / 1000 if listener.tls else None,
                )
                self._sockets.append(server)
                host, port = server.sockets[0].getsockname()[:2]
                self.addresses[listener.name] = (host, port)
        except BaseException:
            for server in self._sockets:
                server.close()
            raise
        self._tick_later()

    async def close(self, deadline: float = 10.0) -> None:
        """Stop accepting, answer what has arrived, close. After `deadline` seconds whatever is left is cut off."""
        self._closing = True
        for server in self._sockets:
            server.close()
        if self._ticker is not None:
            self._ticker.cancel()
        for connection in list(self._connections):
            connection.drain()
        try:
            async with asyncio.timeout(deadline):
                await self._drained()
        except TimeoutError:
            log.warning("%d connections cut off at the end of the drain", len(self._connections))
            for task in list(self._tasks):
                task.cancel()
            for connection in list(self._connections):
                connection.abort()
            await self._drained()
        for server in self._sockets:
            await server.wait_closed()

    async def _drained(self) -> None:
        """Until no connection and no request is left."""
        while self._connections or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
            if self._connections:
                self._empty.clear()
                await self._empty.wait()

    # ------------------------------------------------------------------------------------------------ connections

    def admit(self, connection: ServerConnection, host: str) -> str | None:
        """Take a new connection in; why not, otherwise."""
        refusal = "the server is closing" if self._closing else self._counts.refusal(host)
        if refusal is not None:
            self.stats.connections_refused += 1
            return refusal
        self._counts.add(host)
        self._connections.add(connection)
        self.stats.connections_accepted += 1
        self.stats.connections_now = len(self._connections)
        if self.limits.connections_max_idle_ms > 0:
            self._idle.put(connection, self._idle_ticks(self.limits.connections_max_idle_ms / 1000))
        return None

    def creation_delay(self) -> float:
        """Seconds before a new connection is read."""
        delay = self._rate.delay(self.loop.time())
        if delay > 0:
            self.stats.connections_delayed += 1
        return delay

    def forget(self, connection: ServerConnection, host: str) -> None:
        """A connection is gone."""
        self._counts.remove(host)
        self._connections.discard(connection)
        self._idle.discard(connection)
        self._starving.pop(connection, None)
        if connection in self._waiting:
            self._waiting.remove(connection)
            self.stats.requests_waiting_now = len(self._waiting)
        self.stats.connections_now = len(self._connections)
        if not self._connections:
            self._empty.set()

    # ------------------------------------------------------------------------------------------------ shared budgets

    def may_work(self, connection: ServerConnection) -> bool:
        """Whether another request may be in work (queued.max.requests); if not, `connection` is called in its turn."""
        if self.stats.requests_in_work_now < self.limits.queued_max_requests:
            return True
        self._waiting.append(connection)
        self.stats.requests_waiting_now = len(self._waiting)
        return False

    def work(self, waits: Coroutine[Any, Any, None]) -> None:
        """Have a request finished in a task. It is finished even if its client goes away meanwhile."""
        self.stats.requests_in_work_now += 1
        task = self.loop.create_task(waits)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def worked(self) -> None:
        """A request is through."""
        self.stats.requests_in_work_now -= 1
        self.wake()

    def wake(self) -> None:
        """Call the next connection that waits to work, if there is a place; it calls here again when it has worked."""
        if self._waiting and self.stats.requests_in_work_now < self.limits.queued_max_requests:
            self.loop.call_soon(self._waiting.popleft().work)
            self.stats.requests_waiting_now = len(self._waiting)

    def charge(self, difference: int) -> bool:
        """A connection holds so many bytes more; whether all of them hold too much."""
        self.stats.request_bytes_now += difference
        limit = self.limits.queued_max_request_bytes
        over = 0 <= limit < self.stats.request_bytes_now
        if self._starving and not over and difference < 0:
            self.loop.call_soon(self._feed)
        return over

    def starving(self, connection: ServerConnection) -> None:
        """A connection has stopped reading for want of room."""
        self._starving[connection] = None

    def _feed(self) -> None:
        """Let those that wait for room read on, in order, as long as there is any."""
        limit = self.limits.queued_max_request_bytes
        while self._starving and not 0 <= limit < self.stats.request_bytes_now:
            connection = next(iter(self._starving))
            del self._starving[connection]
            connection.fed()

    # ------------------------------------------------------------------------------------------------ time

    def _idle_slots(self) -> int:
        ticks = int(max(1.0, self.limits.connections_max_idle_ms / 1000 / TICK_SECONDS)) + 1
        return min(MAX_IDLE_SLOTS, ticks)

    @staticmethod
    def _idle_ticks(seconds: float) -> int:
        return int(seconds / TICK_SECONDS) + 1

    def _tick_later(self) -> None:
        self._ticker = self.loop.call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._tick_later()
        now = self.loop.time()
        self._close_idle(now)
        self._close_slow(now)

    def _close_idle(self, now: float) -> None:
        allowed = self.limits.connections_max_idle_ms / 1000
        for connection in self._idle.tick():
            left = connection.last_active + allowed - now
            if left > 0 or not connection.idle:
                self._idle.put(connection, self._idle_ticks(max(left, 0.0)))
            else:
                self.stats.connections_idle_closed += 1
                connection.abort()

    def _close_slow(self, now: float) -> None:
        """While too much is held: drop the slowest senders, or they could keep everybody else out for ever."""
        limit = self.limits.queued_max_request_bytes
        if not 0 <= limit < self.stats.request_bytes_now:
            return
        latest = now - self.limits.slow_frame_ms / 1000
        slow = sorted((c.frame_since, id(c), c) for c in self._connections if 0 < c.frame_since < latest)
        for _, _, connection in slow[: max(1, len(slow) // 2)] if slow else ():
            self.stats.connections_slow_closed += 1
            connection.abort()
