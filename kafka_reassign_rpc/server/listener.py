"""Listening sockets: where to listen, and how to stop."""

import asyncio
import ssl
from collections.abc import Collection

import msgspec

TURNS_TO_ARRIVE = 2
"""Turns of asyncio's own loop between the accept of a connection and `connection_made`."""


class Listener(msgspec.Struct, frozen=True):
    """An address to listen on. Port 0: the system chooses one. `tls` is for SSL and SASL_SSL listeners."""

    host: str
    port: int
    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    tls: ssl.SSLContext | None = None


async def stop_listening(servers: Collection[asyncio.Server]) -> None:
    """Accepts no more connections. Every accepted one has had its `connection_made` when this returns.

    asyncio (BaseSelectorEventLoop._accept_connection2) makes the transport one turn after it has accepted the socket.
    If its server is closed in between, that fails silently, and the client's socket stays open for ever. uvloop does
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
