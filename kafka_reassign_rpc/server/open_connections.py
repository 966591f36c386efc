"""Who may come in, who closes to make room or for a limit, and what all connections share.

Which connection closes to make room for another. Pure: the caller passes the connections in.

Kafka closes the one that has been idle longest (Selector.lowestPriorityChannel), and only for newcomers on the
inter-broker listener. Here every listener may have brokers, and a connection that never sent a request closes first:
that costs its client nothing, and a broker or a tool sends its first request as soon as it is connected.
"""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable, Mapping
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from kafka_reassign_rpc.api.dispatch import Service
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.core.quotas.connection_quotas import UNLIMITED, ConnectionQuotas, RequestQuotas
from kafka_reassign_rpc.server import connection_times, process_limits
from kafka_reassign_rpc.server.connection_times import ConnectionTimes, StepsUnderWay, Timed, Watched, slowest
from kafka_reassign_rpc.server.listener import Handshake
from kafka_reassign_rpc.server.request_budgets import RequestBudgets
from kafka_reassign_rpc.server.server_limits import ServerLimits, ServerStats
from kafka_reassign_rpc.support.bounded_log import LineLimit
from kafka_reassign_rpc.support.counted import counted

MOST_LOOKS = 64
"""One search checks at most so many connections."""


class Evictable(Hashable, Protocol):
    """last_active   seconds, by a monotonic clock
    idle          whether no request of it is in work
    """

    last_active: float

    @property
    def idle(self) -> bool: ...


C = TypeVar("C", bound=Evictable)


class EvictionOrder(Generic[C]):
    """First those without a request, the oldest first; then the others, the longest idle first. One with a request in
    work never closes.

    A request costs nothing here: one that was active since its last check goes to the end when its turn comes.
    """

    def __init__(self) -> None:
        self._silent: OrderedDict[C, str] = OrderedDict()
        self._silent_of: dict[str, OrderedDict[C, None]] = {}
        self._others: OrderedDict[C, float] = OrderedDict()
        """With `last_active` as of the last check."""

    def add(self, connection: C, host: str) -> None:
        self._silent[connection] = host
        self._silent_of.setdefault(host, OrderedDict())[connection] = None

    def has_sent(self, connection: C) -> None:
        if self._leave_silent(connection):
            self._others[connection] = connection.last_active

    def discard(self, connection: C) -> None:
        if not self._leave_silent(connection):
            self._others.pop(connection, None)

    def first_silent(self, host: str) -> C | None:
        return next(iter(self._silent_of.get(host, ())), None)

    def first(self) -> C | None:
        for silent in self._silent:
            return silent
        found: C | None = None
        for _ in range(min(MOST_LOOKS, len(self._others))):
            connection, known = next(iter(self._others.items()))
            if connection.idle and connection.last_active <= known:
                return connection if found is None or known <= found.last_active else found
            self._others[connection] = connection.last_active
            self._others.move_to_end(connection)
            if connection.idle and (found is None or connection.last_active < found.last_active):
                found = connection
        return found

    def _leave_silent(self, connection: C) -> bool:
        host = self._silent.pop(connection, None)
        if host is None:
            return False
        of_host = self._silent_of[host]
        del of_host[connection]
        if not of_host:
            del self._silent_of[host]
        return True


