"""A few pages over HTTP or HTTPS, for monitoring: small answers from memory.

A stream of server-sent events ends with the life of its connection, and browsers come back. A client that does not read
is disconnected after `READS_S`.

Against hostile input: GET and HEAD of known pages only, no bodies, bounded heads, few connections with a short life. A
newcomer beyond the number takes the place of another (`makes_room`), so that neither slow clients nor wrong passwords
keep others out. No answer shows versions, or the parser's words.

Who may read them: TLS, users with passwords (HTTP Basic, RFC 7617), and the names of this server. A foreign web page
can point the name of its own server at this one (DNS rebinding), and read our answers in its visitor's browser; `Host`
then names that other server. So without a login the server answers only to an IP address, to localhost, and to names
that the operator has given.
"""

import asyncio
import base64
import binascii
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
from aiohttp import web

from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.server.listener import Handshake, Listening, OpenDoor, listen
from kafka_reassign_rpc.server.sasl_sources import UsersFile
from kafka_reassign_rpc.support.cluster_name import CLUSTER
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.host_port import is_address

LOCALHOST = "localhost"


class Passwords(Protocol):
    async def verify(self, user: str, password: str, address: str) -> bool:
        """Raises SaslAuthenticationError if the password cannot be checked now."""
        ...


class HttpSecurity(msgspec.Struct, frozen=True):
    """Without `tls` pages go over plain HTTP; without `users` everybody who can connect may read. `users_file` is where
    the users come from; with `certificates` only clients with one can connect; `host_names` are in lower case."""

    tls: ReloadedContext | None = None
    users: Passwords | None = None
    users_file: UsersFile | None = None
    certificates: bool = False
    host_names: frozenset[str] = frozenset()

    @property
    def authenticates(self) -> bool:
        return self.users is not None or self.certificates

    def answers_for(self, hosts: Iterable[str]) -> bool:
        """Whether all `Host` headers of a request name this server. No browser sends a request without one."""
        return self.authenticates or all(
            is_address(name) or name == LOCALHOST or name in self.host_names for name in map(_name_of, hosts)
        )


def _name_of(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".").lower()


