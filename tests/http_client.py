"""A plain HTTP client for tests: it writes the request's bytes to a socket and reads the answer's. Streams are read by
aiohttp."""

import asyncio
import json
from typing import Any, NamedTuple

import aiohttp


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


async def sent(address: str, data: bytes) -> bytes:
    """Send these bytes; return everything that the server sends until it closes the connection."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def get(address: str, path: str, method: str = "GET") -> Answer:
    head, _, body = (
        await sent(address, f"{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
    ).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), headers, body)


async def streamed(url: str, number: int, **options: Any) -> list[tuple[str, Any]]:
    """The first `number` server-sent events of a stream: their names, and their data from JSON. `options` as of
    aiohttp's `get`."""
    found: list[tuple[str, Any]] = []
    async with aiohttp.ClientSession() as session, session.get(url, **options) as answer, asyncio.timeout(60):
        assert answer.status == 200, await answer.text()
        while len(found) < number:
            block = (await answer.content.readuntil(b"\n\n")).decode()
            fields = dict(line.split(": ", 1) for line in block.splitlines() if line)
            if "event" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
    return found
