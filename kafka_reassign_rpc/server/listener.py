"""Listening sockets: where to listen, who may come in, which TLS handshakes begin, and how to stop.

The server accepts by itself, not asyncio or uvloop: it checks an address before it makes anything of the connection, so
a flood of newcomers costs a few microseconds each; it accepts many in a turn, so the system drops none; and when file
descriptors run out it makes room and goes on.

A TLS handshake takes a few milliseconds of the event loop, and anybody can ask for one. So they begin at a limited
rate, and addresses take turns: whoever asks for many waits for himself. The oldest of the address with the most makes
room for the next one.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec

from kafka_reassign_rpc.security.authenticator import (
    AuthenticationContext,
    AuthenticationFailed,
    Authenticator,
    FixedAuthenticator,
    MakeAuthenticator,
    anonymous,
)
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.security.tls.server_object import PEER
from kafka_reassign_rpc.support.address_line import AddressLine

PER_TURN = 5
"""So many handshakes begin at once ..."""
TURN_S = 0.02
"""... and after so many seconds the next ones: 250 in a second."""
MOST_UNDER_WAY = 500
"""Handshakes under way: each has two seconds at the highest rate."""


class Handshake:
    """To `OpenConnections` it is a connection without a request."""

    def __init__(self, host: str, now: float, task: "asyncio.Task[None]") -> None:
        self.host = host
        self.last_active = self.silent_since = now
        self.frame_since = self.unread_since = 0.0
        self._task = task
        self.becomes: object = None
        """The connection, if the handshake succeeds."""

    @property
    def idle(self) -> bool:
        return True

    @property
    def unwatched(self) -> int | None:
        return None

    def drain(self) -> None:
        self.abort()

    def when_over(self, callback: Callable[[], object]) -> None:
        self._task.add_done_callback(lambda _: callback())

    def abort(self) -> None:
        self._task.cancel()


class HandshakeTurns:
    """For all listeners of a server, on one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._line: AddressLine[Handshake] = AddressLine()
        self._under_way: dict[str, dict[Handshake, None]] = {}
        """By address, the oldest first."""
        self._count = 0
        self._left = PER_TURN
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, handshake: Handshake) -> None:
        """Waits until this handshake may begin. Call `end` for it, whatever happens."""
        if self._left <= 0 or self._line:
            await self._line.wait(handshake.host, handshake)
        else:
            self._take(handshake)

    def end(self, handshake: Handshake) -> None:
        of_host = self._under_way.get(handshake.host, {})
        if handshake in of_host:
            del of_host[handshake]
            self._count -= 1
            if not of_host:
                del self._under_way[handshake.host]

    def _take(self, handshake: Handshake) -> None:
        if self._count >= MOST_UNDER_WAY:
            most = max(self._under_way.values(), key=len)
            oldest = next(iter(most))
            self.end(oldest)
            oldest.abort()
        self._under_way.setdefault(handshake.host, {})[handshake] = None
        self._count += 1
        self._left -= 1
        if self._timer is None:
            self._timer = self._loop.call_later(TURN_S, self._next_turn)

    def _next_turn(self) -> None:
        self._timer = None
        self._left = PER_TURN
        while self._left > 0 and (handshake := self._line.first()) is not None:
            self._line.let_in()
            self._take(handshake)


log = logging.getLogger(__name__)

ACCEPTED_IN_A_TURN = 64
"""Connections that one turn of the event loop accepts."""
MOST_HELD = 200
"""Connections of a listener that are held before they close. Further ones close at once."""
PAUSE_S = 0.1
"""How long a listener waits after file descriptors have run out."""
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener(msgspec.Struct, frozen=True):
    """With port 0 the system chooses one. `tls` is for SSL and SASL_SSL; `authenticator` makes one for each
    connection."""

    host: str
    port: int
    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    tls: ReloadedContext | None = None
    authenticator: MakeAuthenticator = anonymous


class Door(Protocol):
    """Decides who may come in.

    With TLS a connection exists only after its handshake. Until then it has a place like a silent connection: a
    newcomer may take it.
    """

    def accept_delay(self, listener: str) -> float:
        """Seconds for which a newcomer, and all behind it on that listener, wait."""

    def address_throttle(self, listener: str, host: str) -> float:
        """Seconds for which a newcomer is held and then closed; 0 lets it in."""

    def refuses(self, host: str) -> bool:
        """If not, the connection has a place from now on."""

    def has_left(self, host: str) -> None:
        """A connection that was let in has gone before it was made."""

    def no_descriptors(self) -> None: ...

    def shakes_hands(self, handshake: Handshake) -> None:
        """A connection that was let in begins with TLS."""

    def becomes(self, handshake: Handshake, connection: asyncio.Protocol) -> None:
        """This will be the connection if the handshake succeeds."""

    def failed(self, handshake: Handshake, why: str) -> None:
        """A handshake has ended without a connection."""


class OpenDoor:
    def accept_delay(self, _listener: str) -> float:
        return 0.0

    def address_throttle(self, _listener: str, _host: str) -> float:
        return 0.0

    def refuses(self, _host: str) -> bool:
        return False

    def has_left(self, host: str) -> None:
        pass

    def no_descriptors(self) -> None:
        pass

    def shakes_hands(self, handshake: Handshake) -> None:
        pass

    def becomes(self, handshake: Handshake, connection: asyncio.Protocol) -> None:
        pass

    def failed(self, handshake: Handshake, why: str) -> None:
        pass


