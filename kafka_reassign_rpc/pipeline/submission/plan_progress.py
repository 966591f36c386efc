"""How far a plan is, and the time that is left (docs/pipeline.md). Pure. A move counts for the mean bytes of its
batch. Without a simulation the rate of bytes counts as constant.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from kafka_reassign_rpc.client import Progress, ProgressSnapshot
from kafka_reassign_rpc.client.text_format import amounts, bar, duration
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanInfo, PlannedTimeline
from kafka_reassign_rpc.pipeline.submission.submit_settings import BAR_WIDTH
from kafka_reassign_rpc.support.counted import counted

WINDOW_S = 300.0
"""Seconds for the pace."""


def least_seconds(info: PlanInfo, rate: Callable[[int, str], int]) -> float:
    """The bytes of the broker that needs longest, over its rate; 0.0 where the plan does not say what brokers copy.
    `rate`: bytes/s on a side of a broker, by the config's name.
    """
    longest = 0.0
    for one in (info.timeline or PlannedTimeline()).brokers:
        for side, spans in ((FOLLOWER_RATE, one.received), (LEADER_RATE, one.sent)):
            if one.broker is not None and spans:
                longest = max(longest, sum(spans) / max(1, rate(one.broker, side)))
    return longest


class PlannedPace:
    def __init__(self, info: PlanInfo) -> None:
        self.seconds = info.expected_seconds or 1.0
        timeline = info.timeline or PlannedTimeline()
        spans = [sum(span) for span in zip(*(one.received for one in timeline.brokers), strict=False)]
        self._span_seconds = timeline.seconds
        self._copied = [0, *accumulate(spans)] if sum(spans) else []

    def at(self, share: float) -> float:
        """Seconds after which the simulation has copied this share (0 to 1) of all bytes."""
        if not self._copied or share >= 1:
            return self.seconds * min(share, 1.0)
        wanted = share * self._copied[-1]
        span = max(1, bisect_left(self._copied, wanted))
        before, after = self._copied[span - 1 : span + 1]
        inside = (wanted - before) / (after - before) if after > before else 0.0
        return min(self.seconds, (span - 1 + inside) * self._span_seconds)


@dataclass
class PlanProgress:
    """Count each move once: with `done`, or with `left_out`.

    least_seconds   the plan takes at least this with limits other than its own; 0: unknown. None: its own limits hold
    """

    info: PlanInfo
    least_seconds: float | None = None
    _pace: PlannedPace = field(init=False)
    _done: Counter[int] = field(default_factory=Counter)
    """Moves by batch, as in the next two."""
    _earlier: Counter[int] = field(default_factory=Counter)
    _left_out: Counter[int] = field(default_factory=Counter)
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    """Times, and the bytes copied by then, without those of `_earlier`."""

    def __post_init__(self) -> None:
        self._pace = PlannedPace(self.info)

    def done(self, batch: int, moves: int = 1, *, earlier: bool = False) -> None:
        """`earlier`: ended before submit looked, so not at its pace."""
        self._done[batch] += moves
        self._earlier[batch] += moves if earlier else 0

    def left_out(self, batch: int) -> None:
        self._left_out[batch] += 1

    @property
    def moves(self) -> int:
        """Without those left out; 0 if the summary does not say."""
        return sum(self._moves.values())

    @property
    def _moves(self) -> dict[int, int]:
        return {one.batch: one.moves - self._left_out[one.batch] for one in self.info.batches}

    def progress(self, now: float, copied: Iterable[int], ended: Iterable[int] = ()) -> Progress:
        """The rate is None at first. `copied`: bytes of each move in flight; `ended`: batches of moves that `done`
        does not count yet.
        """
        total, earlier = self.info.bytes_of(self._moves), self.info.bytes_of(self._earlier)
        done = min(self.info.bytes_of(self._done + Counter(ended)) + sum(copied), total)
        self._samples.append((now, done - earlier))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()
        since, before = self._samples[0]
        before += earlier
        rate = max(0, done - before) / (now - since) if now > since else None
        left = self._left(now - since, before, done, total) if total else None
        return Progress(done, total if self.info.batches else None, rate, left)

    def _left(self, seconds: float, before: int, done: int, total: int) -> float | None:
        """None: unknown."""
        at = self._pace.at(done / total)
        if done == total or not seconds:
            is_planned = done == total or self.least_seconds is None
            return self._pace.seconds - at if self.info.expected_seconds and is_planned else None
        planned = at - self._pace.at(before / total)
        return (self._pace.seconds - at) * seconds / planned if planned > 0 else None

    def text(
        self, now: float, snapshot: ProgressSnapshot | None, moving: int, waiting: int, ended: Sequence[int] = ()
    ) -> str:
        """`waiting`: moves that have not begun, or wait in the controller's queue."""
        flying = {} if snapshot is None else snapshot.moves
        found = self.progress(now, (one.done or 0 for one in flying.values()), ended)
        done = self._done.total() + len(ended)
        known = max(self.moves, done + moving + waiting)
        counts = f"{done} of {counted(known, 'move')}, {moving} moving, {known - done - moving} waiting"
        if snapshot is not None and snapshot.stalled:
            counts += f", {snapshot.stalled} stalled"
        share = found.share if found.total else done / max(1, known)
        sizes = f", {amounts(found)}" if found.total else ""
        return f"plan |{bar(share, BAR_WIDTH)}| {counts}{sizes}{self._in_all()}"

    def _in_all(self) -> str:
        if self.least_seconds is not None:
            return f"; at least {duration(self.least_seconds)} in all with these limits" if self.least_seconds else ""
        return f"; planned {duration(self.info.expected_seconds)} in all" if self.info.expected_seconds else ""
