"""A bare Kafka client: it sends a request and returns the response as it came. It never retries.

Messages are kafka-python's classes, so this side shares no code with the server under test.
"""

import asyncio
import struct
from typing import Any

from kafka.protocol import admin, consumer, metadata, producer

RESPONSES: dict[type, Any] = {
    request: getattr(module, name.removesuffix("Request") + "Response")
    for module in (admin, consumer, metadata, producer)
    for name, request in vars(module).items()
    if name.endswith("Request")
}


class Closed(Exception):
    """The server closed the connection instead of answering."""


class Wire:
    """One connection to one node. It has one request in flight at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._lock = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._correlation = 0

    async def ask(self, request: Any, version: int, timeout: float = 40) -> dict[str, Any]:
        """The response's body as a dictionary. Raises Closed, OSError, TimeoutError."""
        async with self._lock:
            self._correlation += 1
            request.with_header(self._correlation, "interop")
            frame = bytes(request.encode(version=version, header=True, framed=True))
            answer = await asyncio.wait_for(self._exchange(frame), timeout)
        response = RESPONSES[type(request)].decode(answer, version=version, header=True)
        if response.header.correlation_id != self._correlation:
            raise ValueError("answered out of order")
        body: dict[str, Any] = response.to_dict()
        return body

    async def raw(self, frame: bytes, timeout: float = 40) -> bytes:
        """Send a frame (with its length) unchanged; returns the response without its length. Raises as `ask`."""
        async with self._lock:
            return await asyncio.wait_for(self._exchange(frame), timeout)

    async def _exchange(self, frame: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        try:
            writer.write(frame)
            await writer.drain()
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            return await reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.drop()
            raise Closed from error
        except BaseException:  # also a cancelled wait: what comes later belongs to no request
            self.drop()
            raise

    def drop(self) -> None:
        """Close the connection at once; the next request opens another."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None
