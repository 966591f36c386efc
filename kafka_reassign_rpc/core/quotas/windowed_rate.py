"""The rate of a quantity over the last seconds, and how long a client must wait above a quota. A burst counts until its
window is too old. Rate, SampledStat, WindowedSum, QuotaUtils.boundedThrottleTime of Kafka 3.9.

What users and clients have used is kept in bounded memory: no client can make the server forget what others have used.
A client may bring a new client id with each request. If memory is full, its user's oldest entry goes; a user without
entries takes the place of the oldest of all.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kafka_reassign_rpc.core.quotas.client_quotas import Sharers


class QuotaWindows(NamedTuple):
    """quota.window.num and quota.window.size.seconds."""

    number: int = 11
    size_ms: int = 1000


class _Sample:
    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class WindowedRate:
    """Times are ms of any clock that never goes back."""

    __slots__ = ("_current", "_others_ms", "_others_total", "_others_until_ms", "_samples", "_windows")

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0
        self._others_ms = math.inf
        self._others_total = 0.0
        """Of the windows but the present one: when the first began (inf: there is none), and their sum. They hold until
        `_others_until_ms`: each request asks for them."""
        self._others_until_ms = -math.inf

    def record(self, value: float, now_ms: int) -> None:
        """A negative value takes back what was added."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._windows.size_ms:
            sample = self._advance(now_ms)
        sample.total += value
        sample.last_ms = now_ms

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        """How long until the rate is down at `bound` per second, at most one window. As in Kafka, a negative bound
        delays no client.
        """
        if not self._samples:
            return 0
        number, size_ms = self._windows
        if now_ms >= self._others_until_ms:
            self._sum_up_others(now_ms)
        sample = self._samples[self._current]
        if sample.last_ms <= now_ms - number * size_ms:
            sample.reset(now_ms)
        elapsed_ms = now_ms - (sample.start_ms if sample.start_ms < self._others_ms else self._others_ms)
        missing = number - 1 - elapsed_ms // size_ms
        if missing > 0:  # nearly all windows count from the beginning: a first second is no eleventh of a rate
            elapsed_ms += missing * size_ms
        elapsed_ms = elapsed_ms or 1
        rate = (self._others_total + sample.total) * 1000 / elapsed_ms
        if rate <= bound or bound < 0:
            return 0
        if bound == 0:
            return size_ms
        return math.floor(min((rate - bound) / bound * elapsed_ms, size_ms) + 0.5)

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self._windows.number + 1)  # one more, which may overlap the oldest
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        self._others_until_ms = -math.inf
        return self._samples[self._current]

    def _sum_up_others(self, now_ms: int) -> None:
        """Also resets windows that are too old."""
        kept_ms = self._windows.number * self._windows.size_ms
        self._others_total, self._others_ms, self._others_until_ms = 0.0, math.inf, math.inf
        for index, sample in enumerate(self._samples):
            if index == self._current:
                continue
            if sample.last_ms <= now_ms - kept_ms:
                sample.reset(now_ms)
            self._others_total += sample.total
            self._others_ms = min(self._others_ms, sample.start_ms)
            self._others_until_ms = min(self._others_until_ms, sample.last_ms + kept_ms)


V = TypeVar("V")


class QuotaUsage(Generic[V]):
    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Sharers, V] = OrderedDict()
        """The one that was used least recently comes first, also among those of a user."""
        self._of_users: dict[str | None, OrderedDict[Sharers, None]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def of(self, key: Sharers, make: Callable[[], V]) -> V:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
            self._of_users[key[0]].move_to_end(key)
            return value
        if len(self._values) >= self._most:
            self._drop(next(iter(self._of_users.get(key[0], self._values))))
        self._of_users.setdefault(key[0], OrderedDict())[key] = None
        value = self._values[key] = make()
        return value

    def _drop(self, key: Sharers) -> None:
        del self._values[key]
        others = self._of_users[key[0]]
        del others[key]
        if not others:
            del self._of_users[key[0]]
