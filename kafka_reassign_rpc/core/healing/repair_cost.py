"""What a repair would cost, in bytes and time, whether brokers or log dirs have lost the replicas."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.healing.repair_rates import Rate
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE


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
