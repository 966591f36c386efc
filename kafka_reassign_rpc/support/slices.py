"""Long work in slices, so that nobody waits for the event loop."""

import asyncio
import time
from collections.abc import Iterator

YIELD_AFTER_S = 0.005
"""How long to work before letting others run: well under the 20 ms that nobody may hold the loop."""


class SliceTimer:
    """Lets the event loop run whenever this task has worked for a while."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether `rest` would yield. Where steps are short, asking costs less than resting."""
        return time.perf_counter() - self._since > YIELD_AFTER_S

    async def rest(self) -> None:
        """Yield if it is time to."""
        if self.is_due:
            await asyncio.sleep(0)
            self._since = time.perf_counter()

    async def through(self, steps: Iterator[None]) -> None:
        """Run a generator to its end, yielding between its steps when it is time to.

        The clock goes on from one call to the next: a round of many short commands is long work too.
        """
        for _ in steps:
            if self.is_due:
                await self.rest()
