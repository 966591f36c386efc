"""Controller mutation quotas (KIP-599): how many partitions a user or client may create and delete per second.
ControllerMutationQuotaManager, TokenBucket, ClientQuotaManager.DefaultQuotaCallback (Kafka 3.9).

A bucket holds controller.quota.window.num times controller.quota.window.size.seconds of the rate, and begins full. Once
below zero, it gives nothing until it is back at zero.
"""

from collections.abc import Callable
from typing import Protocol

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.kafka_errors import ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaUsage, QuotaWindows

RATE = "controller_mutation_rate"
MOST_BUCKETS = 10_000
"""A bucket that has left memory comes back full (`windowed_rate.QuotaUsage`)."""


class TokenBucket:
    """At most the tokens of `burst_s`. Times are seconds of any clock that never goes back."""

    def __init__(self, burst_s: float, now: float) -> None:
        self._burst_s = burst_s
        self._tokens = float("inf")
        self._updated = now

    def fill(self, rate: float, now: float) -> None:
        self._tokens = min(rate * self._burst_s, self._tokens + rate * (now - self._updated))
        self._updated = now

    def take(self, tokens: int) -> None:
        self._tokens -= tokens

    def missing(self) -> float:
        return max(0.0, -self._tokens)


class MutationQuota(Protocol):
    def record(self, partitions: int) -> None:
        """Counts what is about to be created or deleted, once nothing else is wrong. Raises ThrottlingQuotaExceeded."""

    def throttle_time_ms(self) -> int:
        """How long the client should wait."""


class _Limited:
    """`strict` refuses a mutation beyond the quota; otherwise it counts, and the client is asked to wait."""

    def __init__(self, bucket: TokenBucket, rate: float, clock: Callable[[], float], *, strict: bool) -> None:
        self._bucket = bucket
        self._rate = rate
        self._clock = clock
        self._strict = strict
        self._over = 0.0
        """When the client has waited enough."""

    def record(self, partitions: int) -> None:
        now = self._clock()
        self._bucket.fill(self._rate, now)
        refused = self._strict and self._bucket.missing() > 0
        if not refused:
            self._bucket.take(partitions)
        missing = self._bucket.missing()
        if missing and (refused or not self._strict):
            self._over = now + (missing / self._rate if self._rate > 0 else float("inf"))
        if refused:
            raise ThrottlingQuotaExceeded

    def throttle_time_ms(self) -> int:
        return round(min(max(0.0, self._over - self._clock()) * 1000, INT32))


class _Unlimited:
    def record(self, partitions: int) -> None: ...

    def throttle_time_ms(self) -> int:
        return 0


UNLIMITED: MutationQuota = _Unlimited()


class MutationQuotas:
    def __init__(self, table: QuotaTable, windows: QuotaWindows, clock: Callable[[], float]) -> None:
        self._table = table
        self._clock = clock
        self._burst_s = windows.number * windows.size_ms / 1000
        self._buckets: QuotaUsage[TokenBucket] = QuotaUsage(MOST_BUCKETS)

    def of_request(self, user: str, client_id: str, *, strict: bool) -> MutationQuota:
        found = self._table.limit(RATE, user, client_id)
        if found is None:
            return UNLIMITED
        rate, sharers = found
        bucket = self._buckets.of(sharers, lambda: TokenBucket(self._burst_s, self._clock()))
        return _Limited(bucket, rate, self._clock, strict=strict)
