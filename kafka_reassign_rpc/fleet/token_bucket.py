"""Token buckets: rates in bytes per second on a clock that the caller reads.

Pure: time is passed in (seconds, monotonic). A bucket may go into debt, which later arrivals wait off, so
that one grant larger than the bucket still keeps the rate in the long run.
"""

UNLIMITED = (1 << 63) - 1
"""What is left where no rate is set, in bytes: the wire's largest number."""

BURST_S = 0.2
"""How much time's worth of bytes may be saved up: little, so that a rate holds over any second."""

THROTTLE_BURST_S = 1.0
"""The same of a replication throttle: Kafka's replication.quota.window.size.seconds. Leader and follower keep to a rate
of their own each, and what one cannot use while it waits for the other must not be lost to it."""


class TokenBucket:
    """Bytes that may pass. `rate` is None where nothing limits them; 0 lets nothing pass."""

    __slots__ = ("_at", "_burst_s", "_tokens", "rate")

    def __init__(self, rate: float | None, now: float, burst_s: float = BURST_S) -> None:
        self.rate = rate
        self._at = now
        self._burst_s = burst_s
        self._tokens = (rate or 0) * burst_s

    def set_rate(self, rate: float | None, now: float) -> None:
        """A new rate from now on. What was saved up beyond the new burst is gone."""
        if rate == self.rate:
            return
        self._refill(now)
        self.rate = rate
        self._tokens = min(self._tokens, (rate or 0) * self._burst_s)

    def available(self, now: float) -> int:
        """Bytes that may pass now, never negative."""
        if self.rate is None:
            return UNLIMITED
        self._refill(now)
        return max(0, int(self._tokens))

    def take(self, amount: int, now: float) -> None:
        """Bytes that pass now, or come back (negative)."""
        if self.rate is not None:
            self._refill(now)
            self._tokens -= amount

    def wait_s(self, now: float) -> float:
        """Seconds until something may pass; infinite with a rate of 0."""
        if self.rate is None or self.available(now) > 0:
            return 0.0
        if self.rate <= 0:
            return float("inf")
        return (1 - self._tokens) / self.rate

    def _refill(self, now: float) -> None:
        if self.rate is not None and now > self._at:
            self._tokens = min(self._tokens + (now - self._at) * self.rate, self.rate * self._burst_s)
        self._at = max(self._at, now)
