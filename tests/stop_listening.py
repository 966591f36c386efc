"""How servers of tests stop that asyncio or uvloop have made."""

import asyncio
from collections.abc import Collection

TURNS_TO_ARRIVE = 2
"""Turns of asyncio's own loop between the accept of a connection and `connection_made`."""


async def stop_listening(servers: Collection[asyncio.Server]) -> None:
    """Accepts no more connections. Every accepted one has had its `connection_made` when this returns.

    asyncio (BaseSelectorEventLoop._accept_connection2) makes the transport one turn after it has accepted the socket.
    If its server is closed in between, that fails silently, and the client's socket stays open forever. uvloop does
    both at once.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.SelectorEventLoop):
        for server in servers:
            for listening in server.sockets:
                loop.remove_reader(listening)
        for _ in range(TURNS_TO_ARRIVE):
            await asyncio.sleep(0)
    for server in servers:
        server.close()
