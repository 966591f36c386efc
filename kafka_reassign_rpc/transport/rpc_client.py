"""A client of one broker or server: the socket, its login, the clock, and the waiting callers around a
`ClientConnection`.

Login: SaslHandshake, then SaslAuthenticate until the mechanism is done. Source: Kafka's SaslClientAuthenticator;
KIP-368 for logins that end and are repeated on the same connection.
"""

import asyncio
import socket
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast, overload

from kafka_reassign_rpc.protocol.client_connection import MAX_ANSWER_BYTES, ClientConnection
from kafka_reassign_rpc.protocol.frame_codec import throttle_ms
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    ApiVersionsRequest,
    RequestFor,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.protocol.versions import common_version
from kafka_reassign_rpc.security.login.sasl_login import SaslLogin
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, failure, next_token
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.support.host_port import is_loopback

CONNECT_TIMEOUT_S = 10.0
"""Kafka's socket.connection.setup.timeout.ms."""

AT_ONCE = struct.pack("ii", 1, 0)
"""Of SO_LINGER: a close resets the connection, and drops what is still to be sent."""

Response = TypeVar("Response", bound="ApiMessage")


MaySend = Callable[[], bool]
"""Asked when nothing is left but to send a request."""


class NoCommonVersion(ConnectionError): ...


class SendingForbidden(Exception):
    """By `MaySend`. Nothing was sent, and the connection goes on."""


class Muted(TimeoutError):
    """The other side has asked for more time without a request than an answer may take. Nothing was sent, and the
    connection goes on."""


class _Waiting(NamedTuple):
    """The timer closes the connection if no answer comes, whether its caller waits or not."""

    key: int
    version: int
    answer: asyncio.Future[Any]
    timer: asyncio.TimerHandle


