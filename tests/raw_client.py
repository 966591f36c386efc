"""A minimal Kafka client for tests of servers: it sends bytes and reads frames."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import RESPONSES, SaslAuthenticateRequest, SaslHandshakeRequest

TIMEOUT = 240
PIECE_BYTES = 256 * 1024


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

    async def send_in_pieces(self, data: bytes) -> None:
        """Where turns of the loop are measured: this client shares it."""
        for at in range(0, len(data), PIECE_BYTES):
            await self.send(data[at : at + PIECE_BYTES])

    async def frame(self) -> bytes:
        """The next frame, without its length."""
        return b"".join(await self.frame_in_pieces())

    async def frame_in_pieces(self) -> list[bytes]:
        """As `send_in_pieces`."""
        async with asyncio.timeout(TIMEOUT):
            left, pieces = int.from_bytes(await self.reader.readexactly(4), "big"), []
            while left:
                pieces.append(await self.reader.readexactly(min(left, PIECE_BYTES)))
                left -= len(pieces[-1])
        return pieces

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


class Login(NamedTuple):
    """TLS, and a user of PLAIN."""

    tls: ssl.SSLContext
    user: str
    password: str


LOGIN: ContextVar[Login | None] = ContextVar("login", default=None)
"""How `connected` connects where it is set: over SASL_SSL."""


@asynccontextmanager
async def connected(address: tuple[str, int], *, receive_buffer: int | None = None) -> AsyncIterator[Client]:
    """A connection that is ready for requests."""
    login = LOGIN.get()
    raw = socket.socket()
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(raw, address)
        tls, host = (None, None) if login is None else (login.tls, address[0])
        reader, writer = await asyncio.open_connection(sock=raw, limit=2**16, ssl=tls, server_hostname=host)
    except BaseException:
        raw.close()
        raise
    client = Client(reader, writer)
    try:
        if login is not None:
            await _log_in(client, login)
        yield client
    finally:
        await client.close()


async def _log_in(client: Client, login: Login) -> None:
    handshake = await client.call(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1)
    assert not handshake.error_code, handshake
    token = f"\0{login.user}\0{login.password}".encode()
    answer = await client.call(SaslAuthenticateRequest(auth_bytes=token, version=1), 1)
    assert not answer.error_code, answer.error_message
