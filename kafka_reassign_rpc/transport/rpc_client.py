"""A client of one broker or server: one connection, one request at a time.

`protocol.client_connection.ClientConnection` keeps correlation ids and order, and checks answers.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Self, TypeVar, overload

from kafka_reassign_rpc.protocol.client_connection import ClientConnection
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    ApiVersionsRequest,
    RequestFor,
    valid_versions,
)
from kafka_reassign_rpc.support.bounded_text import shown

CONNECT_TIMEOUT_S = 10.0
"""Kafka's socket.connection.setup.timeout.ms."""
READ_BYTES = 64 * 1024

Response = TypeVar("Response", bound="ApiMessage")


class NoCommonVersion(ConnectionError):
    """The broker serves no version of an API that this side knows."""


class RpcClient:
    """A client with one connection. After an OSError, TimeoutError, EOFError or ProtocolError, close it.

    timeout_s   how long an answer may take
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connection = ClientConnection(client_id)
        self._timeout_s = timeout_s
        self._versions: dict[int, tuple[int, int]] | None = None
        self._repeat: tuple[float, Callable[[], Awaitable[None]]] | None = None

    @classmethod
    async def open(
        cls, host: str, port: int, client_id: str, timeout_s: float, tls: ssl.SSLContext | None = None
    ) -> Self:
        """Connect, over TLS where there is a context. Raises OSError (ssl.SSLError is one) or TimeoutError."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        except ssl.SSLError:  # one of a certificate is a ValueError, too
            raise
        except ValueError as error:  # IDNA refuses the name, or it has a NUL: anybody may have registered it
            raise OSError(f"{shown(host)} is no name of a host: {error}") from error
        return cls(reader, writer, client_id, timeout_s)

    def close(self) -> None:
        """Close at once. A call that waits for its answer raises EOFError."""
        if self._writer.get_extra_info("ssl_object") is None:
            self._writer.close()
        else:
            self._writer.transport.abort()  # without waiting for the other side to close TLS

    @property
    def certificate(self) -> bytes | None:
        """The certificate that the broker has shown (DER); None without TLS."""
        secured = self._writer.get_extra_info("ssl_object")
        return None if secured is None else secured.getpeercert(binary_form=True)

    def repeat_login(self, due: float, login: Callable[[], Awaitable[None]]) -> None:
        """The first request from `due` on (the event loop's time) lets `login` go first."""
        self._repeat = (due, login)

    async def versions(self) -> Mapping[int, tuple[int, int]]:
        """The versions that the broker serves, by API key; the client asks once."""
        if self._versions is None:
            answer = await self.call(ApiVersionsRequest, ApiVersionsRequest(version=0), 0)
            self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        return self._versions

    async def version(self, request_class: type[ApiMessage]) -> int:
        """The highest version of an API that both sides know. Raises NoCommonVersion where there is none."""
        lowest, highest = (await self.versions()).get(request_class.API_KEY, (0, -1))
        oldest, newest = valid_versions(request_class)
        version = min(highest, newest)
        if version < max(lowest, oldest):
            serves = f"versions {lowest} to {highest}" if highest >= 0 else "none"
            raise NoCommonVersion(f"no common version of {request_class.__name__}: it serves {serves}")
        return version

    @overload
    async def call(
        self, request_class: type[RequestFor[Response]], body: ApiMessage | bytes, version: int
    ) -> Response: ...

    @overload
    async def call(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: Literal[True]
    ) -> bytes: ...

    async def call(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: bool = False
    ) -> Any:
        """The answer to a request: `body` is a message of that class, or the bytes of one.

        `raw`: returns the bytes of the answer's body, which the caller decodes.
        """
        if self._connection.pending:
            raise ConnectionError("the previous request has no answer yet")
        if self._repeat is not None and asyncio.get_running_loop().time() >= self._repeat[0]:
            (_, login), self._repeat = self._repeat, None
            await login()
        request = self._connection.send(request_class, body, version, raw=raw)
        if self._writer.is_closing():  # uvloop's transport would raise RuntimeError
            raise ConnectionResetError("the connection was reset")
        self._writer.write(request)
        async with asyncio.timeout(self._timeout_s):
            await self._writer.drain()
            while True:
                data = await self._reader.read(READ_BYTES)
                if not data:
                    raise EOFError("the connection was closed")
                for answer in self._connection.receive(data):
                    return answer
