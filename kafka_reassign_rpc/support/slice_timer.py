"""Lets the event loop run other tasks between the slices of long work, whenever a few milliseconds are over."""

import asyncio
import time
from collections.abc import Generator, Iterator
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

YIELD_AFTER_S = 0.002
"""How long a task works before others run: about as long as the loop needs for what 64 clients have sent meanwhile."""


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


SHORT_S = 0.0005
"""Work that is done within this leaves time for the next in the same turn of the loop."""

_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def in_turns(steps: Generator[None, None, T]) -> T:
    """Run a generator to its end, as all others that are run by this function on the same event loop: one at a time has
    the turn, for `YIELD_AFTER_S`, then other tasks run and the next has it. So a hundred of them hold up the loop no
    longer than one. Returns what the generator returns.

    For the work of requests: clients choose how many there are. Steps must be short, and `steps` must not wait.
    """
    loop = asyncio.get_running_loop()
    turn = _TURNS.get(loop)
    if turn is None:
        turn = _TURNS[loop] = asyncio.Lock()
    while True:
        async with turn:
            since = time.perf_counter()
            done, result = _one_turn(steps, since + YIELD_AFTER_S)
            if not done or time.perf_counter() - since > SHORT_S:
                await asyncio.sleep(0)  # the next one has its turn when others have run
        if done:
            return result  # type: ignore[return-value]


def _one_turn(steps: Generator[None, None, T], until: float) -> tuple[bool, T | None]:
    """At least one step, and more until that time: whether the work is done, and its result."""
    try:
        next(steps)
        while time.perf_counter() < until:
            next(steps)
    except StopIteration as end:
        return True, end.value
    return False, None
