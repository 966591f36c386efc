"""The open connections of a server, and what they share: limits and counts, the budgets of requests and bytes, time."""

import asyncio
import logging
import select
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Protocol

from kafka_reassign_rpc.core.quotas.connection_quotas import ConnectionQuotas
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.core.quotas.request_quotas import RequestQuotas
from kafka_reassign_rpc.server import file_descriptors
from kafka_reassign_rpc.server.eviction_order import EvictionOrder
from kafka_reassign_rpc.server.interpreter_tuning import full_passes
from kafka_reassign_rpc.server.large_work import LargeWork
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.request_throttle import RequestThrottle
from kafka_reassign_rpc.server.server_limits import AddressRates, ConnectionCounts, IdleWheel, ServerLimits
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.server.tls_handshakes import Handshake
from kafka_reassign_rpc.support.bounded_log import LineLimit

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
MAX_CHECK_SECONDS = 600.0
CHECKS_PER_LIMIT = 4
"""How often a connection is checked within the shortest time that a limit gives it."""
CLOSED_IN_A_ROW = 50
"""Connections that one turn of the event loop closes: that takes a few milliseconds."""
RATE_WHEN_FULL = 20
"""Newcomers per second from one address while the server is full."""
LOOKED_AT = 1000
"""Connections that wait for their authentication and at which the server looks in a second."""
HUNG_UP = getattr(select, "POLLRDHUP", 0)
"""Linux tells the end of a stream behind unread bytes; others tell a reset alone."""
CLOSED_AT_A_TICK = 200
"""Connections that close in a second where memory or file descriptors run out."""

TOLD = {
    "connections_refused": (logging.WARNING, "refused"),
    "connections_evicted": (logging.WARNING, "closed to make room"),
    "connections_silent_closed": (logging.WARNING, "closed without a request"),
    "connections_partial_closed": (logging.WARNING, "closed in the middle of a request"),
    "connections_unread_closed": (logging.WARNING, "closed with unread answers"),
    "connections_slow_closed": (logging.WARNING, "closed to get below queued.max.request.bytes"),
    "connections_malformed": (logging.INFO, "closed for malformed input"),
    "connections_unauthenticated": (logging.INFO, "not authenticated"),
    "connections_failed_tls": (logging.INFO, "closed without TLS"),
    "connections_expired": (logging.INFO, "closed at the end of its session"),
}
"""What the log tells of connections, by the counter in ServerStats: level, and what happened."""


class OpenConnection(Hashable, Protocol):
    """A connection, as `OpenConnections` uses it. Times are seconds by the loop's clock.

    last_active    when it last sent or took anything
    silent_since   when it was accepted; 0 once it has sent a whole request, or has authenticated where it must
    frame_since    when the incomplete frame began; 0 where there is none
    unread_since   since when it has not taken all its answers; 0 where it has
    """

    last_active: float
    silent_since: float
    frame_since: float
    unread_since: float

    @property
    def idle(self) -> bool:
        """Whether no request of it is in work."""

    def work(self) -> None:
        """Continue: there is room for another request."""

    def fed(self) -> None:
        """Read on: there is room for request bytes again."""

    @property
    def unwatched(self) -> int | None:
        """The descriptor of a client that has not authenticated and of whom nothing is read meanwhile; None else."""

    def drain(self) -> None:
        """Close as soon as all requests that have arrived are answered."""

    def abort(self) -> None:
        """Close at once."""


class _Turn:
    """A request that waits for its place among queued.max.requests. `work` is called when it has one."""

    def __init__(self, shared: "OpenConnections") -> None:
        self._shared = shared
        self.come = shared.loop.create_future()

    def work(self) -> None:
        if not self.come.done():
            self._shared.stats.requests_in_work_now += 1
            self.come.set_result(None)
        self._shared.wake()


