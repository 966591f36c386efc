"""Which connections are out of time: idle, silent, slow, or gone without a word. Others close them."""

import asyncio
import select
from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator
from itertools import islice
from typing import Generic, Protocol, TypeVar

from kafka_reassign_rpc.server.server_limits import ServerLimits

TICK_SECONDS = 1.0
MAX_CHECK_SECONDS = 600.0
CHECKS_PER_LIMIT = 4
"""A connection is checked so often within its shortest time limit."""
LOOKED_AT = 1000
"""At most so many connections that wait for their authentication are polled in a second."""
HUNG_UP = getattr(select, "POLLRDHUP", 0)
"""On Linux poll reports the end of a stream behind unread bytes; elsewhere it reports only a reset."""


class Timed(Hashable, Protocol):
    """Times are seconds by the loop's clock.

    silent_since   when it was accepted; 0 once it has sent a whole request, or has authenticated where it must
    frame_since    when the incomplete frame began; 0 if there is none
    unread_since   since when it has not taken all its answers; 0 if it has
    """

    last_active: float
    silent_since: float
    frame_since: float
    unread_since: float

    @property
    def idle(self) -> bool: ...


C = TypeVar("C", bound=Timed)
T = TypeVar("T")


class IdleWheel(Generic[T]):
    """Finds idle items with one slot per tick instead of one timer per item.

    Activity does not touch the wheel: when a slot is due, the owner checks the clock of each item and puts the active
    ones back.
    """

    def __init__(self, slots: int) -> None:
        self._slots: deque[set[T]] = deque(set() for _ in range(slots))
        self._where: dict[T, set[T]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def put(self, item: T, ticks: int) -> None:
        """Makes `item` due in so many ticks: at least one, at most one full turn."""
        self.discard(item)
        slot = self._slots[max(1, min(ticks, len(self._slots))) - 1]
        slot.add(item)
        self._where[item] = slot

    def discard(self, item: T) -> None:
        slot = self._where.pop(item, None)
        if slot is not None:
            slot.discard(item)

    def tick(self) -> set[T]:
        due = self._slots.popleft()
        self._slots.append(set())
        for item in due:
            del self._where[item]
        return due


class ConnectionTimes(Generic[C]):
    """Checks each connection in time, and none in each tick."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._check_seconds = _check_seconds(limits)
        self._wheel: IdleWheel[C] = IdleWheel(_ticks(self._check_seconds))
        self._due: deque[C] = deque()
        """To be checked in this tick."""

    def add(self, connection: C) -> None:
        self._wheel.put(connection, _ticks(self._check_seconds))

    def discard(self, connection: C) -> None:
        self._wheel.discard(connection)

    def tick(self) -> bool:
        """Returns whether all of the last tick was checked."""
        checked = not self._due
        self._due += self._wheel.tick()
        return checked

    def overdue(self, now: float, kept: Container[C]) -> Iterator[tuple[C, str]]:
        """Yields connections whose time is up, each with the counter of its end."""
        while self._due:
            connection = self._due.popleft()
            if connection not in kept:
                continue
            left, kind = self._left(connection, now)
            if left > 0:
                self._wheel.put(connection, _ticks(min(left, self._check_seconds)))
            else:
                yield connection, kind

    @property
    def unchecked(self) -> bool:
        return bool(self._due)

    def _left(self, connection: C, now: float) -> tuple[float, str]:
        """The counter of its end if no seconds are left."""
        found = self._check_seconds, ""
        if not connection.idle:
            return found
        idle, slow = self._limits.connections_max_idle_ms / 1000, self._limits.slow_client_timeout_ms / 1000
        for allowed, since, kind in (
            (slow, connection.silent_since, "connections_silent_closed"),
            (slow, connection.frame_since, "connections_partial_closed"),
            (slow, connection.unread_since, "connections_unread_closed"),
            (idle, connection.last_active, "connections_idle_closed"),
        ):
            if allowed > 0 and since:
                found = min(found, (since + allowed - now, kind))
        return found


def slowest(connections: Iterable[C], latest: float) -> list[C]:
    """The slower half of those whose frame, or whose reading of an answer, began before `latest`; the slowest first."""
    since = ((min(filter(None, (c.frame_since, c.unread_since)), default=latest), c) for c in connections)
    slow = sorted((found for found in since if found[0] < latest), key=lambda found: found[0])
    return [connection for _, connection in slow[: (len(slow) + 1) // 2]]


class Watched(Hashable, Protocol):
    @property
    def unwatched(self) -> int | None:
        """The descriptor of a client that has not authenticated and is not read meanwhile."""


W = TypeVar("W", bound=Watched)


class StepsUnderWay(Generic[W]):
    def __init__(self) -> None:
        self._connections: dict[W, None] = {}

    def add(self, connection: W, step: "asyncio.Task[None]") -> None:
        self._connections[connection] = None
        step.add_done_callback(lambda _: self._connections.pop(connection, None))

    def departed(self) -> list[W]:
        """Clients that have hung up: the loop does not see the end of a stream behind unread bytes."""
        poll = select.poll()
        found: dict[int, W] = {}
        for connection in islice(self._connections, LOOKED_AT):
            descriptor = connection.unwatched
            if descriptor is not None:
                found[descriptor] = connection
                poll.register(descriptor, HUNG_UP)
        return [found[descriptor] for descriptor, _ in poll.poll(0)]


def _ticks(seconds: float) -> int:
    return int(seconds / TICK_SECONDS) + 1


def _check_seconds(limits: ServerLimits) -> float:
    allowed = [ms / 1000 for ms in (limits.slow_client_timeout_ms, limits.connections_max_idle_ms) if ms > 0]
    return min([MAX_CHECK_SECONDS, *(seconds / CHECKS_PER_LIMIT for seconds in allowed)])
