"""Connection quotas (KIP-402, KIP-612), per second: SocketServer.ConnectionQuotas (Kafka 3.9).

A connection beyond the rate of the server or listener waits, with all behind it on that listener. One beyond the rate
of its address is held and then closed, and does not count.

Request quotas (KIP-124): how much of the server's time a user or client may take; 100 is all the time of one thread,
as in Kafka. ClientRequestQuotaManager, ClientQuotaManager.recordAndGetThrottleTimeMs, recordNoThrottle (Kafka 3.9).
"""

from collections.abc import Mapping

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.quotas.client_quotas import IP, QuotaTable
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaUsage, QuotaWindows, WindowedRate

RATE = "connection_creation_rate"
UNLIMITED = INT32
MOST_RATES = 10_000


class ConnectionQuotas:
    """Times are ms of any clock that never goes back.

    rate          max.connection.creation.rate
    of_listeners  the same by listener
    protected     the brokers' listener, which `rate` does not limit, or ""
    """

    def __init__(
        self, table: QuotaTable, windows: QuotaWindows, rate: int, of_listeners: Mapping[str, int], protected: str
    ) -> None:
        self._table = table
        self._bound = rate
        self._bounds = of_listeners
        self._protected = protected
        self._rate = WindowedRate(windows)
        self._rates = {listener: WindowedRate(windows) for listener in of_listeners}
        self._windows = windows
        self._of_addresses: QuotaUsage[WindowedRate] = QuotaUsage(MOST_RATES)

    def accept_delay_ms(self, listener: str, now_ms: int) -> int:
        """Counts a connection; returns how long it, and those behind it on the listener, must wait."""
        delays = [0]
        for rate, bound in self._counting(listener):
            rate.record(1, now_ms)
            delays.append(rate.throttle_ms(bound, now_ms))
        return max(delays)

    def address_throttle_ms(self, listener: str, host: str, now_ms: int) -> int:
        """Counts an accepted connection for its address. If that has too many, takes the connection back and returns
        how long to hold it before it closes.
        """
        bound = self._bound_of(host)
        if bound is None:
            return 0
        rate = self._of_addresses.of((host, None), lambda: WindowedRate(self._windows))
        rate.record(1, now_ms)
        throttle_ms = rate.throttle_ms(bound, now_ms)
        if throttle_ms > 0:
            for one in (rate, *(counting for counting, _ in self._counting(listener))):
                one.record(-1, now_ms)
        return throttle_ms

    def _counting(self, listener: str) -> list[tuple[WindowedRate, int]]:
        found = []
        if self._bound < UNLIMITED and listener != self._protected:
            found.append((self._rate, self._bound))
        if listener in self._rates:
            found.append((self._rates[listener], self._bounds[listener]))
        return found

    def _bound_of(self, host: str) -> float | None:
        if not self._table.sets(RATE):
            return None
        found = self._table.quota(RATE, ((IP, host),))
        return self._table.quota(RATE, ((IP, None),)) if found is None else found


PERCENTAGE = "request_percentage"
_PERCENT_OF_NS = 100 / 1_000_000_000


class RequestUse:
    """The use of all who share a quota. Times are ms of any clock that never goes back."""

    __slots__ = ("_bound", "_rate")

    def __init__(self, bound: float, rate: WindowedRate) -> None:
        self._bound = bound
        self._rate = rate

    def throttle_ms(self, busy_ns: int, now_ms: int) -> int:
        """Counts a request; returns how long its client has to wait."""
        self._rate.record(busy_ns * _PERCENT_OF_NS, now_ms)
        return self._rate.throttle_ms(self._bound, now_ms)

    def record(self, busy_ns: int, now_ms: int) -> None:
        """Counts time spent after the client had its answer."""
        self._rate.record(busy_ns * _PERCENT_OF_NS, now_ms)


class RequestQuotas:
    def __init__(self, table: QuotaTable, windows: QuotaWindows) -> None:
        self.table = table
        self._windows = windows
        self._rates: QuotaUsage[WindowedRate] = QuotaUsage(MOST_RATES)

    def use(self, user: str, client_id: str) -> RequestUse | None:
        """Where a client's requests are counted until a quota changes; None: it has no quota.

        Ask again now and then: `QuotaUsage` may forget a client that does not appear.
        """
        found = self.table.limit(PERCENTAGE, user, client_id)
        if found is None:
            return None
        bound, sharers = found
        return RequestUse(bound, self._rates.of(sharers, lambda: WindowedRate(self._windows)))
