"""Looks up the names of receivers in threads of its own.

A name server that hangs takes half a minute to fail: in the threads that the whole process shares it would hold up
everything else, just when somebody has to be notified of it.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

THREADS = 2


class ReceiverNames(AbstractResolver):
    """Make it in a running event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "webhook-names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises OSError."""
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG
        )
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=str(place[0]), port=port, family=of, proto=protocol, flags=flags)
            for of, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
