"""Listening sockets: where to listen, who may come in, and how to stop.

The server accepts by itself, not asyncio or uvloop: it looks at an address before it makes anything of the connection,
so that a flood of newcomers costs a few microseconds each; it accepts many in a turn of the loop, so that none waits
in the system until it is dropped there; and where file descriptors run out it makes room and goes on.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Protocol

import msgspec

from kafka_reassign_rpc.security.authenticator import MakeAuthenticator, anonymous

log = logging.getLogger(__name__)

ACCEPTED_IN_A_TURN = 64
"""Connections that one turn of the event loop accepts."""
PAUSE_S = 0.1
"""How long a listener waits where file descriptors have run out."""
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener(msgspec.Struct, frozen=True):
    """An address to listen on. Port 0: the system chooses one. `tls` is for SSL and SASL_SSL listeners.

    `authenticator` makes the authenticator of each connection.
    """

    host: str
    port: int
    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    tls: ssl.SSLContext | None = None
    authenticator: MakeAuthenticator = anonymous


class Door(Protocol):
    """Who may come in."""

    def refuses(self, host: str) -> bool:
        """Whether a connection from this address is closed at once. If not, it has a place from now on."""

    def has_left(self, host: str) -> None:
        """A connection that was let in has gone before it was made."""

    def no_descriptors(self) -> None:
        """File descriptors have run out."""


class OpenDoor:
    """Lets everybody in."""

    def refuses(self, host: str) -> bool:
        return False

    def has_left(self, host: str) -> None:
        pass

    def no_descriptors(self) -> None:
        pass


class Listening:
    """The sockets of one listener. `address`: the real host and port of the first one."""

    def __init__(
        self,
        sockets: list[socket.socket],
        protocol: Callable[[], asyncio.Protocol],
        door: Door,
        tls: ssl.SSLContext | None,
        tls_handshake_timeout: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._protocol = protocol
        self._door = door
        self._tls: dict[str, object] = {"ssl": tls, "ssl_handshake_timeout": tls_handshake_timeout} if tls else {}
        self._arriving: set[asyncio.Task[None]] = set()
        self.address: tuple[str, int] = sockets[0].getsockname()[:2]
        for one in sockets:
            self._loop.add_reader(one, self._accept, one)

    async def close(self) -> None:
        """Accepts no more connections. Every accepted one has had its `connection_made` when this returns."""
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets = []
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
            if self._door.refuses(address[0]):
                connection.close()
                continue
            task = self._loop.create_task(self._arrive(connection, address[0]))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

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
            await self._loop.connect_accepted_socket(protocol, connection, **self._tls)  # type: ignore[arg-type]
        except OSError as error:
            log.debug("a connection from %s has not come about: %s", host, error)
            connection.close()
            if not made:
                self._door.has_left(host)


async def listen(
    host: str,
    port: int,
    protocol: Callable[[], asyncio.Protocol],
    *,
    backlog: int = 100,
    door: Door | None = None,
    tls: ssl.SSLContext | None = None,
    tls_handshake_timeout: float = 10.0,
) -> Listening:
    """Binds to all addresses of `host` (all of this machine where it is empty), and accepts. Raises OSError."""
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
    return Listening(sockets, protocol, door or OpenDoor(), tls, tls_handshake_timeout)
