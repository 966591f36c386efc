"""A port that accepts connections and never answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from tests.stop_listening import stop_listening


class SilentServer(NamedTuple):
    """`connected` is set by the first connection."""

    port: int
    connected: asyncio.Event


@asynccontextmanager
async def silent_server() -> AsyncIterator[SilentServer]:
    """It closes its connections at the end of the block: left open, they would be warnings in a later test."""
    writers: list[asyncio.StreamWriter] = []
    connected = asyncio.Event()

    def keep(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        connected.set()

    server = await asyncio.start_server(keep, "127.0.0.1", 0)
    try:
        yield SilentServer(server.sockets[0].getsockname()[1], connected)
    finally:
        await stop_listening([server])
        for writer in writers:
            writer.close()
        for writer in writers:
            with suppress(OSError):
                await writer.wait_closed()
