"""Parts that start in order, and stop in the reverse one."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, Self

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
