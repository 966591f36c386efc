"""Figures of all moves together in the past, for plots: a bounded number, kept in memory.

The times of the points are reckoned back from now by a clock that never jumps.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec


class Point(msgspec.Struct, frozen=True):
    """One point of the plots."""

    at: int
    in_flight: int
    waiting: int
    rate: int | None
    bytes_left: int | None
    under_replicated: int | None
    offline: int | None


class Span(NamedTuple):
    """So many points, this many seconds apart."""

    step_s: float
    points: int


SPANS = {"hour": Span(10.0, 360), "day": Span(300.0, 288)}


class PastFigures(NamedTuple):
    """The points of one span, the oldest first: only of times at which this server was the controller.

    at       now, ms since 1970
    step_ms  from one point to the next
    span_ms  the time that the span stands for, whether or not there are points of all of it
    """

    at: int
    step_ms: int
    span_ms: int
    points: Sequence[Point]


class FigureHistory:
    """`record` is called every few seconds, `now` in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[float, Point]]] = {
            name: deque(maxlen=span.points) for name, span in SPANS.items()
        }

    def record(self, now: float, point: Point) -> None:
        """Keep the point in each span in which one is due."""
        for name, span in SPANS.items():
            kept = self._kept[name]
            if not kept or now - kept[-1][0] >= span.step_s:
                kept.append((now, point))

    def past(self, name: str, now: float, at: int) -> PastFigures:
        """`name`: a key of `SPANS`. `at`: `now` in ms since 1970."""
        points = [
            msgspec.structs.replace(point, at=at - round((now - then) * 1000)) for then, point in self._kept[name]
        ]
        step_ms = round(SPANS[name].step_s * 1000)
        return PastFigures(at, step_ms, step_ms * SPANS[name].points, points)
