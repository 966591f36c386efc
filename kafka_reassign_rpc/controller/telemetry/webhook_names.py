"""Looks up the names of receivers in threads of its own.

A name server that hangs takes half a minute to fail: in the threads of the whole process it would hold up everything
else, just when an operator has to be notified of it. No thread here outlives the process, or holds up its end.
"""

import asyncio
import socket
from contextlib import suppress
from threading import Thread
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

THREADS = 2

_Places = list[tuple[Any, ...]]


class ReceiverNames(AbstractResolver):
    """Make it in a running event loop."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(THREADS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises OSError."""
        found = await self._look_up(host, port, family)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=str(place[0]), port=port, family=of, proto=protocol, flags=flags)
            for of, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        """A look-up that hangs goes on by itself."""

    async def _look_up(self, host: str, port: int, family: socket.AddressFamily) -> _Places:
        """A caller that gives up waiting leaves the thread, which keeps its place until it ends."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        looked_up: asyncio.Future[_Places] = loop.create_future()

        def ended(found: _Places | Exception) -> None:
            self._free.release()
            if looked_up.done():
                return
            if isinstance(found, Exception):
                looked_up.set_exception(found)
            else:
                looked_up.set_result(found)

        def work() -> None:
            found: _Places | Exception
            try:
                found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
            except Exception as error:  # OSError; UnicodeError where a label of the name is too long
                found = error
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended, found)

        Thread(target=work, name="webhook-names", daemon=True).start()
        return await looked_up
