"""The rate of a move and its remaining time while it shares its brokers' links with others.

A replica's recent rate does not predict its future: a leader's quota serves some partitions and leaves others out for
half a minute. So the remaining time of a replica is the smaller of two:

alone    what it lacks, at the rate at which its own gap to the leader has closed
shared   what all moves of the link lack, at the rate at which all their gaps have closed: by then all are done

If only one side copies at its quota, or it uses clearly more of its quota than the other, its link is the narrow one,
and the other side needs at least the time of its own quota. Otherwise it is not known which, and the longer time
counts.

How fast moves copy to and from each broker, and the highest rate that was seen, of which a throttle of self-healing
may be a share (`core.healing.repair_targets`).

That is how fast all moves together grow on a broker between two samples. A sample counts if it measures the network
link: the broker copied during the whole interval (one of its moves was incomplete at the end), answered in time, and
had no throttle. The highest such rate counts for all brokers, until another controller is elected.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of
from kafka_reassign_rpc.support.slices import forget_others

WINDOW_S = 15.0
"""Rates cover this many seconds, and at least two samples."""
AT_QUOTA = 2.0
"""A broker is at its quota if it copies at least the quota divided by this.

Above the quota times this, the quota does not concern its moves.
"""
CLEARLY = 1.25
"""A side is the narrow one if it uses its quota this many times as much as the other side: with less, the longer time
is wrong by no more than that.
"""


class Sample(NamedTuple):
    """Bytes since the first sample.

    produced  by how much the leader's log has grown
    arrived   by how much each adding replica has, in their order; None: it does not report it
    """

    at: float
    produced: int
    arrived: tuple[int | None, ...]


def arrived_between(first: Sample, last: Sample, place: int) -> int | None:
    """At one replica; None: unknown."""
    before, now = first.arrived[place], last.arrived[place]
    return None if before is None or now is None else now - before


class Samples:
    """The samples of the last `WINDOW_S`, at least two.

    Two lists hold them: objects for a hundred thousand moves would cost the garbage collector more time than all the
    rest.
    """

    __slots__ = ("_bytes", "_times")

    def __init__(self) -> None:
        self._times: list[float] = []
        self._bytes: list[int | None] = []

    def __bool__(self) -> bool:
        return bool(self._times)

    def add(self, sample: Sample) -> None:
        """Every sample has as many adding replicas."""
        self._times.append(sample.at)
        self._bytes.append(sample.produced)
        self._bytes.extend(sample.arrived)
        while len(self._times) > 2 and (sample.at - self._times[1] >= WINDOW_S or not self._begins_known()):
            del self._times[0]
            del self._bytes[: 1 + len(sample.arrived)]

    def _begins_known(self) -> bool:
        """After a broker's silence, only samples since its return are compared."""
        return None not in self.first.arrived

    @property
    def first(self) -> Sample:
        width = len(self._bytes) // len(self._times)
        return Sample(self._times[0], self._bytes[0] or 0, tuple(self._bytes[1:width]))

    @property
    def last(self) -> Sample:
        width = len(self._bytes) // len(self._times)
        return Sample(self._times[-1], self._bytes[-width] or 0, tuple(self._bytes[len(self._bytes) - width + 1 :]))

    @property
    def rate(self) -> int | None:
        """Bytes per second that arrive at all copies together; None: unknown."""
        first, last = self.first, self.last
        seconds = last.at - first.at
        arrived = [arrived_between(first, last, place) for place in range(len(last.arrived))]
        known = [one for one in arrived if one is not None]
        return int(sum(known) / seconds) if seconds > 0 and len(known) == len(arrived) else None

    def alone(self, left: Iterable[int]) -> Iterator[float | None]:
        """Seconds that each copy still takes for what it lacks, None: its gap does not close. The leader's log grows
        too.
        """
        first, last = self.first, self.last
        for place, lacks in enumerate(left):
            arrived, produced = arrived_between(first, last, place), last.produced - first.produced
            if lacks == 0:
                yield 0.0
            elif arrived is None or arrived <= produced:
                yield None
            else:
                yield lacks / (arrived - produced) * (last.at - first.at)


