import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.kraft.front.caller_link import CallerLink
from kafka_reassign_rpc.kraft.front.relayed_login import RelayedLogin
from kafka_reassign_rpc.kraft.front.relayed_requests import RelayedRequests, Shows
from kafka_reassign_rpc.security.authenticator import AuthenticationFailed, Authenticator, FixedAuthenticator
from kafka_reassign_rpc.security.security_protocols import uses_sasl
from kafka_reassign_rpc.security.tls.server_object import asked_name
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.request_throttle import RequestThrottle
from kafka_reassign_rpc.server.server_connection import ServerConnection
from kafka_reassign_rpc.support.host_port import Address

BY_CERTIFICATE = "it comes by a certificate alone, which cannot be passed on to a broker: clients of the front log in"


class Place(Protocol):
    """What a client's connection needs of the front."""

    @property
    def handler(self) -> Service:
        """Answers the APIs about moves, those of this product among them. No others reach it."""

    @property
    def shows(self) -> Shows: ...

    @property
    def led(self) -> Callable[[], Awaitable[None]]:
        """Waits, for some seconds at most, until a server leads."""

    @property
    def tls(self) -> ssl.SSLContext | None:
        """To brokers."""

    def where(self, listener: str, tls_name: str | None) -> Sequence[Address]:
        """The brokers behind this listener for clients that ask for this name in their handshake."""


class FrontConnection(ServerConnection):
    """With all limits of a server's connection. Where the broker closes its side, the client's closes too: it opens
    another one, with a login of its own.
    """

    def __init__(self, front: Place, shared: OpenConnections, listener: Listener) -> None:
        super().__init__(shared, listener)
        self._tls_name: str | None = None
        self._link = CallerLink(lambda: front.where(listener.name, self._tls_name), front.tls, self._link_lost)
        self._login: RelayedLogin | None = None
        throttle = RequestThrottle(shared.request_quotas)
        self._relayed = RelayedRequests(
            self._stream,
            front.handler,
            self._link,
            front.shows,
            front.led,
            throttle,
            shared.stats,
            self._proved,
            self._named,
        )
        self._answers = self._relayed

    def _recognize(self, transport: asyncio.Transport) -> Authenticator:
        tls = transport.get_extra_info("ssl_object")
        self._tls_name = asked_name(tls)
        if uses_sasl(self._listener.security_protocol):
            self._login = RelayedLogin(self._relayed.relay)
            return self._login
        if tls is not None and tls.getpeercert(True):
            raise AuthenticationFailed(BY_CERTIFICATE)
        return FixedAuthenticator()

    def _named(self, peer: Peer) -> Peer:
        return peer if self._login is None else self._login.named(peer)

    def _proved(self) -> None:
        if self._login is not None and not self._login.authenticated:
            self._login.proved()
            self._stream.requests()
            if self.silent_since:
                self._heard()
            self._cut(b"", self._loop.time())

    def connection_lost(self, error: Exception | None) -> None:
        self._link.close()
        super().connection_lost(error)

    def _link_lost(self) -> None:
        """What the broker has answered still reaches the client, such as why a login has failed."""
        self._end()
