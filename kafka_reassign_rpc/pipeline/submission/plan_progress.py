"""How far a plan is, in moves and bytes, and the time that is left. Pure: the caller tells the time.

A plan's summary says what each batch copies; a move counts for the mean of its batch. The time that is left is that of
the plan's own simulation from the same amount of bytes on, at the pace of the last minutes: as much slower or faster as
the plan has been carried out. So the end of a plan, where few brokers still copy, is not taken for as fast as its
beginning. Without a simulation bytes are taken to be copied at one rate. Where nothing was copied for the last minutes
the time is not known. Moves that are left out are none of the plan any more.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from kafka_reassign_rpc.client import Progress, ProgressSnapshot
from kafka_reassign_rpc.client.text_format import amounts, bar, duration
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanInfo, PlannedTimeline
from kafka_reassign_rpc.pipeline.submission.submit_settings import BAR_WIDTH

WINDOW_S = 300.0
"""The rate is that of the last so many seconds."""


class PlannedPace:
    """When the plan's simulation has copied how much."""

    def __init__(self, info: PlanInfo) -> None:
        self.seconds = info.expected_seconds or 1.0
        timeline = info.timeline or PlannedTimeline()
        spans = [sum(span) for span in zip(*(one.received for one in timeline.brokers), strict=False)]
        self._span_seconds = timeline.seconds
        self._copied = [0, *accumulate(spans)] if sum(spans) else []

    def at(self, share: float) -> float:
        """The seconds after which the simulation has copied this share of all bytes, from 0 to 1."""
        if not self._copied or share >= 1:
            return self.seconds * min(share, 1.0)
        wanted = share * self._copied[-1]
        span = max(1, bisect_left(self._copied, wanted))
        before, after = self._copied[span - 1 : span + 1]
        inside = (wanted - before) / (after - before) if after > before else 0.0
        return min(self.seconds, (span - 1 + inside) * self._span_seconds)


@dataclass
class PlanProgress:
    """The whole plan. Count each move once: with `done`, or with `left_out`."""

    info: PlanInfo
    _pace: PlannedPace = field(init=False)
    _done: Counter[int] = field(default_factory=Counter)
    """Moves by batch, as in the next two."""
    _earlier: Counter[int] = field(default_factory=Counter)
    _left_out: Counter[int] = field(default_factory=Counter)
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    """Times, and the bytes that had been copied by then, but for those of `_earlier`."""

    def __post_init__(self) -> None:
        self._pace = PlannedPace(self.info)

    def done(self, batch: int, moves: int = 1, *, earlier: bool = False) -> None:
        """So many moves of this batch have ended. earlier: before submit looked at them, so not at its pace."""
        self._done[batch] += moves
        self._earlier[batch] += moves if earlier else 0

    def left_out(self, batch: int) -> None:
        """A move of this batch will not be carried out."""
        self._left_out[batch] += 1

    @property
    def moves(self) -> int:
        """The moves of the plan but for those left out, where its summary says it; else 0."""
        return sum(self._moves.values())

    @property
    def _moves(self) -> dict[int, int]:
        """The same, by batch."""
        return {one.batch: one.moves - self._left_out[one.batch] for one in self.info.batches}

    def progress(self, now: float, copied: Iterable[int], ended: Iterable[int] = ()) -> Progress:
        """Bytes and time; the rate is None at first.

        copied    the bytes that each move in flight has copied
        ended     the batches of moves that have ended, and that `done` has not counted yet
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
        """Seconds until the end of the plan, which has copied the bytes `done`, and so many seconds ago `before`. None:
        not known."""
        at = self._pace.at(done / total)
        if done == total or not seconds:
            return self._pace.seconds - at if self.info.expected_seconds else None
        planned = at - self._pace.at(before / total)
        return (self._pace.seconds - at) * seconds / planned if planned > 0 else None

    def text(
        self, now: float, snapshot: ProgressSnapshot | None, moving: int, waiting: int, ended: Sequence[int] = ()
    ) -> str:
        """The line that submit shows.

        waiting    moves that submit has not begun, and those in the controller's queue
        ended      as for `progress`
        """
        flying = {} if snapshot is None else snapshot.moves
        found = self.progress(now, (one.done for one in flying.values()), ended)
        done = self._done.total() + len(ended)
        known = max(self.moves, done + moving + waiting)
        counts = f"{done} of {known} moves, {moving} moving, {known - done - moving} waiting"
        if snapshot is not None and snapshot.stalled:
            counts += f", {snapshot.stalled} stalled"
        planned = f"; planned {duration(self.info.expected_seconds)} in all" if self.info.expected_seconds else ""
        share = found.share if found.total else done / max(1, known)
        sizes = f", {amounts(found)}" if found.total else ""
        return f"plan |{bar(share, BAR_WIDTH)}| {counts}{sizes}{planned}"