class _Seen(NamedTuple):
    at: float
    closed: int
    copied: int


class _Limit(NamedTuple):
    """A broker's link: seconds until it is done (None: unknown), and the least seconds that its quota allows (0 without
    a quota, None if that is 0). `use`: the part of its quota that it copies, 0 if it is not at its quota. `rate`: of
    all copies together, bytes/s.
    """

    seconds: float | None
    use: float
    least: float | None
    rate: float


class _Side:
    """All brokers as leaders, or all as receivers. A broker's window begins when it begins to copy."""

    def __init__(self, quota: str) -> None:
        self._quota = quota
        self._closed: Counter[int] = Counter()
        self._copied: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()
        self._seen: dict[int, deque[_Seen]] = {}
        self.limits: dict[int, _Limit] = {}
        self.all_done_s: float | None = None
        """Seconds until what waits is copied, too; None: not known."""

    @property
    def use(self) -> float:
        """The least of all that copy."""
        return min((one.use for one in self.limits.values()), default=0.0)

    def grown(self, broker: int, closed: int, copied: int) -> None:
        self._closed[broker] += closed
        self._copied[broker] += copied

    def lacks(self, broker: int, left: int) -> None:
        self._left[broker] += left

    def waits(self, broker: int, size: int) -> None:
        self._waiting[broker] += size

    def sampled(self, now: float, cluster: Cluster) -> None:
        busy, self._left = self._left, Counter()
        waiting, self._waiting = self._waiting, Counter()
        self._seen = {broker: self._seen.get(broker, deque()) for broker in busy}
        for counted in (self._closed, self._copied):
            forget_others(counted, busy)
        self.limits = {}
        for broker, left in busy.items():
            seen = self._seen[broker]
            seen.append(_Seen(now, self._closed[broker], self._copied[broker]))
            while len(seen) > 2 and now - seen[1].at >= WINDOW_S:
                seen.popleft()
            self.limits[broker] = self._limit(broker, left, seen[0], seen[-1], cluster)
        self.all_done_s = self._all_done_s(busy, waiting)

    def _all_done_s(self, left: Counter[int], waiting: Counter[int]) -> float | None:
        """Each broker goes on at its present rate, since caps let moves in as others end; brokers that copy nothing yet
        share the present rate of all.
        """
        rates = {broker: left[broker] / one.seconds for broker, one in self.limits.items() if one.seconds}
        together = sum(rates.values())
        if together <= 0:
            return None
        every = left + waiting
        longest = max(every[broker] / rate for broker, rate in rates.items())
        return longest if rates.keys() >= every.keys() else max(longest, every.total() / together)

    def _limit(self, broker: int, left: int, first: _Seen, last: _Seen, cluster: Cluster) -> _Limit:
        own = cluster.broker_configs.get(str(broker), {})
        quota = rate_of(self._quota, own, cluster.default_configs)
        least = 0.0 if quota is None else left / quota if quota else None
        seconds, closed, copied = last.at - first.at, last.closed - first.closed, last.copied - first.copied
        rate = copied / seconds if seconds > 0 else 0.0
        use = rate / quota if quota else 0.0
        at_quota = 1 / AT_QUOTA <= use <= AT_QUOTA
        return _Limit(left / closed * seconds if closed > 0 else None, use if at_quota else 0.0, least, rate)


def _is_narrow(use: float, other: float) -> bool:
    return use > 0 and use >= CLEARLY * other


