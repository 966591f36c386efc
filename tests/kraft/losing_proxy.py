"""A way to one broker that can lose answers."""

import asyncio
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self


class LosingProxy:
    """`loses`: API keys. The broker gets such a request and answers it; then both connections are closed, and the
    client has seen nothing. `lost` counts them.
    """

    def __init__(self, port: int, to: int) -> None:
        self.port = port
        self.loses: set[int] = set()
        self.lost = 0
        self._to = to
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for one in self._serving:
            one.cancel()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        from_broker, to_broker = await asyncio.open_connection("127.0.0.1", self._to)
        with suppress(OSError, EOFError, asyncio.CancelledError):
            while True:  # one request after the other: clients of this proxy want no more
                request = await _frame(reader)
                to_broker.write(request)
                answer = await _frame(from_broker)
                if struct.unpack_from(">h", request, 4)[0] in self.loses:
                    self.lost += 1
                    break
                writer.write(answer)
        for one in (writer, to_broker):
            one.close()
        self._serving.discard(task)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """With its length in front."""
    size = await reader.readexactly(4)
    return size + await reader.readexactly(struct.unpack(">i", size)[0])
