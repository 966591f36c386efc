"""Controller mutation quotas (KIP-599): how many partitions a user or client may create and delete per second.

A token bucket holds as many seconds of the rate as there are windows of controller.quota.window.num times
controller.quota.window.size.seconds, and begins full. It may fall below zero once; then nothing more is accepted until
it is back at zero. Source: ControllerMutationQuotaManager, TokenBucket,
ClientQuotaManager.DefaultQuotaCallback (Kafka 3.9).
"""

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.kafka_errors import ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.kept_uses import KeptUses
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows

RATE = "controller_mutation_rate"
MOST_BUCKETS = 10_000
"""Buckets in memory (`kept_uses`). One that has gone comes back full."""


class TokenBucket:
    """Tokens for mutations, at most those of `burst_s`. Times in seconds, of any clock that never goes back."""

    def __init__(self, burst_s: float, now: float) -> None:
        self._burst_s = burst_s
        self._tokens = float("inf")
        self._updated = now

    def fill(self, rate: float, now: float) -> None:
        """Add what has come since the last time, at `rate` tokens per second."""
        self._tokens = min(rate * self._burst_s, self._tokens + rate * (now - self._updated))
        self._updated = now

    def take(self, tokens: int) -> None:
        self._tokens -= tokens

    def missing(self) -> float:
        """How many tokens must come before the next is given."""
        return max(0.0, -self._tokens)


class MutationQuota:
    """The quota of one request. Without a bucket there is none.

    strict  whether a mutation beyond the quota is refused; otherwise it is counted, and the client is asked to wait
    """

    def __init__(self, bucket: TokenBucket | None, rate: float, *, strict: bool) -> None:
        self._bucket = bucket
        self._rate = rate
        self._strict = strict

    def record(self, partitions: int) -> None:
        """Partitions are about to be created or deleted. Raises ThrottlingQuotaExceeded."""
        if self._bucket is None:
            return
        if self._strict and self._bucket.missing():
            raise ThrottlingQuotaExceeded
        self._bucket.take(partitions)

    def give_back(self, partitions: int) -> None:
        """They were not, for another reason."""
        if self._bucket is not None:
            self._bucket.take(-partitions)

    def throttle_time_ms(self, *, refused: bool) -> int:
        """How long the client should wait: where a mutation was refused, and where this quota is not strict."""
        if self._bucket is None or (self._strict and not refused):
            return 0
        missing = self._bucket.missing()
        return min(round(missing / self._rate * 1000), INT32) if self._rate > 0 else INT32 if missing else 0


UNLIMITED = MutationQuota(None, 0.0, strict=False)


class MutationQuotas:
    """The buckets of all clients. `table` has the quotas."""

    def __init__(self, table: QuotaTable, windows: QuotaWindows) -> None:
        self._table = table
        self._burst_s = windows.number * windows.size_ms / 1000
        self._buckets: KeptUses[TokenBucket] = KeptUses(MOST_BUCKETS)

    def of_request(self, user: str, client_id: str, now: float, *, strict: bool) -> MutationQuota:
        """The quota of a request of this client."""
        found = self._table.limit(RATE, user, client_id)
        if found is None:
            return UNLIMITED
        rate, sharers = found
        bucket = self._buckets.of(sharers, lambda: TokenBucket(self._burst_s, now))
        bucket.fill(rate, now)
        return MutationQuota(bucket, rate, strict=strict)
