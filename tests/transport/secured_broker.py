"""A broker that takes clients over TLS and SASL, as far as a client can see it. SCRAM is written from RFC 5802."""

import asyncio
import base64
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
    StopReplicaResponse,
)
from kafka_reassign_rpc.protocol.served_connection import Connection
from kafka_reassign_rpc.protocol.versions import SUPPORTED

APIS = [(5, 3, 3), (17, 0, 1), (18, 0, 3), (36, 0, 2)]
REFUSED = 58


class SecuredBroker:
    """`users`: passwords by name. `life_ms`: how long a login holds, 0: without end. `asked`: API keys, in order."""

    def __init__(self, mechanism: str | None, users: Mapping[str, str], life_ms: int = 0) -> None:
        self.mechanism = mechanism
        self.users = users
        self.life_ms = life_ms
        self.asked: list[int] = []
        self.as_whom: list[str] = []
        self.broker: Broker

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(SUPPORTED)
        login = _Login(self)
        try:
            while data := await reader.read(1000):
                connection.receive(data)
                while connection.queued:
                    request = connection.parse(connection.next_frame())
                    assert isinstance(request, DecodedRequest)
                    self.asked.append(request.header.api_key)
                    writer.write(connection.answer(request, self._answer(login, request)))
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _answer(self, login: "_Login", request: DecodedRequest) -> Any:
        version, body = request.header.api_version, request.body
        match request.header.api_key:
            case 17:
                assert version == 1
                code = 34 if self.mechanism is None else 0 if body.mechanism == self.mechanism else 33
                mechanisms = [] if self.mechanism is None else [self.mechanism, "GSSAPI"]
                return SaslHandshakeResponse(version=version, error_code=code, mechanisms=mechanisms)
            case 36:
                return login.answer(body.auth_bytes, version)
            case 18:
                return ApiVersionsResponse(version=version, error_code=0, api_keys=APIS)
        return StopReplicaResponse(version=version, error_code=0, partition_errors=[])


class _Login:
    def __init__(self, broker: SecuredBroker) -> None:
        self._broker = broker
        self._first: tuple[str, str] | None = None

    def answer(self, token: bytes, version: int) -> SaslAuthenticateResponse:
        mechanism = self._broker.mechanism
        assert mechanism is not None
        found = self._plain(token) if mechanism == "PLAIN" else self._scram(token, mechanism)
        code, text = (REFUSED, "Authentication failed: Invalid username or password") if found is None else (0, None)
        return SaslAuthenticateResponse(
            version=version,
            error_code=code,
            error_message=text,
            auth_bytes=found or b"",
            session_lifetime_ms=self._broker.life_ms,
        )

    def _plain(self, token: bytes) -> bytes | None:
        _, user, password = token.decode().split("\0")
        return self._is(user) if self._broker.users.get(user) == password else None

    def _is(self, user: str) -> bytes:
        self._broker.as_whom.append(user)
        return b""

    def _scram(self, token: bytes, mechanism: str) -> bytes | None:
        digest = "sha" + mechanism.rpartition("-")[2]
        text = token.decode()
        if self._first is None:
            bare = text.removeprefix("n,,")
            nonce = dict(part.split("=", 1) for part in bare.split(","))["r"]
            answer = f"r={nonce}server,s={base64.b64encode(b'salt').decode()},i=4096"
            self._first = bare, answer
            return answer.encode()
        (bare, answer), self._first = self._first, None
        fields = dict(part.split("=", 1) for part in text.split(","))
        user = dict(part.split("=", 1) for part in bare.split(","))["n"].replace("=2C", ",").replace("=3D", "=")
        salted = hashlib.pbkdf2_hmac(digest, self._broker.users.get(user, "").encode(), b"salt", 4096)
        key = hmac.digest(salted, b"Client Key", digest)
        message = f"{bare},{answer},c=biws,r={fields['r']}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), message, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        if user not in self._broker.users or base64.b64decode(fields["p"]) != proof:
            return None
        self._is(user)
        server = hmac.digest(hmac.digest(salted, b"Server Key", digest), message, digest)
        return b"v=" + base64.b64encode(server)


@asynccontextmanager
async def secured_broker(
    protocol: str,
    mechanism: str | None = None,
    users: Mapping[str, str] | None = None,
    *,
    tls: ssl.SSLContext | None = None,
    life_ms: int = 0,
    host: str = "127.0.0.1",
) -> AsyncIterator[SecuredBroker]:
    """A broker whose listener INTERNAL speaks `protocol`."""
    found = SecuredBroker(mechanism, users or {}, life_ms)
    async with await asyncio.start_server(found.serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        found.broker = Broker(
            7, 1, (Endpoint("EXTERNAL", "PLAINTEXT", "a..b", 1), Endpoint("INTERNAL", protocol, host, port))
        )
        yield found
