"""`/api/v1/history`: figures of the past, for plots.

The server keeps them in memory, a bounded number, whether anybody looks or not: one point costs microseconds. The times
of the points are reckoned back from now by a clock that never jumps.
"""

from collections import deque
from typing import NamedTuple

from kafka_reassign_rpc.status_page.documents import History, Point, Status


class Span(NamedTuple):
    """So many points, this many seconds apart."""

    step_s: float
    points: int


SPANS = {"hour": Span(10.0, 360), "day": Span(300.0, 288)}


class FigureHistory:
    """`record` is called every few seconds with `now` in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[float, Point]]] = {
            name: deque(maxlen=span.points) for name, span in SPANS.items()
        }

    def record(self, now: float, status: Status) -> None:
        """Keep a point of each span that is due. Nothing while this server is not the controller."""
        totals = status.totals
        if totals is None:
            return
        point = Point(
            at=status.at,
            in_flight=totals.in_flight,
            waiting=sum(totals.waiting.values()),
            rate=totals.rate,
            bytes_left=totals.bytes_left,
            under_replicated=totals.under_replicated,
            offline=totals.offline,
        )
        for name, span in SPANS.items():
            kept = self._kept[name]
            if not kept or now - kept[-1][0] >= span.step_s:
                kept.append((now, point))

    def document(self, span: str, now: float, at: int) -> History:
        """`span`: a key of `SPANS`. `at`: `now` in ms since 1970."""
        points = [
            Point(
                at - round((now - then) * 1000),
                one.in_flight,
                one.waiting,
                one.rate,
                one.bytes_left,
                one.under_replicated,
                one.offline,
            )
            for then, one in self._kept[span]
        ]
        return History(at, round(SPANS[span].step_s * 1000), points)
