"""Token buckets: rates in bytes per second. Pure: the caller passes the time in (seconds, monotonic).

A bucket may go into debt, for which later bytes wait. So one grant larger than the bucket still keeps the rate in the
long run.
"""

UNLIMITED = (1 << 63) - 1
"""Without a rate: the wire's largest number."""

BURST_S = 1.0
"""Seconds' worth of bytes that a bucket saves up: Kafka's replication.quota.window.size.seconds.

Leader and follower each keep to their own rate; neither may lose what it cannot use while it waits for the other.
"""

IDLE_LINK_S = 0.2
"""The same for an idle link: a network saves nothing up for the next copy."""


class TokenBucket:
    """`rate` None: no limit; 0: nothing passes. `idle_s`: seconds' worth of bytes saved up while nothing passes."""

    __slots__ = ("_at", "_idle_s", "_tokens", "_used", "rate")

    def __init__(self, rate: float | None, now: float, idle_s: float = BURST_S) -> None:
        self.rate = rate
        self._at = now
        self._idle_s = idle_s
        self._used = now - BURST_S
        """When bytes passed last."""
        self._tokens = (rate or 0) * idle_s

    def set_rate(self, rate: float | None, now: float) -> None:
        """Drops saved-up bytes beyond the new burst."""
        if rate == self.rate:
            return
        self._refill(now)
        self.rate = rate
        self._tokens = min(self._tokens, (rate or 0) * BURST_S)

    def available(self, now: float) -> int:
        """Bytes that may pass now, never negative."""
        if self.rate is None:
            return UNLIMITED
        self._refill(now)
        return max(0, int(self._tokens))

    def take(self, amount: int, now: float) -> None:
        self.hold(amount, now)
        if amount:
            self._used = now

    def hold(self, amount: int, now: float) -> None:
        """Takes bytes that may pass later, or returns some (negative)."""
        if self.rate is not None:
            self._refill(now)
            self._tokens -= amount

    def _refill(self, now: float) -> None:
        if self.rate is not None and now > self._at:
            saved_s = BURST_S if now - self._used < BURST_S else self._idle_s
            self._tokens = min(self._tokens + (now - self._at) * self.rate, self.rate * saved_s)
        self._at = max(self._at, now)