class RpcClient(asyncio.Protocol):
    """It closes itself after the first error (but Muted), and then refuses every call.

    timeout_s         for an answer. Answers come in order, so requests behind a lost one wait too
    max_in_flight     requests sent ahead of their answers; further calls wait for their turn
    max_answer_bytes  a larger answer is an error
    """

    def __init__(
        self, client_id: str, timeout_s: float, max_in_flight: int = 1, max_answer_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        self._connection = ClientConnection(client_id, max_frame_bytes=max_answer_bytes)
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiting] = deque()
        self._turns = asyncio.Semaphore(max_in_flight)
        self._error: Exception | None = None
        self._ended = asyncio.Event()
        self._versions: dict[int, tuple[int, int]] | None = None
        self._login: Callable[[], Awaitable[None]] | None = None
        self._login_due = float("inf")
        self._logging_in = asyncio.Lock()
        self._muted_until = float("-inf")
        """As answers have said (throttle_time_ms), by the clock of the event loop."""
        self.last_used = self._loop.time()
        """When the last request was sent, by the clock of the event loop."""
        self.heard_at = float("-inf")
        """When something last came from the other side: a large answer takes a while."""

    @property
    def is_of_this_host(self) -> bool:
        """Whether the other side is a process of this host, as far as that is known."""
        assert self._transport is not None
        own, other = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        return own is None or other is None or own[0] == other[0] or is_loopback(other[0])

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        client_id: str,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        *,
        max_in_flight: int = 1,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> Self:
        """Raises OSError (ssl.SSLError is one) or TimeoutError."""

        made = cls(client_id, timeout_s, max_in_flight, max_answer_bytes)
        name = None if tls is None else host.rstrip(".")
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: made, host, port, ssl=tls, server_hostname=name)
        except ssl.SSLError:  # one of a certificate is a ValueError, too
            raise
        except ValueError as error:  # IDNA refuses the name, or it has a NUL: anybody may have registered it
            raise OSError(f"{shown(host)} is no name of a host: {error}") from error
        return made

    @property
    def is_closed(self) -> bool:
        return self._error is not None or self._transport is None or self._transport.is_closing()

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    @property
    def waits_s(self) -> float:
        """For so many seconds the oldest request in flight has had nothing of its answer."""
        if not self._waiting:
            return 0.0
        return self._loop.time() - max(self._waiting[0].timer.when() - self._timeout_s, self.heard_at)

    @property
    def muted_s(self) -> float:
        """For so many seconds no request is sent, as answers have said."""
        return max(0.0, self._muted_until - self._loop.time())

    @property
    def certificate(self) -> bytes | None:
        """The broker's (DER), or None without TLS."""
        secured = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        return None if secured is None else secured.getpeercert(binary_form=True)

    @property
    def socket(self) -> Any:
        return None if self._transport is None else self._transport.get_extra_info("socket")

    def close(self) -> None:
        """Waiting calls raise EOFError."""
        self._end(EOFError("the connection was closed"))

    def repeat_login(self, due: float, login: Callable[[], Awaitable[None]]) -> None:
        """`login` goes before the first request from `due` on (the event loop's time); others wait for it."""
        self._login_due, self._login = due, login

    async def versions(self) -> Mapping[int, tuple[int, int]]:
        """By API key; asks once. Raises ConnectionError if the broker does not say."""
        if self._versions is None:
            answer = await self.call(ApiVersionsRequest, ApiVersionsRequest(version=0), 0)
            if answer.error_code:
                raise ConnectionError(f"it does not say what it serves (error {answer.error_code})")
            self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        return self._versions

    async def version(self, request_class: type[ApiMessage]) -> int:
        """The highest that both sides know. Raises NoCommonVersion."""
        served = await self.versions()
        version = common_version(request_class, served)
        if version < 0:
            found = served.get(request_class.API_KEY)
            serves = "none" if found is None else f"versions {found[0]} to {found[1]}"
            raise NoCommonVersion(f"no common version of {request_class.__name__}: it serves {serves}")
        return version

    @overload
    async def call(
        self, request_class: type[RequestFor[Response]], body: ApiMessage | bytes, version: int
    ) -> Response: ...

    @overload
    async def call(
        self,
        request_class: type[ApiMessage],
        body: ApiMessage | bytes,
        version: int,
        *,
        raw: Literal[True],
        may_send: MaySend | None = None,
    ) -> bytes: ...

    async def call(
        self,
        request_class: type[ApiMessage],
        body: ApiMessage | bytes,
        version: int,
        *,
        raw: bool = False,
        may_send: MaySend | None = None,
    ) -> Any:
        """With `raw`, returns the bytes of the answer's body. `body` is a message of that class, or its bytes.

        Waits first for as long as an earlier answer has said. Raises OSError, TimeoutError (Muted is one), EOFError or
        RemoteProtocolError, and SendingForbidden. A cancelled call may have sent its request; the connection goes on,
        and drops the answer.
        """
        async with self._turns:
            if self._login is not None:
                await self._log_in_again(self._login)
            await self._wait_as_told()
            if may_send is not None and not may_send():
                raise SendingForbidden
            return await self.call_out_of_turn(request_class, body, version, raw=raw)

    async def _wait_as_told(self) -> None:
        """A quota is exceeded: meanwhile the broker does not read what comes (KIP-219)."""
        while (wait_s := self.muted_s) > 0 and self._error is None:
            if wait_s > self._timeout_s:
                raise Muted(f"it has asked for {wait_s:g} s without a request (throttle_time_ms)")
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._ended.wait()
                raise EOFError("the connection was closed")

    async def _log_in_again(self, login: Callable[[], Awaitable[None]]) -> None:
        async with self._logging_in:  # nothing may come between the parts of a login
            if self._loop.time() >= self._login_due:
                await self._wait_as_told()
                self._login_due = float("inf")
                try:
                    await login()
                except BaseException:
                    self.close()  # half a login is of no use, and the one before ends soon
                    raise

    async def call_out_of_turn(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: bool = False
    ) -> Any:
        """For the login itself: all other requests wait for it."""
        if isinstance(self._error, RemoteProtocolError):
            raise self._error
        if self._transport is None or self.is_closed:  # uvloop's transport would raise RuntimeError
            raise ConnectionResetError("the connection was reset")
        request = self._connection.send(request_class, body, version, raw=raw)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self.last_used = self._loop.time()
        timer = self._loop.call_later(self._timeout_s, self._time_out)
        self._waiting.append(_Waiting(request_class.API_KEY, version, answer, timer))
        self._transport.write(request)
        return await answer

    def _time_out(self) -> None:
        """What has not reached the other side never does: after a close the system would go on sending it, for minutes
        where the network is cut.
        """
        if self._transport is not None and not self.is_closed:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            self._transport.abort()
        self._end(TimeoutError(f"no answer within {self._timeout_s:g} s"))

    def _end(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
            self._ended.set()
        while self._waiting:
            waiting = self._waiting.popleft()
            waiting.timer.cancel()
            if not waiting.answer.done():
                waiting.answer.set_exception(error)
        if self._transport is None:
            return
        if self._transport.get_extra_info("ssl_object") is None:
            self._transport.close()
        else:
            self._transport.abort()  # without waiting for the other side to close TLS

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._error is not None:
            return
        self.heard_at = self._loop.time()
        try:
            answers = self._connection.receive(data)
        except RemoteProtocolError as error:
            self._end(error)
            return
        for body in answers:
            waiting = self._waiting.popleft()
            waiting.timer.cancel()
            if (wait_ms := throttle_ms(waiting.key, waiting.version, body)) > 0:
                self._mute(wait_ms / 1000)
            if not waiting.answer.done():
                waiting.answer.set_result(body)

    def _mute(self, wait_s: float) -> None:
        """What was sent meanwhile is read later, too (as in Kafka's InFlightRequests). Times for which no call waits
        change nothing for these."""
        self._muted_until = max(self._muted_until, self.heard_at + wait_s)
        if wait_s > self._timeout_s:
            return
        for number, waiting in enumerate(self._waiting):
            waiting.timer.cancel()
            later = self._loop.call_at(waiting.timer.when() + wait_s, self._time_out)
            self._waiting[number] = waiting._replace(timer=later)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(EOFError("the connection was closed") if error is None else error)


VERSION = 1
"""Both requests have it since Kafka 2.2: the answer says when the login ends."""
MAX_ROUNDS = 10
REPEAT_AFTER = 0.85
"""The part of a login's life after which it is repeated; Kafka's clients wait for 85 to 95 %."""
UNSUPPORTED_MECHANISM, ILLEGAL_STATE = 33, 34

T = TypeVar("T")


async def connect(
    host: str,
    port: int,
    client_id: str,
    timeout_s: float,
    tls: ssl.SSLContext | None = None,
    login: SaslLogin | None = None,
    **limits: int,
) -> RpcClient:
    """`limits` go to RpcClient. Raises LoginFailed, ssl.SSLError, and OSError, TimeoutError, EOFError or
    RemoteProtocolError.
    """
    client = await RpcClient.open(host, port, client_id, timeout_s, tls, **limits)
    try:
        if login is not None:
            await log_in(client, login, host)
        elif tls is not None:  # with TLS 1.3 only the first answer shows whether the other side takes our certificate
            await client.versions()
    except BaseException:
        client.close()
        raise
    return client


async def log_in(client: RpcClient, login: SaslLogin, host: str) -> None:
    """Logs in, and again before the login ends. Raises LoginFailed, and what every request raises."""
    request = SaslHandshakeRequest(mechanism=login.mechanism)
    handshake = await client.call_out_of_turn(SaslHandshakeRequest, request, VERSION)
    if handshake.error_code:
        raise LoginFailed(_refused(handshake.error_code, handshake.mechanisms, login.mechanism))
    life_ms = await _exchange_tokens(client, login, host)
    if life_ms > 0:
        due = asyncio.get_running_loop().time() + life_ms / 1000 * REPEAT_AFTER
        client.repeat_login(due, lambda: log_in(client, login, host))


async def _exchange_tokens(client: RpcClient, login: SaslLogin, host: str) -> int:
    """Returns for how many ms the login holds; 0 means that it does not end. A mechanism may take a second to fetch a
    token or derive a key, so it runs off the event loop.
    """
    exchange = await _step(login, login.exchange, host)
    token = await _step(login, next_token, exchange) or b""
    for _ in range(MAX_ROUNDS):
        request = SaslAuthenticateRequest(auth_bytes=token)
        answer = await client.call_out_of_turn(SaslAuthenticateRequest, request, VERSION)
        if answer.error_code:
            why = answer.error_message
            raise LoginFailed(f"{login.mechanism}: {shortened(why) if why else f'error {answer.error_code}'}")
        following = await _step(login, next_token, exchange, answer.auth_bytes or b"")
        if following is None:
            return int(answer.session_lifetime_ms)
        token = following
    raise LoginFailed(f"{login.mechanism}: the broker did not end the exchange")


async def _step(login: SaslLogin, step: Callable[..., T], *arguments: Any) -> T:
    try:
        return await asyncio.to_thread(step, *arguments)
    except LoginFailed:
        raise
    except Exception as error:
        raise LoginFailed(f"{login.mechanism}: {failure(error)}") from None


def _refused(code: int, mechanisms: list[str], wanted: str) -> str:
    if code == UNSUPPORTED_MECHANISM:
        return f"it does not take {wanted}, but {shown(list(mechanisms))}"
    if code == ILLEGAL_STATE:
        return "it does not log clients in there: the listener is without SASL"
    return f"SaslHandshake: error {code}"
