"""Past figures of all moves together, for plots: a bounded number, in memory."""

from collections import deque
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta


class Point(msgspec.Struct, frozen=True):
    """One point of the plots."""

    at: int
    in_flight: int
    waiting: Annotated[int | None, Meta(description="null on `watch`")]
    rate: int | None
    bytes_left: Annotated[int | None, Meta(description="of all the work, moves that wait included")]
    under_replicated: int | None
    offline: int | None


class Span(NamedTuple):
    step_s: float
    points: int


SPANS = {"hour": Span(10.0, 360), "day": Span(300.0, 288)}


class PastFigures(NamedTuple):
    """The points of one span, the oldest first, while this server was the controller.

    at       now, ms since 1970
    step_ms  from one point to the next
    span_ms  the whole span, even if points are missing
    """

    at: int
    step_ms: int
    span_ms: int
    points: Sequence[Point]


class FigureHistory:
    """`now`: seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[float, Point]]] = {
            name: deque(maxlen=span.points) for name, span in SPANS.items()
        }

    def record(self, now: float, point: Point) -> None:
        for name, span in SPANS.items():
            kept = self._kept[name]
            if not kept or now - kept[-1][0] >= span.step_s:
                kept.append((now, point))

    def past(self, name: str, now: float, at: int) -> PastFigures:
        """`name`: a key of `SPANS`; `at`: `now` in ms since 1970."""
        points = [
            msgspec.structs.replace(point, at=at - round((now - then) * 1000)) for then, point in self._kept[name]
        ]
        step_ms = round(SPANS[name].step_s * 1000)
        return PastFigures(at, step_ms, step_ms * SPANS[name].points, points)
