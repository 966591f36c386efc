"""Request quotas (KIP-124, `request_percentage`): how much of the server's time a user or client may take.

100 is all the time of one thread, as in Kafka. What a client uses while no quota holds for it is not counted.
Source: ClientRequestQuotaManager, ClientQuotaManager.recordAndGetThrottleTimeMs, recordNoThrottle (Kafka 3.9).
"""

from kafka_reassign_rpc.core.quotas.kept_uses import KeptUses
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable, Sharers
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows, WindowedRate

PERCENTAGE = "request_percentage"
MOST_RATES = 10_000
"""Users and clients whose use is in memory."""
_PERCENT_OF_NS = 100 / 1_000_000_000


class RequestQuotas:
    """What users and clients have used. `table` has the quotas. Times in ms of any clock that never goes back."""

    def __init__(self, table: QuotaTable, windows: QuotaWindows) -> None:
        self._table = table
        self._windows = windows
        self._rates: KeptUses[WindowedRate] = KeptUses(MOST_RATES)

    @property
    def enabled(self) -> bool:
        """Whether there is any of these quotas."""
        return self._table.sets(PERCENTAGE)

    @property
    def unlimited(self) -> bool:
        """Whether there is no quota of any kind."""
        return self._table.empty

    def throttle_ms(self, user: str, client_id: str, busy_ns: int, now_ms: int) -> int:
        """Counts a request that has taken `busy_ns`. Returns how long its client has to wait."""
        found = self._table.limit(PERCENTAGE, user, client_id)
        if found is None:
            return 0
        bound, sharers = found
        rate = self._rate(sharers)
        rate.record(busy_ns * _PERCENT_OF_NS, now_ms)
        return rate.throttle_ms(bound, now_ms)

    def record(self, user: str, client_id: str, busy_ns: int, now_ms: int) -> None:
        """Counts time that was taken when the client had its answer: it counts at the next request."""
        found = self._table.limit(PERCENTAGE, user, client_id)
        if found is not None:
            self._rate(found[1]).record(busy_ns * _PERCENT_OF_NS, now_ms)

    def _rate(self, sharers: Sharers) -> WindowedRate:
        return self._rates.of(sharers, lambda: WindowedRate(self._windows))
