"""What a repair would cost, in bytes and time, whether brokers or log dirs have lost the replicas; and how fast repairs
may copy: what `self.healing.throttle` amounts to, for each broker.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.settings.healing_settings import ASSUMED_THROUGHPUT, HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of

Rate = Callable[[int, str], float | None]
"""How fast a broker copies on one side (LEADER_RATE, FOLLOWER_RATE), bytes/s; None where that is not known."""


def rates_of(cluster: Cluster, throttle: HealingThrottle, fastest: int) -> Rate:
    """The rates of repairs: of `self.healing.throttle`, or a stricter one that a broker has; without a throttle
    `fastest`, a broker's observed throughput in bytes/s, 0 before the first observation.
    """
    leased = throttle.of(fastest)

    def rate(broker: int, side: str) -> float | None:
        if leased < 0:
            return fastest or None
        standing = rate_of(side, cluster.broker_configs.get(str(broker), {}), cluster.default_configs)
        return leased if standing is None else min(leased, standing)

    return rate


def renewed(throttle: HealingThrottle, present: int, fastest: int, former: HealingThrottle | None) -> int:
    """The rate of a repair that waits or moves at `present`. `former`: the throttle that repairs had from this
    controller before, None: it has seen none.

    A number holds at once; a share is computed when a repair joins the queue and when the setting changes, not with
    each observation. A new controller has observed nothing yet, so it keeps what it finds.
    """
    if throttle.percent and (throttle == former or (former is None and present > 0)):
        return present
    return throttle.of(fastest)


def explained(throttle: HealingThrottle, fastest: int) -> str:
    """What a share amounts to, and of what; else ""."""
    if not throttle.percent:
        return ""
    link = f"a broker was seen to receive {fastest} B/s"
    if not fastest:
        link = f"no broker's link was seen, {ASSUMED_THROUGHPUT} B/s are assumed"
    return f"at {throttle.of(fastest)} B/s for each broker, {throttle}: {link}"


class Copy(NamedTuple):
    """`leader` sends `size` bytes (None: unknown) to `receivers`, or to one broker while the planner has not chosen."""

    leader: int
    size: int | None
    receivers: Collection[int] = ()


class RepairCost(msgspec.Struct, frozen=True):
    """The bytes that are copied, as far as sizes are known, and the time of the busiest broker in ms; None: unknown.

    unsized   copies of unknown size: `bytes` lacks them
    """

    bytes: int | None
    copy_ms: int | None
    unsized: int = 0


UNKNOWN_COST = RepairCost(None, None)
NO_COST = RepairCost(0, 0)
"""Nothing is to be copied."""


class CostSum:
    def __init__(self) -> None:
        self._sent: Counter[int] = Counter()
        self._received: Counter[int] = Counter()
        self._anywhere = 0
        self._unsized = 0
        self._sized = 0

    def add(self, copy: Copy) -> None:
        if copy.size is None:
            self._unsized += max(1, len(copy.receivers))
            return
        self._sized += 1
        self._sent[copy.leader] += copy.size * max(1, len(copy.receivers))
        for broker in copy.receivers:
            self._received[broker] += copy.size
        if not copy.receivers:
            self._anywhere += copy.size

    def cost(self, others: Collection[int], rate: Rate) -> RepairCost:
        """`others` may get what has no receiver yet, in equal parts."""
        if self._unsized and not self._sized:
            return RepairCost(None, None, self._unsized)
        each = self._anywhere / len(others) if others else 0.0
        received = {broker: self._received[broker] + each for broker in {*self._received, *others}}
        sides: list[tuple[str, Mapping[int, float]]] = [(LEADER_RATE, self._sent), (FOLLOWER_RATE, received)]
        seconds = [
            _seconds(load, rate(broker, side)) for side, loads in sides for broker, load in loads.items() if load
        ]
        known = [one for one in seconds if one is not None]
        is_timed = not self._unsized and len(known) == len(seconds) and (others or not self._anywhere)
        copy_ms = int(max(known, default=0.0) * 1000) if is_timed else None
        return RepairCost(self._sent.total(), copy_ms, self._unsized)


def _seconds(load: float, rate: float | None) -> float | None:
    return load / rate if rate else None
