"""Background tasks and their end; and a message while something takes long."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


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
