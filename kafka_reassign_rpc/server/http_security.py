"""Who may read pages over HTTP: TLS, and users with passwords (HTTP Basic, RFC 7617)."""

import base64
import binascii
from typing import Protocol

import msgspec

from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.server.listener import OpenDoor
from kafka_reassign_rpc.server.sasl_sources import UsersFile
from kafka_reassign_rpc.server.tls_handshakes import Handshake


class Passwords(Protocol):
    """Knows users by their passwords."""

    async def verify(self, user: str, password: str, address: str) -> bool:
        """Raises SaslAuthenticationError where that cannot be found out now."""
        ...


class HttpSecurity(msgspec.Struct, frozen=True):
    """`tls` None: plain HTTP. `users` None: everybody who can connect may read. `users_file`: where they come from.
    `certificates`: only clients with one can connect."""

    tls: ReloadedContext | None = None
    users: Passwords | None = None
    users_file: UsersFile | None = None
    certificates: bool = False

    @property
    def authenticates(self) -> bool:
        """Whether it is known who reads."""
        return self.users is not None or self.certificates


def credentials(header: str) -> tuple[str, str] | None:
    """User and password of an Authorization header, or None."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(token.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon else None


class HandshakeDoor(OpenDoor):
    """Lets everybody in, with so many TLS handshakes at a time: the oldest makes room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: dict[Handshake, None] = {}

    def shakes_hands(self, handshake: Handshake) -> None:
        self._under_way[handshake] = None
        handshake.when_over(lambda: self._under_way.pop(handshake, None))
        if len(self._under_way) > self._most:
            next(iter(self._under_way)).abort()
