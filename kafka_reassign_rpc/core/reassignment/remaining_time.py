"""How fast a move copies and how long that still takes, also while it shares its brokers' links with other moves.

The rate of one replica over the last seconds is no measure of its future where other moves have the link: a leader's
quota serves some partitions and leaves others out for half a minute, and an order of magnitude is lost or won. So the
remaining time of a replica is the smaller one of two:

    alone    what it lacks, at the rate at which its own gap to the leader has closed
    shared   what all moves of the link lack, at the rate at which all their gaps have closed: by then everything of
             this link is done

Which link is the narrow one? Where one side copies at its quota and the other does not, the side at its quota; the
other side then needs at least what its own quota asks for. Otherwise nobody can tell, and the longer one counts.
"""

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of

WINDOW_S = 15.0
"""Rates cover so many seconds, and at least two samples."""
AT_QUOTA = 2.0
"""A broker is at its quota if it copies no less than the quota divided by this. If it copies more than the quota times
this, the quota does not concern its moves."""


class Sample(NamedTuple):
    """The size at the leader, and those of the adding replicas in their order (-1: unknown)."""

    at: float
    total: int
    copied: tuple[int, ...]

    def gap(self, place: int) -> int | None:
        """What an adding replica lacks; None: not known."""
        return None if self.total < 0 or self.copied[place] < 0 else max(0, self.total - self.copied[place])


class Samples:
    """The samples of the last `WINDOW_S`, and always the last two.

    They are numbers in two lists, not objects: for a hundred thousand moves, the garbage collector would spend more
    time on such objects than all the rest here takes.
    """

    __slots__ = ("_bytes", "_times")

    def __init__(self) -> None:
        self._times: list[float] = []
        self._bytes: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._times)

    def add(self, sample: Sample) -> None:
        """Every sample has the same number of adding replicas."""
        self._times.append(sample.at)
        self._bytes.append(sample.total)
        self._bytes.extend(sample.copied)
        while len(self._times) > 2 and sample.at - self._times[1] >= WINDOW_S:
            del self._times[0]
            del self._bytes[: 1 + len(sample.copied)]

    @property
    def first(self) -> Sample:
        width = len(self._bytes) // len(self._times)
        return Sample(self._times[0], self._bytes[0], tuple(self._bytes[1:width]))

    @property
    def last(self) -> Sample:
        width = len(self._bytes) // len(self._times)
        return Sample(self._times[-1], self._bytes[-width], tuple(self._bytes[len(self._bytes) - width + 1 :]))

    @property
    def rate(self) -> int:
        """How fast the copies grow together, bytes per second; -1: not known."""
        first, last = self.first, self.last
        seconds = last.at - first.at
        if seconds <= 0 or -1 in first.copied or -1 in last.copied:
            return -1
        return max(0, int((sum(last.copied) - sum(first.copied)) / seconds))

    @property
    def complete(self) -> bool:
        """Whether each copy has all that the leader has."""
        last = self.last
        return 0 <= last.total <= min(last.copied, default=-1)

    def alone(self) -> Iterator[float | None]:
        """Seconds that each copy still takes at the rate at which its own gap closes; None: its gap does not close.

        The leader's log grows too: so it is the gap that counts, not the size of the copy.
        """
        first, last = self.first, self.last
        for place in range(len(last.copied)):
            before, left = first.gap(place), last.gap(place)
            if left == 0:
                yield 0.0
            elif before is None or left is None or before <= left or last.at <= first.at:
                yield None
            else:
                yield left / (before - left) * (last.at - first.at)


class _Seen(NamedTuple):
    """Bytes by which gaps had closed at a time, and bytes that had been copied."""

    at: float
    closed: int
    copied: int


class _Limit(NamedTuple):
    """A broker's link: seconds until all of it is done (None: not known), whether it copies at its quota, and the
    seconds that its quota asks for at least (0: it has none; None: the quota is 0)."""

    seconds: float | None
    at_quota: bool
    least: float | None


class _Side:
    """All brokers as leaders, or all as receivers. A broker's window begins when it begins to copy."""

    def __init__(self, quota: str) -> None:
        self._quota = quota
        self._closed: Counter[int] = Counter()
        self._copied: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._seen: dict[int, deque[_Seen]] = {}
        self.limits: dict[int, _Limit] = {}

    def grown(self, broker: int, closed: int, copied: int) -> None:
        self._closed[broker] += closed
        self._copied[broker] += copied

    def lacks(self, broker: int, left: int) -> None:
        self._left[broker] += left

    def sampled(self, now: float, cluster: Cluster) -> None:
        busy, self._left = self._left, Counter()
        self._seen = {broker: self._seen.get(broker, deque()) for broker in busy}
        self.limits = {}
        for broker, left in busy.items():
            seen = self._seen[broker]
            seen.append(_Seen(now, self._closed[broker], self._copied[broker]))
            while len(seen) > 2 and now - seen[1].at >= WINDOW_S:
                seen.popleft()
            self.limits[broker] = self._limit(broker, left, seen[0], seen[-1], cluster)

    def _limit(self, broker: int, left: int, first: _Seen, last: _Seen, cluster: Cluster) -> _Limit:
        own = cluster.broker_configs.get(str(broker), {})
        quota = rate_of(self._quota, own, cluster.default_configs)
        least = 0.0 if quota is None else left / quota if quota else None
        seconds, closed, copied = last.at - first.at, last.closed - first.closed, last.copied - first.copied
        at_quota = quota is not None and copied > 0 and quota / AT_QUOTA <= copied / seconds <= quota * AT_QUOTA
        return _Limit(left / closed * seconds if closed > 0 else None, at_quota, least)


class SharedLinks:
    """What all moves together copy from each leader and to each receiver.

    Call `grown` and `lacks` for every adding replica of a sample, then `sampled`; then `seconds` answers.
    """

    def __init__(self) -> None:
        self._leaders = _Side(LEADER_RATE)
        self._receivers = _Side(FOLLOWER_RATE)

    def grown(self, leader: int, broker: int, closed: int, copied: int) -> None:
        """A replica of `broker` has got so many bytes; its gap has closed by so many, or widened (less than 0)."""
        self._leaders.grown(leader, closed, copied)
        self._receivers.grown(broker, closed, copied)

    def lacks(self, leader: int, broker: int, left: int) -> None:
        """A replica of `broker` lacks so many bytes (more than 0)."""
        self._leaders.lacks(leader, left)
        self._receivers.lacks(broker, left)

    def sampled(self, now: float, cluster: Cluster) -> None:
        """The sample at `now` (seconds) is complete."""
        self._leaders.sampled(now, cluster)
        self._receivers.sampled(now, cluster)

    def seconds(self, leader: int, broker: int) -> float | None:
        """Seconds by which all is copied that `leader` and `broker` have to do; None: not known."""
        out, into = self._leaders.limits.get(leader), self._receivers.limits.get(broker)
        if out is None or into is None:
            return None
        both = (out.seconds, into.seconds)
        if out.at_quota and not into.at_quota:
            both = (out.seconds, into.least)
        elif into.at_quota and not out.at_quota:
            both = (out.least, into.seconds)
        return None if both[0] is None or both[1] is None else max(both[0], both[1])
