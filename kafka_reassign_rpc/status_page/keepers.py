"""What is noted whether anybody looks or not: figures of all moves for plots; the last status in which the moves were
known, for the time in which they are not. A look at figures costs microseconds.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory, Point
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.summary import newer, totals_of, work_of
from kafka_reassign_rpc.core.status.views import TermView

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


EVERY_S = 5.0


class StatusKeeper:
    """status: the status of this server, in full. ask: that of the controller; None where it does not answer."""

    def __init__(self, status: Callable[[], Status], ask: Callable[[], Awaitable[Status | None]]) -> None:
        self._status = status
        self._ask = ask
        self.last: Status | None = None

    async def keep(self) -> None:
        while True:
            try:
                await self.refresh()
            except Exception:  # the next look may succeed
                log.exception("a defect: the last known state on the status page is older than it could be")
            await asyncio.sleep(EVERY_S)

    async def refresh(self) -> None:
        status = self._status()
        self.last = newer(self.last, await self._ask() if status.role == "standby" else status)
