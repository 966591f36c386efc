"""How far a plan is, in moves and bytes, and the time that is left. Pure: the caller tells the time.

A plan's summary says what each batch copies; a move counts for the mean of its batch. The time that is left is that of
the plan's own simulation from the same amount of bytes on, at the pace of the last minutes: as much slower or faster as
the plan has been carried out. So the end of a plan, where few brokers still copy, is not taken for as fast as its
beginning. Without a simulation bytes are taken to be copied at one rate.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
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
    """The whole plan. Count each move once: with `done`."""

    info: PlanInfo
    moves_done: int = 0
    bytes_done: float = 0.0
    _pace: PlannedPace = field(init=False)
    _samples: deque[tuple[float, float]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._pace = PlannedPace(self.info)

    def done(self, batch: int, moves: int = 1) -> None:
        """So many moves of this batch have ended; -1: one that seemed to has not."""
        self.moves_done += moves
        self.bytes_done += moves * self.info.bytes_of_a_move(batch)

    @property
    def moves(self) -> int:
        """All moves of the plan, where its summary says it; else 0."""
        return sum(one.moves for one in self.info.batches)

    def progress(self, now: float, copied: Iterable[int]) -> Progress:
        """Bytes and time. copied: the bytes that each move in flight has copied. The rate is None at first."""
        total = sum(one.bytes for one in self.info.batches)
        done = min(self.bytes_done + sum(copied), float(total))
        self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()
        since, before = self._samples[0]
        rate = max(0.0, done - before) / (now - since) if now > since else None
        return Progress(int(done), total if self.info.batches else None, rate, self._left(now, done, total))

    def _left(self, now: float, done: float, total: int) -> float | None:
        """Seconds until the end of the plan; None: not known."""
        if not total:
            return None
        since, before = self._samples[0]
        at = self._pace.at(done / total)
        planned = at - self._pace.at(before / total)
        if done > before and planned > 0:
            return (self._pace.seconds - at) * (now - since) / planned
        return self._pace.seconds - at if self.info.expected_seconds else None

    def text(self, now: float, snapshot: ProgressSnapshot | None, moving: int, waiting: int, ended: int = 0) -> str:
        """The line that submit shows.

        waiting    moves that submit has not begun, and those in the controller's queue
        ended      moves that have ended, and that `done` has not counted yet
        """
        flying = {} if snapshot is None else snapshot.moves
        found = self.progress(now, (one.done for one in flying.values()))
        done = self.moves_done + ended
        known = max(self.moves, done + moving + waiting)
        counts = f"{done} of {known} moves, {moving} moving, {known - done - moving} waiting"
        if snapshot is not None and snapshot.stalled:
            counts += f", {snapshot.stalled} stalled"
        planned = f"; planned {duration(self.info.expected_seconds)} in all" if self.info.expected_seconds else ""
        share = found.share if self.info.batches else done / max(1, known)
        sizes = f", {amounts(found)}" if self.info.batches else ""
        return f"plan |{bar(share, BAR_WIDTH)}| {counts}{sizes}{planned}"
