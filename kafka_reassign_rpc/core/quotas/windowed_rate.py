"""The rate of a quantity over the last seconds, and how long a client has to wait where it is above a quota.

Time is cut into windows; a rate keeps one sum for each. So a burst counts until its window is too old, and no longer.
Source: Rate, SampledStat and WindowedSum of Kafka 3.9, QuotaUtils.boundedThrottleTime.
"""

import math
from typing import NamedTuple


class QuotaWindows(NamedTuple):
    """quota.window.num (the windows that are kept) and quota.window.size.seconds (here in ms)."""

    number: int = 11
    size_ms: int = 1000


class _Sample:
    """One window: when it began, when something was last added, and the sum."""

    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class WindowedRate:
    """Times in ms, of any clock that never goes back."""

    __slots__ = ("_current", "_samples", "_windows")

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Adds to the present window. A negative value takes back what was added."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._windows.size_ms:
            sample = self._advance(now_ms)
        sample.total += value
        sample.last_ms = now_ms

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        """How long to wait until the rate is down at `bound` per second: at most one window. As in Kafka, a negative
        bound holds nobody up."""
        elapsed_ms, total = self._used(now_ms)
        rate = total * 1000 / elapsed_ms
        if rate <= bound or bound < 0:
            return 0
        if bound == 0:
            return self._windows.size_ms
        return math.floor(min((rate - bound) / bound * elapsed_ms, self._windows.size_ms) + 0.5)

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self._windows.number + 1)  # one more, which may overlap the oldest
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _used(self, now_ms: int) -> tuple[int, float]:
        """The time that the sums cover, and their sum. The time begins with nearly all windows: a first second is no
        eleventh of a rate."""
        number, size_ms = self._windows
        too_old_ms, start_ms, total = now_ms - number * size_ms, now_ms, 0.0
        for sample in self._samples:
            if sample.last_ms <= too_old_ms:
                sample.reset(now_ms)
            if sample.start_ms < start_ms:  # noqa: PLR1730 (min() takes three times as long)
                start_ms = sample.start_ms
            total += sample.total
        elapsed_ms = now_ms - start_ms
        missing = number - 1 - elapsed_ms // size_ms
        return max(elapsed_ms + max(missing, 0) * size_ms, 1), total
