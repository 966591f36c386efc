"""A server's side of one TLS connection: it sends alerts, and knows the name that the client has asked for.

It sends alerts since event loops close a connection whose handshake fails before they have sent OpenSSL's. The
peer would see only a broken connection and try again until its time is over; Java's clients give up at an alert, and
say what it says (SslAuthenticationException).
"""

import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self

PEER: ContextVar[socket.socket | None] = ContextVar("peer", default=None)
"""The connection whose handshake begins in this context."""


@contextmanager
def _silence_about_odd_names() -> Iterator[None]:
    """Where a client asks for a name that is not ASCII, `ssl` ends the handshake and prints a traceback: anybody could
    fill a disk with them.
    """
    told = sys.unraisablehook

    def hook(found: "sys.UnraisableHookArgs") -> None:
        if not (isinstance(found.exc_value, UnicodeDecodeError) and isinstance(found.object, bytes)):
            told(found)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = told


class ServerObject(ssl.SSLObject):
    """The `sslobject_class` of servers' contexts. Alerts go to PEER."""

    _outgoing: ssl.MemoryBIO | None
    _peer: socket.socket | None

    @classmethod
    def _create(cls, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *arguments: Any, **named: Any) -> Self:
        made: Self = super()._create(incoming, outgoing, *arguments, **named)  # type: ignore[misc]
        made._outgoing, made._peer = outgoing, PEER.get()
        return made

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            self._send_alert()
            raise
        self._outgoing = self._peer = None

    def _send_alert(self) -> None:
        alert = b"" if self._outgoing is None else self._outgoing.read()
        if alert and self._peer is not None:
            with suppress(OSError):  # the peer has gone, or takes nothing
                self._peer.send(alert)


class NamedServerObject(ServerObject):
    """Of a context whose connections are told apart by the name that the client connects to (SNI): `keep_name` is its
    `sni_callback`.
    """

    asked_name: str | None = None

    def do_handshake(self) -> None:
        with _silence_about_odd_names():
            super().do_handshake()


def keep_name(server: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
    assert isinstance(server, NamedServerObject)
    server.asked_name = name


def asked_name(server: ssl.SSLObject | None) -> str | None:
    """None without TLS, too."""
    return server.asked_name if isinstance(server, NamedServerObject) else None