class OpenConnections:
    """Admits connections, holds their shared budgets, and closes idle and slow ones. Belongs to one server and one
    event loop.

    served   the lowest and highest version of each API key that the service has
    quotas   those of users, clients and addresses
    """

    def __init__(self, service: Service, limits: ServerLimits, stats: ServerStats, quotas: QuotaTable) -> None:
        self.service = service
        self.limits = limits
        self.stats = stats
        self.served: Mapping[int, tuple[int, int]] = dict(service.served)
        self.loop = asyncio.get_running_loop()
        self._connections: dict[OpenConnection, str] = {}
        """With their addresses. TLS handshakes are among them."""
        self._becoming: dict[object, OpenConnection] = {}
        """Handshakes by the connections that they become."""
        self._counts = ConnectionCounts(limits)
        self.throttle = RequestThrottle(RequestQuotas(quotas, limits.quota_windows))
        self._quotas = ConnectionQuotas(
            quotas,
            limits.quota_windows,
            limits.max_connection_creation_rate,
            limits.max_connection_creation_rate_of_listeners,
            limits.protected_listener,
        )
        self._rates = AddressRates()
        self._order: EvictionOrder[OpenConnection] = EvictionOrder()
        self._check_seconds = _check_seconds(limits)
        self._wheel: IdleWheel[OpenConnection] = IdleWheel(int(self._check_seconds / TICK_SECONDS) + 1)
        self._due: deque[OpenConnection] = deque()
        """To be checked in this tick."""
        self._leaving: deque[Callable[[], None]] = deque()
        """Each closes a connection whose client has gone."""
        self._unread: OrderedDict[OpenConnection, int] = OrderedDict()
        """Bytes of answers that are not read, the longest wait first."""
        self._waiting: deque[OpenConnection | _Turn] = deque()
        """Who wants a place among queued.max.requests."""
        self._starving: dict[OpenConnection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stepping: dict[OpenConnection, None] = {}
        """Those with a step of their authentication under way."""
        self._empty = asyncio.Event()
        self._closing = False
        self.large_work = LargeWork(self._many_answers)
        self._lines = {kind: LineLimit() for kind in TOLD}
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

    @property
    def closing(self) -> bool:
        """Whether the server is about to end: connections wait for nothing but their answers."""
        return self._closing

    # ------------------------------------------------------------------------------------------------ connections

    def accept_delay(self, listener: str) -> float:
        """Counts a newcomer of a listener. Seconds for which that listener accepts nobody."""
        delay_ms = self._quotas.accept_delay_ms(listener, int(self.loop.time() * 1000))
        if delay_ms:
            self.stats.connections_delayed += 1
        return delay_ms / 1000

    def address_throttle(self, listener: str, host: str) -> float:
        """Counts a newcomer for its address. Seconds for which it is held before it closes; 0: it may come in."""
        throttle_ms = self._quotas.address_throttle_ms(listener, host, int(self.loop.time() * 1000))
        if throttle_ms:
            self.tell("connections_refused", host, "too many per second (connection_creation_rate)")
        return throttle_ms / 1000

    def refuses(self, host: str) -> bool:
        """Whether a newcomer is closed at once. If not, it has a place; another connection may have made room for it.

        Where the server is full, newcomers from one address are few: what they cost then, others pay.
        """
        over = self._counts.over
        most = self.limits.max_connection_creation_rate_per_ip
        if over is not None:
            most = min(most, RATE_WHEN_FULL)
        if not self._rates.admits(host, self.loop.time(), most):
            self.tell("connections_refused", host, f"more than {most} per second (max.connection.creation.rate.per.ip)")
            return True
        over_of_host = self._counts.over_of(host)
        if over_of_host is not None:
            found = self._order.first_silent(host)  # others behind the same address keep their connections
        else:
            found = None if over is None else self._order.first()
        why = over_of_host or over
        if why is not None:
            if found is None:
                self.tell("connections_refused", host, why)
                return True
            self._close("connections_evicted", found, why)
        self._counts.add(host)
        return False

    def has_left(self, host: str) -> None:
        self._counts.remove(host)

    def no_descriptors(self) -> None:
        self._free_descriptors()

    def shakes_hands(self, handshake: Handshake) -> None:
        """A connection that has a place begins with TLS. A newcomer may take that place, as that of a silent one."""
        self._take_in(handshake, handshake.host)

    def becomes(self, handshake: Handshake, connection: asyncio.Protocol) -> None:
        """`admit` will be called for this connection if the handshake succeeds."""
        handshake.becomes = connection
        self._becoming[connection] = handshake

    def failed(self, handshake: Handshake, why: str) -> None:
        """There is no connection at the end of a handshake."""
        self._becoming.pop(handshake.becomes, None)
        if handshake in self._connections:  # it has not made room for another one
            self.tell("connections_failed_tls", handshake.host, why)
            self.forget(handshake)

    def admit(self, connection: OpenConnection, host: str) -> bool:
        """Takes in a connection that has a place. False where the server is closing, or its handshake has made room."""
        handshake = self._becoming.pop(connection, None)
        if handshake is not None:
            if handshake not in self._connections:
                return False
            self._drop(handshake)
        if self._closing:
            self._counts.remove(host)
            return False
        self._take_in(connection, host)
        self.stats.connections_accepted += 1
        full_passes.connections += 1
        return True

    def _take_in(self, connection: OpenConnection, host: str) -> None:
        self._connections[connection] = host
        self._order.add(connection, host)
        self._wheel.put(connection, self._ticks(self._check_seconds))
        self.stats.connections_now = len(self._connections)

    def _drop(self, connection: OpenConnection) -> None:
        """Takes a connection out; its place stays taken."""
        del self._connections[connection]
        self._order.discard(connection)
        self._wheel.discard(connection)

    def has_sent(self, connection: OpenConnection) -> None:
        """The connection has sent its first whole request, or has authenticated."""
        self._order.has_sent(connection)

    def forget(self, connection: OpenConnection) -> None:
        """Removes a connection that is over."""
        host = self._connections.get(connection)
        if host is None:
            return  # it was closed here
        self.unread(connection, 0)
        self._drop(connection)
        self._counts.remove(host)
        self._starving.pop(connection, None)
        if connection in self._waiting:
            self._waiting.remove(connection)
            self.stats.requests_waiting_now = len(self._waiting)
        self.stats.connections_now = len(self._connections)
        if not self._connections:
            self._empty.set()

    def close_soon(self, close: Callable[[], None]) -> None:
        """The client of a connection has gone. Each turn of the loop closes a few: a crowd can leave at once."""
        if not self._leaving:
            self.loop.call_soon(self._close_leaving)
        self._leaving.append(close)

    def _close_leaving(self) -> None:
        for _ in range(min(len(self._leaving), CLOSED_IN_A_ROW)):
            self._leaving.popleft()()
        if self._leaving:
            self.loop.call_soon(self._close_leaving)

    def _close(self, kind: str, connection: OpenConnection, why: str) -> None:
        """Closes a connection for a limit: counts and tells it."""
        self.tell(kind, self._connections[connection], why)
        self.forget(connection)
        connection.abort()

    def muted_too_long(self, connection: OpenConnection) -> None:
        """A quota keeps a connection waiting for longer than an idle one may stay."""
        if connection in self._connections:
            self._close("connections_idle_closed", connection, "it was muted for a quota")

    def tell(self, kind: str, host: str, why: object) -> None:
        """Counts what happened to a connection. The log tells it if it is in TOLD, unless there is much of its kind."""
        setattr(self.stats, kind, getattr(self.stats, kind) + 1)
        if kind in TOLD and self._lines[kind].admits(self.loop.time()):
            level, what = TOLD[kind]
            log.log(level, "connection from %s %s: %s", host, what, why)

    # ------------------------------------------------------------------------------------------------ shared budgets

    def may_work(self, connection: "OpenConnection | _Turn") -> bool:
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
        self.aside(waits)

    def aside(self, waits: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs in a task what takes no place among queued.max.requests: strangers must not fill that."""
        task = self.loop.create_task(waits)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def step(self, connection: OpenConnection, waits: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a step of a connection's authentication that takes time, such as the check of a password."""
        task = self.aside(waits)
        self._stepping[connection] = None
        task.add_done_callback(lambda _: self._stepping.pop(connection, None))
        return task

    @asynccontextmanager
    async def large_place(self, size: int, host: str) -> AsyncIterator[None]:
        """Waits until a large request may go into work: first for room, then for a place among queued.max.requests.
        While it waits for room, it keeps no place from others."""
        async with self.large_work.room(size, host):
            turn = _Turn(self)
            if self.may_work(turn):
                turn.work()
            try:
                await turn.come
                yield
            finally:
                if not turn.come.cancelled():
                    self.worked()

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

    def unread(self, connection: OpenConnection, size: int) -> None:
        """A connection has so many bytes of answers that its client has not read. (It charges them as well.) Where all
        clients together leave too many, those that have had some for the longest time are closed."""
        difference = size - self._unread.get(connection, 0)
        if not difference or connection not in self._connections:
            return
        self.stats.answer_bytes_now += difference
        if size:
            self._unread[connection] = size
        else:
            del self._unread[connection]
        if difference < 0:
            self.large_work.look_again()
        elif self.stats.answer_bytes_now > self.limits.queued_max_response_bytes:
            self.loop.call_soon(self._close_unread)

    def _close_unread(self) -> None:
        limit = self.limits.queued_max_response_bytes
        while self.stats.answer_bytes_now > limit and len(self._unread) > 1:
            self._close("connections_unread_closed", next(iter(self._unread)), f"{limit} bytes are not read")

    def _many_answers(self) -> bool:
        """Whether large requests wait until clients have read."""
        return self.stats.answer_bytes_now > self.limits.queued_max_response_bytes // 2

    # ------------------------------------------------------------------------------------------------ time

    @staticmethod
    def _ticks(seconds: float) -> int:
        return int(seconds / TICK_SECONDS) + 1

    def _tick(self) -> None:
        self._ticker = self.loop.call_later(TICK_SECONDS, self._tick)
        now = self.loop.time()
        checks = not self._due
        self._due += self._wheel.tick()
        if checks:
            self._check()
        self._close_slow(now)
        self._close_departed()
        self._free_descriptors()
        self._rates.forget(now)
        for kind, lines in self._lines.items():
            left_out = lines.left_out(now)
            if left_out:
                level, what = TOLD[kind]
                log.log(level, "%d more connections %s within %d s", left_out, what, lines.seconds)

    def _check(self) -> None:
        """Closes those of the due connections whose time is up, some of them in each turn of the loop."""
        now = self.loop.time()
        closed = 0
        while self._due and closed < CLOSED_IN_A_ROW:
            connection = self._due.popleft()
            if connection not in self._connections:
                continue
            left, kind = self._left(connection, now)
            if left > 0:
                self._wheel.put(connection, self._ticks(min(left, self._check_seconds)))
            else:
                closed += 1
                self._close(kind, connection, f"it had {self.limits.slow_client_timeout_ms / 1000:g} s")
        if self._due:
            self.loop.call_soon(self._check)

    def _left(self, connection: OpenConnection, now: float) -> tuple[float, str]:
        """Seconds that a connection may stay as it is, and the counter where there are none."""
        found = self._check_seconds, ""
        if not connection.idle:
            return found
        idle, slow = self.limits.connections_max_idle_ms / 1000, self.limits.slow_client_timeout_ms / 1000
        for allowed, since, kind in (
            (slow, connection.silent_since, "connections_silent_closed"),
            (slow, connection.frame_since, "connections_partial_closed"),
            (slow, connection.unread_since, "connections_unread_closed"),
            (idle, connection.last_active, "connections_idle_closed"),
        ):
            if allowed > 0 and since:
                found = min(found, (since + allowed - now, kind))
        return found

    def _close_slow(self, now: float) -> None:
        """While too many bytes are held: closes the slowest clients. They could keep all others out for ever."""
        limit = self.limits.queued_max_request_bytes
        if not 0 <= limit < self.stats.request_bytes_now:
            return
        latest = now - self.limits.slow_frame_ms / 1000
        since = ((min(filter(None, (c.frame_since, c.unread_since)), default=latest), c) for c in self._connections)
        slow = sorted((found for found in since if found[0] < latest), key=lambda found: found[0])
        for _, connection in slow[: min((len(slow) + 1) // 2, CLOSED_AT_A_TICK)]:
            self._close("connections_slow_closed", connection, f"{limit} bytes of requests and answers are held")

    def _close_departed(self) -> None:
        """Closes connections whose clients have hung up while a step of their authentication takes time. The loop does
        not notice it where bytes that nobody reads lie before the end of the stream."""
        poll = select.poll()
        found: dict[int, OpenConnection] = {}
        for connection in islice(self._stepping, LOOKED_AT):
            descriptor = connection.unwatched
            if descriptor is not None:
                found[descriptor] = connection
                poll.register(descriptor, HUNG_UP)
        for descriptor, _ in poll.poll(0):
            found[descriptor].abort()

    def _free_descriptors(self) -> None:
        """Closes connections while file descriptors run out, whoever has taken them."""
        for _ in range(min(file_descriptors.missing(), CLOSED_AT_A_TICK)):
            found = self._order.first()
            if found is None:
                break
            self._close("connections_evicted", found, "file descriptors run out")


def _check_seconds(limits: ServerLimits) -> float:
    """How long a connection may go unchecked."""
    allowed = [ms / 1000 for ms in (limits.slow_client_timeout_ms, limits.connections_max_idle_ms) if ms > 0]
    return min([MAX_CHECK_SECONDS, *(seconds / CHECKS_PER_LIMIT for seconds in allowed)])
