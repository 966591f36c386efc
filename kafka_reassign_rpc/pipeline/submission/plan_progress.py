"""How far a plan is, and the time that is left (docs/pipeline.md). Pure. A move counts for its own bytes once brokers
have told them; the others of its batch share the rest of the batch's bytes. What has been shown as copied is never
taken back. Without a simulation the rate of bytes counts as constant.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.client import Progress
from kafka_reassign_rpc.client.text_format import amounts, bar, duration
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, TimelineFigures
from kafka_reassign_rpc.pipeline.submission.submit_settings import BAR_WIDTH
from kafka_reassign_rpc.support.counted import counted

WINDOW_S = 300.0
"""Seconds for the pace."""


def least_seconds(summary: PlanSummary, rate: Callable[[int, str], int]) -> float:
    """The bytes of the broker that needs longest, over its rate; 0.0 where the plan does not say what brokers copy.
    `rate`: bytes/s on a side of a broker, by the config's name.
    """
    longest = 0.0
    for one in () if summary.timeline is None else summary.timeline.brokers:
        for side, spans in ((FOLLOWER_RATE, one.received), (LEADER_RATE, one.sent)):
            if spans:
                longest = max(longest, sum(spans) / max(1, rate(one.broker, side)))
    return longest


def without_figures(summary: PlanSummary) -> PlanSummary:
    """For moves of which the plan does not say what they copy, and how long that takes."""
    return replace(summary, batches=[], expected_seconds=0.0, timeline=None)


class PlannedPace:
    def __init__(self, summary: PlanSummary) -> None:
        self.seconds = summary.expected_seconds or 1.0
        timeline = summary.timeline or TimelineFigures(0.0, [])
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


class Seen(NamedTuple):
    """A move that is in flight, or that has ended and is not `done` yet. `size`: bytes in all; None: not told."""

    batch: int
    copied: int
    size: int | None = None
    has_ended: bool = False


class _Sum:
    """Of one batch. `weight`: of a move without a size; `scale`: so that all moves together have the plan's bytes."""

    def __init__(self, moves: int, total: int, ended: int, ended_bytes: int, ended_unsized: int) -> None:
        self._moves, self._total = moves - ended, total
        self._sized = self._copied = ended_bytes
        self._ended_unsized = ended_unsized
        self._told = 0

    def add(self, one: Seen) -> None:
        if one.size is None:
            self._ended_unsized += one.has_ended
            self._told += 0 if one.has_ended else one.copied
            return
        self._moves -= 1
        self._sized += one.size
        self._copied += one.size if one.has_ended else min(one.copied, one.size)

    def copied(self) -> tuple[float, float]:
        """In all, and by a move that ended without a size."""
        weight = max(0, self._total - self._sized) / self._moves if self._moves > 0 else 0.0
        every = self._sized + max(0, self._moves) * weight
        scale = self._total / every if every else 0.0
        copied = min(every, self._copied + self._ended_unsized * weight + self._told)
        return copied * scale, weight * scale


@dataclass
class PlanProgress:
    """Count each move once: with `done`, or with `left_out`.

    least_seconds   the plan takes at least this with limits other than its own; 0: unknown. None: its own limits hold
    """

    summary: PlanSummary
    least_seconds: float | None = None
    _pace: PlannedPace = field(init=False)
    _done: Counter[int] = field(default_factory=Counter)
    """Moves by batch, as in the next two."""
    _earlier: Counter[int] = field(default_factory=Counter)
    _left_out: Counter[int] = field(default_factory=Counter)
    _ended_bytes: Counter[int] = field(default_factory=Counter)
    """Of the moves of `_done` whose size brokers have told; `_ended_sized`: how many."""
    _ended_sized: Counter[int] = field(default_factory=Counter)
    _most: int = 0
    """The bytes that have been shown as copied."""
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    """Times, and the bytes copied by then, without those of `_earlier`."""

    def __post_init__(self) -> None:
        self._pace = PlannedPace(self.summary)

    def done(self, batch: int, moves: int = 1, *, earlier: bool = False, size: int | None = None) -> None:
        """`earlier`: ended before submit looked, so not at its pace. `size`: of the one move, as far as it is known."""
        self._done[batch] += moves
        self._earlier[batch] += moves if earlier else 0
        if size is not None:
            self._ended_bytes[batch] += size
            self._ended_sized[batch] += 1

    def left_out(self, batch: int) -> None:
        self._left_out[batch] += 1

    @property
    def moves(self) -> int:
        """Without those left out; 0 if the summary does not say."""
        return sum(self._moves.values())

    @property
    def _moves(self) -> dict[int, int]:
        return {one.batch: one.moves - self._left_out[one.batch] for one in self.summary.batches}

    def progress(self, now: float, seen: Iterable[Seen] = ()) -> Progress:
        """The rate is None at first."""
        total = self.summary.bytes_of(self._moves)
        copied, earlier = self._copied(seen)
        self._most = done = min(max(copied, self._most), total)
        self._samples.append((now, done - earlier))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()
        since, before = self._samples[0]
        before += earlier
        rate = max(0, done - before) / (now - since) if now > since else None
        left = self._left(now - since, before, done, total) if total else None
        return Progress(done, total if self.summary.batches else None, rate, left)

    def _copied(self, seen: Iterable[Seen]) -> tuple[int, int]:
        """In all, and by moves that had ended earlier."""
        moves, sums = self._moves, dict[int, _Sum]()
        for one in self.summary.batches:
            number, sized = one.batch, self._ended_sized[one.batch]
            total = self.summary.bytes_of({number: moves[number]})
            unsized = self._done[number] - sized
            sums[number] = _Sum(moves[number], total, sized, self._ended_bytes[number], unsized)
        for move in seen:
            if move.batch in sums:
                sums[move.batch].add(move)
        copied = earlier = 0.0
        for number, found in sums.items():
            of_batch, of_one = found.copied()
            copied += of_batch
            earlier += of_one * self._earlier[number]
        return int(copied), int(earlier)

    def _left(self, seconds: float, before: int, done: int, total: int) -> float | None:
        """None: unknown."""
        at = self._pace.at(done / total)
        if done == total or not seconds:
            is_planned = done == total or self.least_seconds is None
            return self._pace.seconds - at if self.summary.expected_seconds and is_planned else None
        planned = at - self._pace.at(before / total)
        return (self._pace.seconds - at) * seconds / planned if planned > 0 else None

    def text(
        self,
        now: float,
        seen: Sequence[Seen] = (),
        *,
        waiting: int,
        stalled: int = 0,
    ) -> str:
        """`waiting`: moves that have not begun, or wait in the controller's queue."""
        found = self.progress(now, seen)
        ended = sum(one.has_ended for one in seen)
        moving, done = len(seen) - ended, self._done.total() + ended
        known = max(self.moves, done + moving + waiting)
        counts = f"{done} of {counted(known, 'move')}, {moving} moving, {known - done - moving} waiting"
        if stalled:
            counts += f", {stalled} stalled"
        share = found.share if found.total else done / max(1, known)
        sizes = f", {amounts(found)}" if found.total else ""
        return f"plan |{bar(share, BAR_WIDTH)}| {counts}{sizes}{self._in_all()}"

    def _in_all(self) -> str:
        if self.least_seconds is not None:
            return f"; at least {duration(self.least_seconds)} in all with these limits" if self.least_seconds else ""
        return f"; planned {duration(self.summary.expected_seconds)} in all" if self.summary.expected_seconds else ""
