"""Notes how fast moves copy, and figures of all moves for plots, whether anybody looks or not: one look costs
microseconds."""

import asyncio
import logging
import time
from collections.abc import Callable

from kafka_reassign_rpc.core.reassignment.figure_history import FigureHistory, Point
from kafka_reassign_rpc.status_page.copy_rates import CopyRateTracker
from kafka_reassign_rpc.status_page.server_view import TermView
from kafka_reassign_rpc.status_page.summary import totals_of

log = logging.getLogger(__name__)

RECORD_S = 5.0
"""How often figures are noted."""


class FigureKeeper:
    """look: what the controller knows now; None while this server is not the controller."""

    def __init__(self, look: Callable[[], TermView | None], history: FigureHistory) -> None:
        self._look = look
        self.history = history
        self.rates = CopyRateTracker()

    async def keep(self) -> None:
        """Note figures until it is cancelled."""
        while True:
            try:
                self.note(time.monotonic(), time.time_ns() // 1_000_000)
            except Exception:  # the next look may succeed
                log.exception("figures for plots cannot be noted")
            await asyncio.sleep(RECORD_S)

    def note(self, now: float, at: int) -> None:
        """Nothing while this server is not the controller. `now`: seconds of a monotonic clock; `at`: ms since 1970."""
        term = self._look()
        rate = self.rate(term)
        if term is None:
            return
        totals = totals_of(term, rate)
        self.history.record(
            now,
            Point(
                at=at,
                in_flight=totals.in_flight,
                waiting=sum(totals.waiting.values()),
                rate=totals.rate,
                bytes_left=totals.bytes_left,
                under_replicated=totals.under_replicated,
                offline=totals.offline,
            ),
        )

    def rate(self, term: TermView | None) -> int | None:
        """Bytes per second of all moves now; None: not known."""
        self.rates.observe(None if term is None else term.progress)
        return None if term is None else self.rates.of_all(moves=bool(term.cluster.moving))
