"""How many refusals a second the event log and standard error take: any client can cause as many as it likes. Each
address may have a number at once, and some more each second; so may all together. Refusals of znodes, which only a
client with rights in ZooKeeper can cause, have their own. Pure: the caller passes the time in.
"""

from collections import Counter
from typing import NamedTuple

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event


class Allowed(NamedTuple):
    """How many refusals at once, and how many more each second."""

    at_once: int
    per_second: float


OF_AN_ADDRESS = Allowed(100, 5)
OF_ALL_ADDRESSES = Allowed(500, 25)
OF_ZNODES = Allowed(1_000, 25)

REPORT_MS = 10_000
"""After how long an event says how many refusals were left out."""
NAMED = 5
"""How many addresses this event names."""
COUNTED = 100
"""For how many addresses the left out refusals are counted one by one."""
KEPT = 2_000
"""How many addresses are remembered before idle ones are forgotten."""


class _Bucket:
    def __init__(self, allowed: Allowed, now: int) -> None:
        self._allowed = allowed
        self._left = float(allowed.at_once)
        self._now = now

    def left(self, now: int) -> float:
        """A clock that goes back adds none."""
        more = max(0, now - self._now) / 1000 * self._allowed.per_second
        self._left = min(self._allowed.at_once, self._left + more)
        self._now = now
        return self._left

    def take(self) -> None:
        self._left -= 1

    def is_full(self, now: int) -> bool:
        return self.left(now) >= self._allowed.at_once


class RefusalLimit:
    def __init__(self) -> None:
        self._all = _Bucket(OF_ALL_ADDRESSES, 0)
        self._znodes = _Bucket(OF_ZNODES, 0)
        self._addresses: dict[str, _Bucket] = {}
        self._left_out: Counter[str] = Counter()

    def admits(self, event: Event, now: int) -> bool:
        """`now` is in ms since 1970."""
        address = event.address
        if address is None:
            admitted = self._takes(now, self._znodes)
        else:
            own = self._addresses.get(address) or _Bucket(OF_AN_ADDRESS, now)
            admitted = self._takes(now, own, self._all)
            if admitted:
                self._remember(address, own, now)
        if not admitted:
            name = "ZooKeeper" if address is None else address
            known = name in self._left_out or len(self._left_out) < COUNTED
            self._left_out[name if known else ""] += event.count or 1
        return admitted

    def left_out(self) -> Event | None:
        if not self._left_out:
            return None
        count = self._left_out.total()
        named = [(name, number) for name, number in self._left_out.most_common(NAMED + 1) if name][:NAMED]
        self._left_out.clear()
        parts = [f"{number} from {name}" for name, number in named]
        others = count - sum(number for _, number in named)
        if others:
            parts.append(f"{others} from others")
        return Event(catalogue.REFUSALS_LEFT_OUT, reason=", ".join(parts), count=count)

    @staticmethod
    def _takes(now: int, *buckets: _Bucket) -> bool:
        if any(bucket.left(now) < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take()
        return True

    def _remember(self, address: str, own: _Bucket, now: int) -> None:
        self._addresses[address] = own
        if len(self._addresses) > KEPT:
            self._addresses = {name: bucket for name, bucket in self._addresses.items() if not bucket.is_full(now)}
