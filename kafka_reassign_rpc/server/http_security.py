"""Who may read pages over HTTP: TLS, users with passwords (HTTP Basic, RFC 7617), and the names of this server.

A foreign web page can point the name of its own server at this one (DNS rebinding), and read our answers in its
visitor's browser; `Host` then names that other server. So without a login the server answers only to an IP address, to
localhost, and to names that the operator has given.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

import msgspec

from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.server.listener import OpenDoor
from kafka_reassign_rpc.server.sasl_sources import UsersFile
from kafka_reassign_rpc.server.tls_handshakes import Handshake
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