def credentials(header: str) -> tuple[str, str] | None:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(token.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon else None


class HandshakeDoor(OpenDoor):
    """Lets everybody in, up to so many TLS handshakes: then the oldest of the address with the most makes room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: dict[Handshake, None] = {}

    def shakes_hands(self, handshake: Handshake) -> None:
        self._under_way[handshake] = None
        handshake.when_over(lambda: self._under_way.pop(handshake, None))
        if len(self._under_way) > self._most:
            of_each = Counter(one.host for one in self._under_way)
            leaves = max(self._under_way, key=lambda one: of_each[one.host])
            del self._under_way[leaves]
            leaves.abort()


log = logging.getLogger(__name__)

MAX_CONNECTIONS = 50
LIVES_S = 60.0
"""The server closes a connection after this time in any case: scrapers connect again."""
FIRST_REQUEST_S = 5.0
"""The server closes a connection without a whole request after this time."""
ASKS_S = 1.0
"""Until then nobody counts as silent: a TLS handshake and a request take that long on a busy machine."""
READS_S = 10.0
"""A client takes the next part of a stream within this time."""
ENDS_S = 1.0
"""So long a server that closes waits for the answers under way, then for clients that do not end their connections."""
BUFFERED = 65_536
"""Bytes of a stream that wait for a client, beside the system's buffer."""
MAX_LINE = 4096
"""Bytes of the request line, and of each header."""
MISDIRECTED = (
    "this server is not known by the name in the Host header: ask for an IP address or localhost, or name it in"
    " metrics.host.names"
)
NAMED_PAGES = 30
"""Where there is no such page: several clusters have hundreds."""
API = "/api/"
"""Below it every answer is JSON, even for an unknown page."""
SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
SERVER = {"Server": "kafka-reassign-rpc"}
"""It replaces aiohttp's header, which shows its version and Python's."""


class HttpPage(NamedTuple):
    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = {}


class QueryPage(NamedTuple):
    """Is made for what stands behind the question mark."""

    answer: Callable[[str], Awaitable[HttpPage]]


class StreamPage(NamedTuple):
    """Server-sent events. `open` gives one more client its events, or None if there are too many; they end before
    `LIVES_S`."""

    open: Callable[[], AsyncIterator[bytes] | None]


Page = Callable[[], HttpPage] | QueryPage | StreamPage


def _refusal(request: web.BaseRequest, status: int, why: str, headers: Mapping[str, str]) -> web.Response:
    """Below `API` a refusal is the JSON that programs expect."""
    if request.path.startswith(API):
        body = json.dumps({"error": why}).encode()
        return web.Response(status=status, body=body, headers={"Content-Type": "application/json", **headers})
    return web.Response(status=status, text=f"{why}\n", headers=headers)


async def _stream(request: web.BaseRequest, page: StreamPage) -> web.StreamResponse:
    head = {"Content-Type": "text/event-stream", **SAFE, **SERVER}
    if request.method == "HEAD":
        return web.Response(headers=head)
    events = page.open()
    if events is None:
        return _refusal(request, 503, "there are too many streams: try again", {"Retry-After": "10", **SAFE, **SERVER})
    async with aclosing(cast("AsyncGenerator[bytes, None]", events)) as parts:
        first = await anext(parts)
        connection = cast(_Connection, request.protocol)
        connection.streams()
        response = web.StreamResponse(headers=head)
        try:
            await response.prepare(request)
            await _written(response, first)
            async for part in parts:
                await _written(response, part)
        except (ConnectionError, TimeoutError):
            connection.cut_off()
        return response


async def _written(response: web.StreamResponse, part: bytes) -> None:
    async with asyncio.timeout(READS_S):
        await response.write(part)


class Placed(Protocol):
    @property
    def has_asked(self) -> bool: ...

    @property
    def is_user(self) -> bool: ...

    @property
    def host(self) -> str: ...

    @property
    def since(self) -> float: ...


P = TypeVar("P", bound=Placed)


def makes_room(connections: Sequence[P], now: float) -> P:
    """Returns which connection, of the oldest first, leaves for a newcomer: a user's only if there is no other; then
    one of the address with the most; then one that still has not asked; then the oldest."""
    strangers = [one for one in connections if not one.is_user] or connections
    of_each = Counter(one.host for one in strangers)
    return max(strangers, key=lambda one: (of_each[one.host], not one.has_asked and now - one.since > ASKS_S))


class HttpServer:
    """Serves `pages` by path. `start` binds (or raises OSError) and sets `address`. Paths in `for_any_host` are
    answered under any `Host`. `clusters`: which of several a path is about."""

    def __init__(
        self,
        host: str,
        port: int,
        pages: Mapping[str, Page],
        security: HttpSecurity = HttpSecurity(),  # noqa: B008 (a constant)
        for_any_host: Container[str] = (),
        clusters: Mapping[str, str] = {},
    ) -> None:
        self.address = (host, port)
        self._security = security
        self._for_any_host = for_any_host
        self._clusters = clusters
        self._pages = pages
        self._web: web.Server
        self._connect: Callable[[], _Connection]
        self._listening: Listening | None = None

    async def start(self) -> None:
        silent = logging.getLogger(f"{__name__}.aiohttp")
        silent.setLevel(logging.CRITICAL)  # malformed requests are not this server's errors
        self._web = web.Server(self._answer, handler_cancellation=True)  # who has gone needs no check of a password
        options: dict[str, Any] = {
            "loop": asyncio.get_running_loop(),
            "access_log": None,
            "logger": silent,
            "max_line_size": MAX_LINE,
            "max_field_size": MAX_LINE,
            "lingering_time": 0.0,
        }
        self._connect = partial(_Connection, self._web, **options)
        host, port = self.address
        door = HandshakeDoor(MAX_CONNECTIONS)
        self._listening = await listen(host, port, self._accept, door=door, tls=self._security.tls)
        self.address = self._listening.address

    async def close(self) -> None:
        if self._listening is None:
            return
        await self._listening.close()
        left = [(one, one.transport) for one in cast("list[_Connection]", self._web.connections)]
        for connection, _ in left:
            connection.leave()
        await self._web.shutdown(ENDS_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_S):
                for connection, _ in left:
                    await connection.lost.wait()
        for _, transport in left:  # whoever reads no answer, or does not end TLS, would keep its connection
            if transport is not None:
                transport.abort()
        self._listening = None

    def _accept(self) -> asyncio.Protocol:
        open_now = cast("list[_Connection]", self._web.connections)  # the oldest first
        for _ in range(len(open_now) + 1 - MAX_CONNECTIONS):
            leaves = makes_room(open_now, asyncio.get_running_loop().time())
            open_now.remove(leaves)
            leaves.cut_off()
        return self._connect()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        cast(_Connection, request.protocol).asks()
        if request.path not in self._for_any_host and not self._security.answers_for(
            request.headers.getall("Host", [])
        ):
            return _refusal(request, 421, MISDIRECTED, SERVER)
        try:
            may_read = await self._may_read(request)
        except SaslAuthenticationError:
            return _refusal(request, 503, "too many passwords wait for their check", {"Retry-After": "10", **SERVER})
        if not may_read:
            head = {"WWW-Authenticate": 'Basic realm="kafka-reassign-rpc", charset="UTF-8"', **SERVER}
            return _refusal(request, 401, "user name and password are needed", head)
        page = self._pages.get(request.path)
        if page is None:
            return _refusal(request, 404, f"there are {first_of(list(self._pages), NAMED_PAGES)}", SERVER)
        if request.method not in ("GET", "HEAD"):
            return _refusal(request, 405, "only GET and HEAD are answered", {"Allow": "GET, HEAD", **SERVER})
        CLUSTER.set(self._clusters.get(request.path, ""))
        try:
            if isinstance(page, StreamPage):
                return await _stream(request, page)
            made = await page.answer(request.query_string) if isinstance(page, QueryPage) else page()
        except Exception:
            log.exception("the page %s cannot be made: its reader gets status 500", request.path)
            return web.Response(status=500, headers=SERVER)
        headers = {"Content-Type": made.content_type, **SAFE, **made.headers, **SERVER}
        return web.Response(status=made.status, body=made.body, headers=headers)

    async def _may_read(self, request: web.BaseRequest) -> bool:
        if self._security.users is None:
            return True
        given = credentials(request.headers.get("Authorization", ""))
        if given is None or not await self._security.users.verify(*given, request.remote or ""):
            return False
        cast(_Connection, request.protocol).is_user = True
        return True


class _Connection(web.RequestHandler):
    """`has_asked`: it has sent a whole request. `is_user`: one had a right password. `since` is by the loop's clock."""

    has_asked = False
    is_user = False
    host = ""
    since = 0.0
    _is_stream = False
    _end: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        address = transport.get_extra_info("peername")
        self.host = address[0] if isinstance(address, tuple) else ""
        self.since = asyncio.get_running_loop().time()
        self._live_for(min(FIRST_REQUEST_S, LIVES_S))

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self.lost.set()
        if self._end is not None:
            self._end.cancel()

    def asks(self) -> None:
        self._is_stream = False
        if not self.has_asked:
            self.has_asked = True
            self._live_for(LIVES_S)

    def streams(self) -> None:
        self._is_stream = True
        self._live_for(LIVES_S)
        if self.transport is not None:
            self.transport.set_write_buffer_limits(high=BUFFERED)

    def leave(self) -> None:
        """The server closes: whoever waits for no answer, or follows a stream, is not waited for."""
        if self._is_stream and self._task_handler is not None:
            self._task_handler.cancel()
        self.close()

    def cut_off(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _live_for(self, seconds: float) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(seconds, self.cut_off)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        _message: str | None = None,
    ) -> web.StreamResponse:
        """Answers what is no request, without the parser's words."""
        answer = super().handle_error(request, status, exc, f"{status}\n")
        answer.headers.update(SERVER)
        return answer
