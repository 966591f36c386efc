"""Background tasks and their end; parts that start in order, and stop in the reverse one; and a message while something
takes long.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Any, NamedTuple, Self


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits until they are over. Raises the exception with which one failed before.

    A caller that suppressed a task's CancelledError would suppress its own too.
    """
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


class Background:
    """Runs tasks from `start` to `close`. `works`: the name of each, and what makes it."""

    def __init__(self, works: Sequence[tuple[str, Callable[[], Coroutine[Any, Any, None]]]]) -> None:
        self._works = works
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(work(), name=name) for name, work in self._works]

    async def close(self) -> None:
        """Raises the error with which one failed before."""
        await end(*self._tasks)


@contextmanager
def word_if_slow(say: Callable[[str], None], text: str, seconds: float = 3.0) -> Iterator[None]:
    """Calls `say(text)` once, on a thread, if the block takes longer."""
    timer = threading.Timer(seconds, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


log = logging.getLogger(__name__)


async def nothing() -> None:
    """The start of a part that has begun before, or its stop."""


class Part(NamedTuple):
    """`stop` also follows a `start` that has failed or was cancelled."""

    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]] = nothing


class HasParts:
    """`async with` starts its parts, and stops them at the end."""

    _parts: "Parts"

    async def __aenter__(self) -> Self:
        await self._parts.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._parts.stop()


class Parts:
    """One that cannot stop does not keep others from stopping."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._started = AsyncExitStack()

    async def start(self) -> None:
        """If one fails, it and those before it stop, and its error is raised."""
        try:
            for part in self._parts:
                self._started.push_async_callback(part.stop)
                await part.start()
        except BaseException:
            try:
                await self.stop()
            except Exception:
                log.exception(
                    "a part that had started did not stop, so it may hold a socket or a file until the process ends"
                )
            raise

    async def stop(self) -> None:
        """Raises a part's error after all have stopped."""
        await self._started.aclose()
