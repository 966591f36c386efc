"""Observed replication throughput, and throttles that are a share of it.

Observed is how fast all moves together grow on a broker from one sample of sizes to the next
(`reassignment.progress.interval.ms`). A sample counts where it measures the network link: the broker copied during the
whole interval (one of its moves was incomplete at the end), it answered in time, and it had no throttle. The highest
such rate of any broker stands for every broker, until another controller is elected. Before the first such sample, one
gigabit per second is assumed.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Self

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, rate_of

ASSUMED = 125_000_000
"""Bytes/s before the first observation: one gigabit per second."""

EXPECTED = "a whole number of bytes per second (-1: no limit) or a share of a broker's link from 1% to 100%"

HIGHEST = 2**63 - 1
LATE = 2
"""So many samples do not count after one that a broker was late for: their distance in time is unknown."""


class HealingThrottle(NamedTuple):
    """Of each broker in a repair: bytes/s (-1: no limit), or percent of the observed throughput where not 0."""

    rate: int = -1
    percent: int = 0

    @classmethod
    def parse(cls, value: Any) -> Self:
        """`5000000`, `-1`, `50%`. Raises ValueError with the expected syntax."""
        text = str(value).strip()
        digits = text.removesuffix("%").rstrip()
        if digits.isascii() and digits.removeprefix("-").isdigit() and len(digits) < 20:
            number = int(digits)
            if digits != text and 1 <= number <= 100:
                return cls(percent=number)
            if digits == text and -1 <= number <= HIGHEST:
                return cls(number)
        raise ValueError(f"expected {EXPECTED}, got {value!r}")

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent else str(self.rate)

    def of(self, fastest: int) -> int:
        """Bytes/s, -1 for no limit. `fastest`: the observed throughput, bytes/s; 0 before the first observation."""
        return max(1, (fastest or ASSUMED) * self.percent // 100) if self.percent else self.rate

    def explained(self, fastest: int) -> str:
        """A share in words: what it amounts to, and of what. Empty for a number of bytes."""
        if not self.percent:
            return ""
        link = f"a broker was seen to receive {fastest} B/s" if fastest else f"no broker's link was seen, {ASSUMED} B/s"
        return f"at {self.of(fastest)} B/s for each broker, {self}: {link}{'' if fastest else ' are assumed'}"


class ObservedThroughput:
    """Measures how fast brokers receive; `fastest`: the highest observed rate, bytes/s, 0 before the first one."""

    def __init__(self) -> None:
        self.fastest = 0
        self._sampled_at: float | None = None
        self._received: dict[int, int] = {}
        self._busy: set[int] = set()
        self._late: dict[int, int] = {}

    def grown(self, brokers: Sequence[int], before: Sequence[int], after: Sequence[int], total: int) -> None:
        """One move: the bytes on its adding brokers at the last sample and now (-1: unknown), and the full size."""
        for broker, had, has in zip(brokers, before, after, strict=True):
            if 0 <= had <= has:
                self._received[broker] = self._received.get(broker, 0) + has - had
                if has < total:
                    self._busy.add(broker)

    def sampled(self, now: float, cluster: Cluster, silent: Collection[int]) -> None:
        """The sample at `now` (seconds) is complete. `silent`: brokers that did not answer in time."""
        seconds = 0.0 if self._sampled_at is None else now - self._sampled_at
        default = cluster.default_configs
        for broker in self._busy if seconds > 0 else ():
            configs = cluster.broker_configs.get(str(broker), {})
            if broker not in self._late and rate_of(FOLLOWER_RATE, configs, default) is None:
                self.fastest = max(self.fastest, int(self._received[broker] / seconds))
        self._sampled_at = now
        self._received, self._busy = {}, set()
        self._late = {broker: left - 1 for broker, left in self._late.items() if left > 1}
        self._late |= dict.fromkeys(silent, LATE)