class Listening:
    """The sockets of one listener. `address` is the real one of the first."""

    def __init__(
        self,
        sockets: list[socket.socket],
        protocol: Callable[[], asyncio.Protocol],
        door: Door,
        tls: ReloadedContext | None,
        tls_handshake_timeout: float,
        turns: HandshakeTurns,
        name: str,
    ) -> None:
        self._name = name
        self._held: dict[socket.socket, asyncio.TimerHandle] = {}
        """Newcomers that are held until they close, or one that waits for its turn."""
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._protocol = protocol
        self._door = door
        self._tls = tls
        self._tls_handshake_timeout = tls_handshake_timeout
        self._turns = turns
        self._arriving: set[asyncio.Task[None]] = set()
        self.address: tuple[str, int] = sockets[0].getsockname()[:2]
        for one in sockets:
            self._loop.add_reader(one, self._accept, one)

    async def close(self) -> None:
        """Ends handshakes too. When it returns, every other accepted connection has had its `connection_made`."""
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets = []
        for held in list(self._held):
            self._close_held(held)
        if self._tls is not None:
            for arriving in self._arriving:
                arriving.cancel()
        if self._arriving:
            await asyncio.wait(self._arriving)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_IN_A_TURN):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in OUT_OF_DESCRIPTORS:
                    self._loop.remove_reader(listening)
                    self._loop.call_later(PAUSE_S, self._go_on, listening)
                    self._door.no_descriptors()
                    return
                continue  # that one has gone
            delay = self._door.accept_delay(self._name)
            if delay > 0:
                self._loop.remove_reader(listening)
                self._held[connection] = self._loop.call_later(
                    delay, self._accept_on, listening, connection, address[0]
                )
                return
            self._let_in(connection, address[0])

    def _accept_on(self, listening: socket.socket, connection: socket.socket, host: str) -> None:
        """A connection that was accepted too early has its turn now."""
        del self._held[connection]
        self._let_in(connection, host)
        self._go_on(listening)

    def _let_in(self, connection: socket.socket, host: str) -> None:
        held = self._door.address_throttle(self._name, host)
        if held > 0 and len(self._held) < MOST_HELD:
            self._held[connection] = self._loop.call_later(held, self._close_held, connection)
        elif held > 0 or self._door.refuses(host):
            connection.close()
        else:
            arrive = self._arrive if self._tls is None else self._arrive_by_tls
            task = self._loop.create_task(arrive(connection, host))
            self._arriving.add(task)
            task.add_done_callback(partial(self._arrived, connection))

    def _close_held(self, connection: socket.socket) -> None:
        self._held.pop(connection).cancel()
        connection.close()

    def _arrived(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._arriving.discard(task)
        if task.cancelled():
            connection.close()

    def _go_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def _arrive(self, connection: socket.socket, host: str) -> None:
        made = False

        def protocol() -> asyncio.Protocol:
            nonlocal made
            made = True
            return self._protocol()

        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(protocol, connection)
        except OSError as error:
            log.debug("a connection from %s has not come about: %s", host, error)
            connection.close()
            if not made:
                self._door.has_left(host)

    async def _arrive_by_tls(self, connection: socket.socket, host: str) -> None:
        task = asyncio.current_task()
        assert self._tls is not None
        assert task is not None
        handshake = Handshake(host, self._loop.time(), task)
        self._door.shakes_hands(handshake)

        def protocol() -> asyncio.Protocol:
            made = self._protocol()
            self._door.becomes(handshake, made)
            return made

        connection.setblocking(False)
        why = "it was given up"
        try:
            await self._turns.begin(handshake)
            PEER.set(connection)
            await self._loop.connect_accepted_socket(
                protocol,
                connection,
                ssl=self._tls.context,
                ssl_handshake_timeout=self._tls_handshake_timeout,
            )
            why = ""
        except OSError as error:
            why = _reason(error)
        finally:
            self._turns.end(handshake)
            if why:
                connection.close()
                self._door.failed(handshake, why)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error) or type(error).__name__


async def listen(
    host: str,
    port: int,
    protocol: Callable[[], asyncio.Protocol],
    *,
    backlog: int = 100,
    door: Door | None = None,
    tls: ReloadedContext | None = None,
    tls_handshake_timeout: float = 10.0,
    turns: HandshakeTurns | None = None,
    name: str = "",
) -> Listening:
    """Binds to all addresses of `host` (if empty, of this machine). Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol_number, _, address in dict.fromkeys(found):
            listening = socket.socket(family, kind, protocol_number)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.setblocking(False)
            try:
                listening.bind(address)
                listening.listen(backlog)
            except OSError as error:
                place = f"{host or '*'}:{port}"
                raise OSError(error.errno, f"cannot listen on {place}: {str(error.strerror).lower()}") from None
    except BaseException:
        for listening in sockets:
            listening.close()
        raise
    return Listening(sockets, protocol, door or OpenDoor(), tls, tls_handshake_timeout, turns or HandshakeTurns(), name)


class ListenerSecurity(msgspec.Struct, frozen=True):
    """`tls` is for SSL and SASL_SSL; `authenticator` makes one for each connection."""

    tls: ReloadedContext | None = None
    authenticator: MakeAuthenticator = anonymous


def tls_context(listener: str, config: TlsConfig, *, keeps_names: bool = False) -> ReloadedContext:
    """Reads the listener's stores. Raises BadSetting. `keeps_names`: see `TlsConfig.load_server`."""
    return ReloadedContext(f"listener {listener}", partial(config.load_server, keeps_names=keeps_names), config.files)


def by_certificate(config: TlsConfig) -> MakeAuthenticator:
    """For SSL listeners: the principal is the subject of the certificate, by the mapping rules."""

    def authenticator(context: AuthenticationContext) -> Authenticator:
        try:
            return FixedAuthenticator(config.principal_of(context.certificate))
        except NoMatchingRule as error:
            raise AuthenticationFailed(str(error)) from None

    return authenticator
