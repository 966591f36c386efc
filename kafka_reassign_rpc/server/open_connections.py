"""The open connections of a server, and what they share: limits and counts, the budgets of requests and bytes, time."""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from kafka_reassign_rpc.server.large_work import LargeWork
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.server_limits import ConnectionCounts, CreationRate, IdleWheel, ServerLimits
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.bounded_log import LineLimit

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
MAX_IDLE_SLOTS = 1024


class OpenConnection(Protocol):
    """A connection, as `OpenConnections` uses it.

    last_active   seconds, by the loop's clock
    frame_since   when the incomplete frame began, by the same clock; 0 where there is none
    """

    last_active: float
    frame_since: float

    @property
    def idle(self) -> bool:
        """Whether no request of it is in work."""

    def work(self) -> None:
        """Continue: there is room for another request."""

    def fed(self) -> None:
        """Read on: there is room for request bytes again."""

    def drain(self) -> None:
        """Close as soon as all requests that have arrived are answered."""

    def abort(self) -> None:
        """Close at once."""


class OpenConnections:
    """Admits connections, holds their shared budgets, and closes idle and slow ones. Belongs to one server and one
    event loop.

    served            the lowest and highest version of each API key that the service has
    refused_lines,
    malformed_lines   limit the lines of the log about refused connections, and about those closed for malformed input
    """

    def __init__(self, service: Service, limits: ServerLimits, stats: ServerStats) -> None:
        self.service = service
        self.limits = limits
        self.stats = stats
        self.served: Mapping[int, tuple[int, int]] = dict(service.served)
        self.loop = asyncio.get_running_loop()
        self._connections: set[OpenConnection] = set()
        self._counts = ConnectionCounts(limits)
        self._rate = CreationRate(limits.max_connection_creation_rate)
        self._idle: IdleWheel[OpenConnection] = IdleWheel(self._idle_slots())
        self._waiting: deque[OpenConnection] = deque()
        self._starving: dict[OpenConnection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._closing = False
        self.large_work = LargeWork(self._too_many_answers)
        self.refused_lines, self.malformed_lines = LineLimit(), LineLimit()
        self._ticker = self.loop.call_later(TICK_SECONDS, self._tick)

    # ------------------------------------------------------------------------------------------------ the end

    def drain(self) -> None:
        """Admits no more connections. Every open one closes when its requests are answered."""
        self._closing = True
        self._ticker.cancel()
        for connection in list(self._connections):
            connection.drain()

    async def empty(self) -> None:
        """Waits until no connection and no request is left."""
        while self._connections or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
            if self._connections:
                self._empty.clear()
                await self._empty.wait()

    def cut_off(self) -> int:
        """Closes every connection and cancels every request at once. Returns how many connections there were."""
        count = len(self._connections)
        for task in list(self._tasks):
            task.cancel()
        for connection in list(self._connections):
            connection.abort()
        return count

    # ------------------------------------------------------------------------------------------------ connections

    def admit(self, connection: OpenConnection, host: str) -> str | None:
        """Admits a new connection, or returns why not."""
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
        """Seconds before a new connection may be read."""
        delay = self._rate.delay(self.loop.time())
        if delay > 0:
            self.stats.connections_delayed += 1
        return delay

    def forget(self, connection: OpenConnection, host: str) -> None:
        """Removes a connection that has closed."""
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

    def may_work(self, connection: OpenConnection) -> bool:
        """Whether another request may go into work (queued.max.requests). If not, `connection.work` is called when it
        may."""
        if self.stats.requests_in_work_now < self.limits.queued_max_requests:
            return True
        self._waiting.append(connection)
        self.stats.requests_waiting_now = len(self._waiting)
        return False

    def work(self, waits: Coroutine[Any, Any, None]) -> None:
        """Finishes a request in a task, even if its client disconnects meanwhile."""
        self.stats.requests_in_work_now += 1
        task = self.loop.create_task(waits)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def worked(self) -> None:
        """A request is finished."""
        self.stats.requests_in_work_now -= 1
        self.wake()

    def wake(self) -> None:
        """Lets the next waiting connection work, if there is room. That connection calls this again when it has
        worked."""
        if self._waiting and self.stats.requests_in_work_now < self.limits.queued_max_requests:
            self.loop.call_soon(self._waiting.popleft().work)
            self.stats.requests_waiting_now = len(self._waiting)

    def charge(self, difference: int) -> bool:
        """A connection holds so many bytes more. Returns whether all connections together hold too many."""
        self.stats.request_bytes_now += difference
        limit = self.limits.queued_max_request_bytes
        over = 0 <= limit < self.stats.request_bytes_now
        if self._starving and not over and difference < 0:
            self.loop.call_soon(self._feed)
        return over

    def charge_answers(self, difference: int) -> None:
        """A connection has so many bytes more of answers that its peer has not read. (It charges them as well.)"""
        self.stats.answer_bytes_now += difference
        if difference < 0:
            self.large_work.look_again()

    def _too_many_answers(self) -> bool:
        return 0 <= self.limits.queued_max_request_bytes < self.stats.answer_bytes_now

    def starving(self, connection: OpenConnection) -> None:
        """A connection has stopped reading until there is room for request bytes."""
        self._starving[connection] = None

    def _feed(self) -> None:
        """Lets waiting connections read on, in order, as long as there is room."""
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

    def _tick(self) -> None:
        self._ticker = self.loop.call_later(TICK_SECONDS, self._tick)
        now = self.loop.time()
        self._close_idle(now)
        self._close_slow(now)
        self._count_left_out(now)

    def _count_left_out(self, now: float) -> None:
        """After an interval: how many lines about connections the log has left out."""
        refused, malformed = self.refused_lines.left_out(now), self.malformed_lines.left_out(now)
        if refused:
            log.warning("%d more connections refused within %d s", refused, self.refused_lines.seconds)
        if malformed:
            log.info("%d more connections closed for malformed input", malformed)

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
        """While too many bytes are held: closes the slowest senders. They could keep all others out for ever."""
        limit = self.limits.queued_max_request_bytes
        if not 0 <= limit < self.stats.request_bytes_now:
            return
        latest = now - self.limits.slow_frame_ms / 1000
        slow = sorted((c.frame_since, id(c), c) for c in self._connections if 0 < c.frame_since < latest)
        for _, _, connection in slow[: max(1, len(slow) // 2)] if slow else ():
            self.stats.connections_slow_closed += 1
            connection.abort()
