"""Lets the event loop run other tasks between the slices of long work, whenever a few milliseconds are over."""

import asyncio
import time
from collections.abc import Iterator

YIELD_AFTER_S = 0.005
"""How long a task works before others run: well under the 20 ms for which a task may hold the loop."""


class SliceTimer:
    """Measures how long its task has worked since other tasks last ran."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether `rest` would yield. Where steps are short, asking costs less than resting."""
        return time.perf_counter() - self._since > YIELD_AFTER_S

    async def rest(self) -> None:
        """Let others run if it is time to."""
        if self.is_due:
            await asyncio.sleep(0)
            self._since = time.perf_counter()

    async def through(self, steps: Iterator[None]) -> None:
        """Run a generator to its end; let others run between its steps when it is time to.

        The clock goes on from one call to the next: a round of many short commands is long work too.
        """
        for _ in steps:
            if self.is_due:
                await self.rest()