class SharedLinks:
    """For each sample: `grown` and `lacks` for every adding replica, `waits` for those of waiting moves, then
    `sampled`.
    """

    def __init__(self) -> None:
        self._leaders = _Side(LEADER_RATE)
        self._receivers = _Side(FOLLOWER_RATE)

    def grown(self, leader: int, broker: int, closed: int, copied: int) -> None:
        """`broker` got `copied` bytes of a replica; its gap closed by `closed`, negative if it widened."""
        self._leaders.grown(leader, closed, copied)
        self._receivers.grown(broker, closed, copied)

    def lacks(self, leader: int, broker: int, left: int) -> None:
        self._leaders.lacks(leader, left)
        self._receivers.lacks(broker, left)

    def waits(self, leader: int, broker: int, size: int) -> None:
        """`size`: more than 0."""
        self._leaders.waits(leader, size)
        self._receivers.waits(broker, size)

    @property
    def all_done_s(self) -> float | None:
        """Of all moves, also waiting ones; None: unknown."""
        out, into = self._leaders, self._receivers
        if _is_narrow(out.use, into.use):
            return out.all_done_s
        if _is_narrow(into.use, out.use):
            return into.all_done_s
        both = (out.all_done_s, into.all_done_s)
        return None if both[0] is None or both[1] is None else max(both[0], both[1])

    def rates(self, leader: int, broker: int) -> tuple[float, float]:
        """Bytes/s of all moves together from this leader, and to this receiver."""
        out, into = self._leaders.limits.get(leader), self._receivers.limits.get(broker)
        return (0.0 if out is None else out.rate), (0.0 if into is None else into.rate)

    def sampled(self, now: float, cluster: Cluster) -> None:
        self._leaders.sampled(now, cluster)
        self._receivers.sampled(now, cluster)

    def seconds(self, leader: int, broker: int) -> float | None:
        """Until all copying from `leader` and to `broker` is done, None: unknown."""
        out, into = self._leaders.limits.get(leader), self._receivers.limits.get(broker)
        if out is None or into is None:
            return None
        both = (out.seconds, into.seconds)
        if _is_narrow(out.use, into.use):
            both = (out.seconds, into.least)
        elif _is_narrow(into.use, out.use):
            both = (out.least, into.seconds)
        return None if both[0] is None or both[1] is None else max(both[0], both[1])


class _Copied(NamedTuple):
    at: float
    into: Mapping[int, int]
    out_of: Mapping[int, int]


class CopyRates:
    """Rates cover at least `WINDOW_S`."""

    def __init__(self) -> None:
        self._seen: deque[_Copied] = deque()
        self._silent: Collection[int] = ()
        self._is_dark = False

    def sampled(
        self,
        now: float,
        into: Mapping[int, int],
        out_of: Mapping[int, int],
        silent: Collection[int] = (),
        *,
        is_dark: bool = False,
    ) -> None:
        """`into`, `out_of`: all bytes that moves have copied so far. `silent`: brokers that receive, and have not said
        how much. `is_dark`: no other broker receives.
        """
        self._silent, self._is_dark = silent, is_dark
        self._seen.append(_Copied(now, dict(into), dict(out_of)))
        while len(self._seen) > 2 and now - self._seen[1].at >= WINDOW_S:
            self._seen.popleft()

    def of(self, broker: int, *, moves: bool) -> tuple[int | None, int | None]:
        """Bytes per second to this broker and from it, None: unknown. `moves`: whether anything moves at all."""
        if moves and self._is_dark:
            return None, None
        into = None
        if not moves or broker not in self._silent:
            into = self._rate(lambda copied: copied.into.get(broker, 0), moves=moves)
        return into, self._rate(lambda copied: copied.out_of.get(broker, 0), moves=moves)

    def of_all(self, *, moves: bool) -> int | None:
        """Bytes per second, as far as brokers say; None: unknown."""
        if moves and self._is_dark:
            return None
        there = self._seen[-1].into if self._seen else {}
        return self._rate(lambda copied: sum(copied.into.get(one, 0) for one in there), moves=moves)

    def _rate(self, bytes_of: Callable[[_Copied], int], *, moves: bool) -> int | None:
        if not moves:
            return 0
        seconds = self._seen[-1].at - self._seen[0].at if self._seen else 0.0
        if seconds <= 0:
            return None
        return max(0, int((bytes_of(self._seen[-1]) - bytes_of(self._seen[0])) / seconds))


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