class AddressRates:
    """At most one second's worth of connections at once."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}
        """By address: the time of its last connection, and its share used then."""

    def __len__(self) -> int:
        return len(self._used)

    def admits(self, host: str, now: float, per_second: int) -> bool:
        if per_second >= UNLIMITED:
            return True
        before, used = self._used.get(host, (now, 0.0))
        used = min(per_second, max(0.0, used - (now - before) * per_second))
        admitted = used + 1 <= per_second
        self._used[host] = now, used + admitted
        return admitted

    def forget(self, now: float) -> None:
        """Whose last connection is a second ago has its whole share again."""
        self._used = {host: use for host, use in self._used.items() if use[0] > now - 1.0}


class ConnectionCounts:
    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self.total = 0

    @property
    def over(self) -> str | None:
        most = self._limits.max_connections
        return f"max.connections={most} reached" if self.total >= most else None

    def over_of(self, host: str) -> str | None:
        most = self._limits.max_connections_per_ip_overrides.get(host, self._limits.max_connections_per_ip)
        if self._by_host[host] < most:
            return None
        return f"{counted(most, 'connection')} from {host} reached (max.connections.per.ip)"

    def add(self, host: str) -> None:
        self.total += 1
        self._by_host[host] += 1

    def remove(self, host: str) -> None:
        self.total -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]


log = logging.getLogger(__name__)

CLOSED_IN_A_ROW = 50
"""Connections that one turn of the event loop closes: that takes a few milliseconds."""
RATE_WHEN_FULL = 20
"""Newcomers per second from one address while the server is full."""
CLOSED_AT_A_TICK = 200
"""Connections that close in a second when memory or file descriptors run out."""

LOGGED = {
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
"""What the log says about connections, by the counter in ServerStats: level, and what happened."""


class OpenConnection(Timed, Watched, Protocol):
    def drain(self) -> None:
        """Closes as soon as all requests that have arrived are answered."""

    def abort(self) -> None: ...


class OpenConnections:
    """Belongs to one server and one event loop.

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
        self.request_quotas = RequestQuotas(quotas, limits.quota_windows)
        self._quotas = ConnectionQuotas(
            quotas,
            limits.quota_windows,
            limits.max_connection_creation_rate,
            limits.max_connection_creation_rate_of_listeners,
            limits.protected_listener,
        )
        self._rates = AddressRates()
        self._order: EvictionOrder[OpenConnection] = EvictionOrder()
        self._times: ConnectionTimes[OpenConnection] = ConnectionTimes(limits)
        self._steps: StepsUnderWay[OpenConnection] = StepsUnderWay()
        self._leaving: deque[Callable[[], object]] = deque()
        """Each closes a connection whose client has gone."""
        self.budgets = RequestBudgets(limits, stats, self._close_unread)
        self._empty = asyncio.Event()
        self._closing = False
        self._lines = {kind: LineLimit() for kind in LOGGED}
        self._ticker = self.loop.call_later(connection_times.TICK_SECONDS, self._tick)

    # ------------------------------------------------------------------------------------------------ the end

    def drain(self) -> None:
        self._closing = True
        self._ticker.cancel()
        for connection in list(self._connections):
            connection.drain()

    async def empty(self) -> None:
        tasks = self.budgets.tasks
        while self._connections or tasks:
            if tasks:
                await asyncio.wait(tasks)
            if self._connections:
                self._empty.clear()
                await self._empty.wait()

    def cut_off(self) -> int:
        count = len(self._connections)
        for task in list(self.budgets.tasks):
            task.cancel()
        for connection in list(self._connections):
            connection.abort()
        return count

    @property
    def closing(self) -> bool:
        return self._closing

    # ------------------------------------------------------------------------------------------------ connections

    def accept_delay(self, listener: str) -> float:
        delay_ms = self._quotas.accept_delay_ms(listener, int(self.loop.time() * 1000))
        if delay_ms:
            self.stats.connections_delayed += 1
        return delay_ms / 1000

    def address_throttle(self, listener: str, host: str) -> float:
        throttle_ms = self._quotas.address_throttle_ms(listener, host, int(self.loop.time() * 1000))
        if throttle_ms:
            self.record("connections_refused", host, "too many per second (connection_creation_rate)")
        return throttle_ms / 1000

    def refuses(self, host: str) -> bool:
        """If not, the newcomer has a place; another connection may have made room for it. A full server takes few
        newcomers from one address, since others pay for them."""
        over = self._counts.over
        most = self.limits.max_connection_creation_rate_per_ip
        if over is not None:
            most = min(most, RATE_WHEN_FULL)
        if not self._rates.admits(host, self.loop.time(), most):
            self.record(
                "connections_refused", host, f"more than {most} per second (max.connection.creation.rate.per.ip)"
            )
            return True
        over_of_host = self._counts.over_of(host)
        if over_of_host is not None:
            found = self._order.first_silent(host)  # others behind the same address keep their connections
        else:
            found = None if over is None else self._order.first()
        why = over_of_host or over
        if why is not None:
            if found is None:
                self.record("connections_refused", host, why)
                return True
            self._close("connections_evicted", found, why)
        self._counts.add(host)
        return False

    def has_left(self, host: str) -> None:
        self._counts.remove(host)

    def no_descriptors(self) -> None:
        self._free_descriptors()

    def shakes_hands(self, handshake: Handshake) -> None:
        self._take_in(handshake, handshake.host)

    def becomes(self, handshake: Handshake, connection: asyncio.Protocol) -> None:
        handshake.becomes = connection
        self._becoming[connection] = handshake

    def failed(self, handshake: Handshake, why: str) -> None:
        self._becoming.pop(handshake.becomes, None)
        if handshake in self._connections:  # it has not made room for another one
            self.record("connections_failed_tls", handshake.host, why)
            self.forget(handshake)

    def admit(self, connection: OpenConnection, host: str) -> bool:
        """Takes in a connection that has a place. Returns False if the server is closing, or its handshake has made
        room."""
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
        return True

    def _take_in(self, connection: OpenConnection, host: str) -> None:
        self._connections[connection] = host
        self._order.add(connection, host)
        self._times.add(connection)
        self.stats.connections_now = len(self._connections)

    def _drop(self, connection: OpenConnection) -> None:
        """The place stays taken."""
        del self._connections[connection]
        self._order.discard(connection)
        self._times.discard(connection)

    def has_sent(self, connection: OpenConnection) -> None:
        self._order.has_sent(connection)

    def forget(self, connection: OpenConnection) -> None:
        host = self._connections.get(connection)
        if host is None:
            return  # it was closed here
        self.budgets.forget(connection)
        self._drop(connection)
        self._counts.remove(host)
        self.stats.connections_now = len(self._connections)
        if not self._connections:
            self._empty.set()

    def close_soon(self, close: Callable[[], object]) -> None:
        """Each turn of the loop closes a few: a crowd can leave at once."""
        if not self._leaving:
            self.loop.call_soon(self._close_leaving)
        self._leaving.append(close)

    def _close_leaving(self) -> None:
        for _ in range(min(len(self._leaving), CLOSED_IN_A_ROW)):
            self._leaving.popleft()()
        if self._leaving:
            self.loop.call_soon(self._close_leaving)

    def _close(self, kind: str, connection: OpenConnection, why: str) -> None:
        self.record(kind, self._connections[connection], why)
        self.forget(connection)
        connection.abort()

    def muted_too_long(self, connection: OpenConnection) -> None:
        if connection in self._connections:
            self._close("connections_idle_closed", connection, "it was muted for a quota")

    def record(self, kind: str, host: str, why: object) -> None:
        """Counts what happened, and logs it if it is in LOGGED and its kind is not frequent."""
        setattr(self.stats, kind, getattr(self.stats, kind) + 1)
        if kind in LOGGED and self._lines[kind].admits(self.loop.time()):
            level, what = LOGGED[kind]
            log.log(level, "connection from %s %s: %s", host, what, why)

    def _close_unread(self, connection: OpenConnection, why: str) -> None:
        self._close("connections_unread_closed", connection, why)

    def step(self, connection: OpenConnection, waits: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.budgets.aside(waits)
        self._steps.add(connection, task)
        return task

    # ------------------------------------------------------------------------------------------------ time

    def _tick(self) -> None:
        self._ticker = self.loop.call_later(connection_times.TICK_SECONDS, self._tick)
        now = self.loop.time()
        if self._times.tick():
            self._check()
        self._close_slow(now)
        for connection in self._steps.departed():
            connection.abort()
        self._free_descriptors()
        self._rates.forget(now)
        for kind, lines in self._lines.items():
            left_out = lines.left_out(now)
            if left_out:
                level, what = LOGGED[kind]
                log.log(level, "%s %s within %d s", counted(left_out, "more connection"), what, lines.seconds)

    def _check(self) -> None:
        why = f"it had {self.limits.slow_client_timeout_ms / 1000:g} s"
        overdue = self._times.overdue(self.loop.time(), self._connections)
        for connection, kind in islice(overdue, CLOSED_IN_A_ROW):
            self._close(kind, connection, why)
        if self._times.unchecked:
            self.loop.call_soon(self._check)

    def _close_slow(self, now: float) -> None:
        """They could keep all others out."""
        if self.budgets.too_many_bytes:
            for connection in slowest(self._connections, now - self.limits.slow_frame_ms / 1000)[:CLOSED_AT_A_TICK]:
                why = f"{self.limits.queued_max_request_bytes} bytes of requests and answers are held"
                self._close("connections_slow_closed", connection, why)

    def _free_descriptors(self) -> None:
        for _ in range(min(process_limits.missing_descriptors(), CLOSED_AT_A_TICK)):
            found = self._order.first()
            if found is None:
                break
            self._close("connections_evicted", found, "file descriptors run out")
