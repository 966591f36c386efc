"""A minimal Kafka client for tests of servers: it sends bytes and reads frames."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import RESPONSES

TIMEOUT = 10


class Client:
    """One connection to a server under test. Every wait has a timeout."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.sent = 0

    def request(self, body: Any, version: int) -> bytes:
        self.sent += 1
        return encode_request(body, version=version, correlation_id=self.sent, client_id="test")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), TIMEOUT)

    async def frame(self) -> bytes:
        """The next frame, without its length."""
        head = await asyncio.wait_for(self.reader.readexactly(4), TIMEOUT)
        return await asyncio.wait_for(self.reader.readexactly(int.from_bytes(head, "big")), TIMEOUT)

    async def call(self, body: Any, version: int) -> Any:
        """Send a request and read its answer."""
        await self.send(self.request(body, version))
        correlation_id, answer = decode_response(RESPONSES[body.API_KEY], await self.frame(), version=version)
        assert correlation_id == self.sent
        return answer

    async def is_closed(self) -> bool:
        """Whether the server closes the connection without sending anything more."""
        try:
            return await asyncio.wait_for(self.reader.read(1), TIMEOUT) == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def connected(address: tuple[str, int], *, receive_buffer: int | None = None) -> AsyncIterator[Client]:
    raw = socket.socket()
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(raw, address)
        reader, writer = await asyncio.open_connection(sock=raw, limit=2**16)
    except BaseException:
        raw.close()
        raise
    client = Client(reader, writer)
    try:
        yield client
    finally:
        await client.close()
