"""Observed replication throughput, of which a throttle of self-healing may be a share
(`core.healing.repair_rates`).

It is how fast all moves together grow on a broker between two samples. A sample counts if it measures the network link:
the broker copied during the whole interval (one of its moves was incomplete at the end), answered in time, and had no
throttle. The highest such rate counts for all brokers, until another controller is elected.
"""

from collections.abc import Collection, Sequence

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, rate_of

LATE = 2
"""Samples that do not count after one that a broker was late for: their distance in time is unknown."""


class ObservedThroughput:
    """`fastest`: in bytes/s, 0 before the first observation."""

    def __init__(self) -> None:
        self.fastest = 0
        self._sampled_at: float | None = None
        self._received: dict[int, int] = {}
        self._busy: set[int] = set()
        self._late: dict[int, int] = {}

    def grown(
        self, brokers: Sequence[int], before: Sequence[int | None], after: Sequence[int | None], total: int
    ) -> None:
        """Bytes of one move on its adding brokers at the last sample and now; None: unknown. `total`: the full size."""
        for broker, had, has in zip(brokers, before, after, strict=True):
            if had is not None and has is not None and had <= has:
                self._received[broker] = self._received.get(broker, 0) + has - had
                if has < total:
                    self._busy.add(broker)

    def sampled(self, now: float, cluster: Cluster, silent: Collection[int]) -> None:
        """The sample at `now` (seconds) is complete. `silent` brokers did not answer in time."""
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
