"""Requests that come while no server leads wait a while, instead of being told to look for a controller: a client that
knows the brokers would take one of them for it, and go on there.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

HELD_S = 10.0
"""A take-over is over by then, with the usual lead time; clients wait longer."""
MOST_HELD = 200
"""More than that get their answer, NOT_CONTROLLER, at once."""


class HeldRequests:
    """`is_led`: whether a server leads, or none will while this process runs. `news` is called when that may have
    changed.
    """

    def __init__(self, is_led: Callable[[], bool], seconds: float = HELD_S, most: int = MOST_HELD) -> None:
        self._is_led = is_led
        self._seconds = seconds
        self._most = most
        self._count = 0
        self._news = asyncio.Event()

    def news(self) -> None:
        if self._count:
            self._news.set()
            self._news = asyncio.Event()

    async def led(self) -> None:
        if self._is_led() or self._count >= self._most:
            return
        self._count += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    while not self._is_led():
                        await self._news.wait()
        finally:
            self._count -= 1
