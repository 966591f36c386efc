"""Notes figures of all moves for plots, whether anybody looks or not: one look costs microseconds."""

import asyncio
import logging
import time
from collections.abc import Callable

from kafka_reassign_rpc.core.reassignment.figure_history import FigureHistory, Point
from kafka_reassign_rpc.core.status.summary import totals_of
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.core.status.work import work_of

log = logging.getLogger(__name__)

RECORD_S = 5.0
"""How often figures are noted."""


class FigureKeeper:
    """term: what the controller knows now; None while this server is not the controller."""

    def __init__(self, term: Callable[[], TermView | None], history: FigureHistory) -> None:
        self._term = term
        self.history = history

    async def keep(self) -> None:
        while True:
            try:
                self.record(time.monotonic(), time.time_ns() // 1_000_000)
            except Exception:  # the next look may succeed
                log.exception("a defect: the plots of the status page lack this point")
            await asyncio.sleep(RECORD_S)

    def record(self, now: float, at: int) -> None:
        """Nothing while this server is not the controller. `now`: seconds of a monotonic clock; `at`: ms since 1970."""
        term = self._term()
        if term is None:
            return
        totals = totals_of(term)
        work = work_of(term, totals)
        self.history.record(
            now,
            Point(
                at=at,
                in_flight=totals.in_flight,
                waiting=None if totals.waiting is None else sum(totals.waiting.values()),
                rate=totals.rate,
                bytes_left=work.bytes_left,
                under_replicated=totals.under_replicated,
                offline=totals.offline,
            ),
        )
