"""Connections of the fuzz: each comes from an address that is not the honest clients'."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

Address = tuple[str, int]

HOSTS = tuple(f"127.0.0.{number}" for number in range(2, 10))
"""Where connections come from; honest clients come from 127.0.0.1."""


@asynccontextmanager
async def connected(address: Address, host: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection from this host; aborted at the end."""
    raw = socket.socket()
    try:
        raw.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: ports are drawn for each target
        raw.bind((host, 0))
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, address)
        reader, writer = await asyncio.open_connection(sock=raw, limit=1 << 26)
    except BaseException:
        raw.close()
        raise
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
