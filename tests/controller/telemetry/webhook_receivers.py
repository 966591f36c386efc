"""A receiver of webhooks on loopback that answers as the test says, byte by byte; and the check of a signature that
knows nothing of ours.
"""

import asyncio
import base64
import hashlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

SECRET = "a secret of the tests, long enough"
OK = b"HTTP/1.1 204 No Content\r\n\r\n"
FAILS = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[str]:
        return [one["event"]["event"] for one in self.document["events"]]


def says(data: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer


class Receiver:
    """`answer` may be changed at any time. `requests` has every request that came whole."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.answer = says(OK)
        self.requests: list[Request] = []
        self.url = ""
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Also again, at the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}/hook?token=private"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers["content-length"]))
                self.requests.append(Request(first.split()[1], headers, body))
                await self.answer(writer)
                await writer.drain()
        except (EOFError, OSError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


@asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(tls)
    await receiver.start()
    try:
        yield receiver
    finally:
        await receiver.stop()


def is_signed(request: Request, key: bytes) -> bool:
    """HMAC-SHA256 by its definition (RFC 2104), from the hash alone."""
    stamp = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}."
    block = (hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + stamp.encode() + request.body).digest()
    digest = hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
    return request.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
