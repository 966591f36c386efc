"""Request quotas (KIP-124): how much of the server's time a user or client may take; 100 is all the time of one thread,
as in Kafka. ClientRequestQuotaManager, ClientQuotaManager.recordAndGetThrottleTimeMs, recordNoThrottle (Kafka 3.9).
"""

from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.core.quotas.quota_usage import QuotaUsage
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows, WindowedRate

PERCENTAGE = "request_percentage"
MOST_RATES = 10_000
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
