"""Which connection closes to make room for another. Pure: the caller passes the connections in.

Kafka closes the one that has been idle longest (Selector.lowestPriorityChannel), and only for newcomers on the
inter-broker listener. Here every listener may have brokers, and a connection that never sent a request closes first:
that costs its client nothing, and a broker or a tool sends its first request as soon as it is connected.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

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
