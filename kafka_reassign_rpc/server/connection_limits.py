"""Limits of a server, by Kafka's names, and the small machines that keep them. Pure: the clock is passed in."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from kafka_reassign_rpc.protocol.connection_state import MAX_REQUEST_BYTES

UNLIMITED = 2**31 - 1


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a server allows. Names and defaults are Kafka's, but for three that suit an administration server."""

    socket_request_max_bytes: int = MAX_REQUEST_BYTES
    queued_max_requests: int = 500
    """Requests in work or waiting for it; beyond, connections are not read."""
    queued_max_request_bytes: int = 256 * 1024 * 1024
    """Bytes of requests that have arrived and are not answered, of all connections together; -1 = unlimited (Kafka)."""
    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = {}
    max_connection_creation_rate: int = UNLIMITED
    """Connections per second; those above wait, unread, until it is their turn."""
    connections_max_idle_ms: int = 600_000
    """At most 0: never closed."""
    socket_listen_backlog_size: int = 1024
    """Kafka: 50. A burst of a thousand clients should not see a refused connection."""
    slow_frame_ms: int = 10_000
    """A frame that takes longer may be dropped, with its connection, while the request bytes are over their limit."""
    write_high_water_bytes: int = 1024 * 1024
    """Unsent answers of one connection above which it is not read."""
    off_loop_bytes: int = 64 * 1024
    """A frame above this is decoded, and its answer encoded, in a thread."""
    turn_ms: int = 5
    """How long one connection with many requests may keep the event loop before others have their turn."""
    tls_handshake_timeout_ms: int = 10_000


class CreationRate:
    """Spreads new connections over time: says how long each has to wait. One second's worth may come at once."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._arrival = 0.0
        """When the next connection would come if they came evenly spread."""

    def delay(self, now: float) -> float:
        """Seconds until a connection that came at `now` may start; takes its place in the row."""
        if self._per_second >= UNLIMITED:
            return 0.0
        arrival = max(self._arrival, now)
        self._arrival = arrival + 1.0 / max(1, self._per_second)
        return max(0.0, self._arrival - 1.0 - now)


class ConnectionCounts:
    """Connections by address."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self.total = 0

    def refusal(self, host: str) -> str | None:
        """Why one more connection from `host` is not allowed, or None."""
        if self.total >= self._limits.max_connections:
            return f"max.connections={self._limits.max_connections} reached"
        allowed = self._limits.max_connections_per_ip_overrides.get(host, self._limits.max_connections_per_ip)
        if self._by_host[host] >= allowed:
            return f"{allowed} connections from {host} reached (max.connections.per.ip)"
        return None

    def add(self, host: str) -> None:
        self.total += 1
        self._by_host[host] += 1

    def remove(self, host: str) -> None:
        self.total -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]


T = TypeVar("T")


class IdleWheel(Generic[T]):
    """Who might be idle, asked in rounds: one slot a tick, instead of one timer for each connection.

    An item lies in the slot in which its time would be up if nothing happened. Activity is not told to the wheel:
    when the slot comes round, its owner looks at the clock of each item and puts back those that were busy.
    """

    def __init__(self, slots: int) -> None:
        self._slots: deque[set[T]] = deque(set() for _ in range(slots))
        self._where: dict[T, set[T]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def put(self, item: T, ticks: int) -> None:
        """Have `item` come up in so many ticks, at least one and at most once round."""
        self.discard(item)
        slot = self._slots[max(1, min(ticks, len(self._slots))) - 1]
        slot.add(item)
        self._where[item] = slot

    def discard(self, item: T) -> None:
        slot = self._where.pop(item, None)
        if slot is not None:
            slot.discard(item)

    def tick(self) -> set[T]:
        """Those whose time may be up: they are out of the wheel now."""
        due = self._slots.popleft()
        self._slots.append(set())
        for item in due:
            del self._where[item]
        return due
