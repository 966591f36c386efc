"""Long work gives others their turn: it yields after each item, and the clock decides here whether it pauses. So `core`
may contain it. Work that has to wait yields what it waits for (`waited`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from functools import partial
from types import coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that never waits, and its result."""
Work = Generator[Awaitable[Any] | None, Any, T]
"""Work that may wait, and its result."""

TURN_S = 0.001
"""How long a task works before others run. Several kinds of work have a turn in each iteration of the event loop, and a
small request waits for all of them."""
SHORT_S = 0.0005
"""Work that is done within this leaves time for the next in the same turn of the loop."""

_clock = time.perf_counter


class Pace:
    """How long its task, or several that share it, has worked since others last ran."""

    def __init__(self) -> None:
        self._until = _clock() + TURN_S

    async def rest(self) -> None:
        until = self._until
        if _clock() > until:
            await asyncio.sleep(0)
            if self._until == until:  # else another task with this pace has its time now
                self._until = _clock() + TURN_S

    async def through(self, steps: Iterator[None]) -> None:
        """Others run between the steps when it is time to. The clock goes on from one call to the next: a round of many
        short commands is long work too.
        """
        for _ in steps:
            if _clock() > self._until:
                await self.rest()


def waited(awaitable: Awaitable[T]) -> Work[T]:
    result: T = yield awaitable
    return result


def begun(work: Work[T]) -> T | Coroutine[Any, Any, T]:
    """Returns the result of short work; of longer work, or work that waits, the rest."""
    try:
        waits = next(work)  # most work ends here, without a look at the clock
        if waits is None:
            waits = _some(work, work.__next__, SHORT_S)
    except StopIteration as end:
        result: T = end.value
        return result
    return in_turns(work, waits)


class Turn(asyncio.Lock):
    """The work that has it runs alone. It also measures what work took in this iteration of the event loop: many short
    pieces are long work too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._since: float | None = None
        """When the first work of this iteration of the loop began."""

    @property
    def is_over(self) -> bool:
        """Whether others have to run before there is more work."""
        return self._since is not None and _clock() - self._since > SHORT_S

    def begin(self) -> None:
        """Also when work goes on."""
        if self._since is None:
            self._since = _clock()
            asyncio.get_running_loop().call_soon(self._next_iteration)

    def _next_iteration(self) -> None:
        self._since = None


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turn] = WeakKeyDictionary()


async def in_turns(work: Work[T], waits: Awaitable[Any] | None = None, turn: Turn | None = None) -> T:
    """Runs work to its end, and returns its result. One at a time has the turn, for `TURN_S`; then other tasks run,
    then the next work of the same loop. So a hundred hold up the loop no longer than one: clients choose how many
    requests there are. With a `turn` of their own, other kinds of work do not queue among requests. `waits`: what the
    work waits for now.

    Work that has waited goes on for `SHORT_S` before it queues: most has only its answer to make. But hundreds may have
    waited for the same round, so they too queue when the turn is over.
    """
    if turn is None:
        loop = asyncio.get_running_loop()
        turn = _TURNS.get(loop)
        if turn is None:
            turn = _TURNS[loop] = Turn()
    try:
        while True:
            resume: Callable[[], Awaitable[Any] | None] = work.__next__
            if waits is not None:
                resume = await _resumption(work, waits)
                if not turn.is_over:
                    turn.begin()
                    waits = _some(work, resume, SHORT_S)
                    continue
            async with turn:
                if turn.is_over:
                    await asyncio.sleep(0)
                turn.begin()
                try:
                    waits = _some(work, resume, TURN_S)
                finally:
                    if turn.is_over:
                        await asyncio.sleep(0)  # the next one has its turn when others have run
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        work.close()


def _some(work: Work[Any], resume: Callable[[], Awaitable[Any] | None], seconds: float) -> Awaitable[Any] | None:
    """Goes on until work waits or the time is over. StopIteration is its end."""
    until = _clock() + seconds
    waits = resume()
    while waits is None and _clock() < until:
        waits = next(work)
    return waits


async def _resumption(work: Work[Any], waits: Awaitable[Any]) -> Callable[[], Awaitable[Any] | None]:
    """Waits; returns how the work goes on: with a result, or with an error."""
    try:
        return partial(work.send, await waits)
    except (Exception, asyncio.CancelledError) as error:
        return partial(work.throw, error)


class LoopTime:
    """For how long awaitables have kept the event loop."""

    def __init__(self, ns: int = 0) -> None:
        self.ns = ns

    @coroutine
    def of(self, awaitable: Awaitable[T]) -> Generator[Any, Any, T]:
        steps: Any = awaitable.__await__()
        step, given = steps.send, None
        while True:
            begun = time.perf_counter_ns()
            try:
                waits_for = step(given)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.ns += time.perf_counter_ns() - begun
            try:
                step, given = steps.send, (yield waits_for)
            except BaseException as error:  # a cancellation: it is for the awaitable
                step, given = steps.throw, error
