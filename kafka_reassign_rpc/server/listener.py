"""The end of listening sockets."""

import asyncio
import ssl
from collections.abc import Collection

import msgspec

TURNS_TO_ARRIVE = 2
"""Turns of asyncio's own loop between accepting a connection and `connection_made`."""


class Listener(msgspec.Struct, frozen=True):
    """Where to listen. Port 0: the system chooses. `tls` is for SSL and SASL_SSL listeners."""

    host: str
    port: int
    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    tls: ssl.SSLContext | None = None


async def stop_listening(servers: Collection[asyncio.Server]) -> None:
    """Accept nobody any more; who has been accepted is a connection when this returns.

    asyncio (BaseSelectorEventLoop._accept_connection2) makes the transport a turn after the socket was accepted. Where
    its server was closed in between that fails without a word, and the client's socket stays open for ever. uvloop
    does both at once.
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
