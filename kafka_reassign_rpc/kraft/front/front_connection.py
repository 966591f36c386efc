"""One client of the front: a connection with a broker behind it. Our requests go to the handler once the broker has
told what the client may do; all others go to the broker as they are.
"""

import asyncio
import ssl
from asyncio import iscoroutine
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from kafka_reassign_rpc.api.api_definition import Api, Encoded, Peer
from kafka_reassign_rpc.api.dispatch import SERVER_APIS, Service
from kafka_reassign_rpc.core.acls.acl_binding import ResourceType
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.kraft.front import answer_patches
from kafka_reassign_rpc.kraft.front.answer_patches import OURS, READ_HERE, Shown, is_about_settings, is_ours, is_served
from kafka_reassign_rpc.kraft.front.caller_link import CallerLink, LinkLost, RelayedLogin
from kafka_reassign_rpc.protocol.frame_codec import (
    DecodedRequest,
    Reply,
    RequestHeader,
    decode_request,
    peek_client_id,
    peek_request_header,
)
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError, UnsupportedVersion
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.served_connection import Connection, Refusal, unsupported_api_versions
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.authenticator import AuthenticationFailed, Authenticator, FixedAuthenticator
from kafka_reassign_rpc.security.properties import uses_sasl
from kafka_reassign_rpc.security.tls.server_object import asked_name
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.request_answers import RequestAnswers, RequestThrottle, UnanswerableError, Write
from kafka_reassign_rpc.server.server_connection import ServerConnection
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.turns import start


class Shows(Protocol):
    """How the cluster is shown to clients."""

    async def shown(self, brokers: Mapping[int, Address]) -> Shown:
        """`brokers`: as the cluster has just told them."""

    @property
    def shown_last(self) -> Shown: ...


class _Allowed:
    """The handler as a service of clients whose rights are known. One that lacks what all requests of an API need does
    not reach it.
    """

    def __init__(self, handler: Service) -> None:
        self._handler = handler
        self.served, self.max_elements = handler.served, handler.max_elements

    def refusal(self, header: RequestHeader, error: RemoteProtocolError) -> ApiMessage | None:
        return self._handler.refusal(header, error)

    def illegal_sasl_state(self, _request: DecodedRequest, _text: str) -> ApiMessage | None:
        return None  # brokers say that

    def handle(self, request: DecodedRequest, peer: Peer) -> Reply | Awaitable[Reply]:
        api = SERVER_APIS[request.header.api_key]
        needed = {one.operation for one in api.acl if one.resource is ResourceType.CLUSTER and not one.only_for}
        if needed <= (peer.allowed or frozenset()):
            return self._handler.handle(request, peer)
        return start(_failed(api, request))


async def _failed(api: Api, request: DecodedRequest) -> Reply:
    failed = api.fail(request.body, request.header.api_version, ClusterAuthorizationFailed())
    answer = await failed if iscoroutine(failed) else failed
    return answer.body if isinstance(answer, Encoded) else answer


class RelayedRequests(RequestAnswers):
    """led     what requests about moves wait for, once it is known that the client may ask
    proved  called after each answer of a broker to a request that only a client that has logged in may send
    named   the client with the name of its login, once a broker has let it in
    """

    def __init__(
        self,
        stream: Connection,
        handler: Service,
        link: CallerLink,
        shows: Shows,
        led: Callable[[], Awaitable[None]],
        throttle: RequestThrottle,
        stats: ServerStats,
        proved: Callable[[], None],
        named: Callable[[Peer], Peer],
    ) -> None:
        super().__init__(stream, _Allowed(handler), throttle, stats)
        self._handler = handler
        self._link = link
        self._shows = shows
        self._led = led
        self._proved = proved
        self._named = named

    def answer(self, frame: bytes, peer: Peer, out: list[bytes], write: Write) -> Coroutine[Any, Any, None] | None:
        header = peek_request_header(frame)
        try:
            self._check(header)
        except RemoteProtocolError as error:
            self._refuse(Refusal(error, header), peer, out, 0)
            return None
        return self._answered_here(frame, peer, write) if self._is_ours(frame) else self._relayed(frame, write)

    async def answer_large(
        self,
        frame: bytes,
        peer: Peer,
        place: AbstractAsyncContextManager[None],
        wanted: Callable[[], bool],
        write: Write,
    ) -> None:
        if self._is_ours(frame):
            await super().answer_large(frame, await self._asked(frame, peer), place, wanted, write)
            self._proved()
            return
        out: list[bytes] = []
        answer = self.answer(frame, peer, out, write)
        if answer is None:
            write(out)
        else:
            await answer

    def _is_ours(self, frame: bytes) -> bool:
        return is_ours(peek_request_header(frame).api_key) or is_about_settings(frame, self._handler.served)

    def _check(self, header: RequestHeader) -> None:
        """Raises RemoteProtocolError."""
        key, version = header.api_key, header.api_version
        if key != ApiKey.API_VERSIONS and not is_served(key, version, self._handler.served):
            raise UnsupportedVersion(f"version {version} of API {key} is not served in front of the cluster")

    async def _answered_here(self, frame: bytes, peer: Peer, write: Write) -> None:
        known = await self._asked(frame, peer)
        out: list[bytes] = []
        rest = super().answer(frame, known, out, write)
        write(out)
        if rest is not None:
            await rest
        self._proved()

    async def _asked(self, frame: bytes, peer: Peer) -> Peer:
        """With its rights, as a broker knows them. Raises UnanswerableError."""
        try:
            allowed = await self._link.allowed(peek_client_id(frame))
        except LinkLost as error:
            raise self._gone(error) from error
        if allowed and peek_request_header(frame).api_key in OURS:
            await self._led()
        return self._named(peer)._replace(allowed=allowed)

    async def _relayed(self, frame: bytes, write: Write) -> None:
        try:
            pieces = await self.relay(frame)
        except (LinkLost, RemoteProtocolError) as error:
            raise self._gone(error) from error
        key = peek_request_header(frame).api_key
        self._stats.requests[key] += 1
        self._stream.answered()
        write(pieces)
        if key != ApiKey.API_VERSIONS:
            self._proved()

    def _gone(self, error: Exception) -> UnanswerableError:
        """Without the broker the connection is of no use."""
        self._stream.abandon()
        return UnanswerableError(str(error))

    async def relay(self, frame: bytes) -> list[bytes]:
        """The broker's answer as clients of the front see it, with its length in front. Raises LinkLost, and
        RemoteProtocolError.
        """
        header = peek_request_header(frame)
        self._check(header)
        if header.api_key == ApiKey.API_VERSIONS and not is_served(header.api_key, header.api_version, {}):
            return [unsupported_api_versions(READ_HERE[ApiKey.API_VERSIONS], header.correlation_id)]
        answer = await self._link.ask(frame)
        key, version = header.api_key, header.api_version
        if key == ApiKey.METADATA:
            told = answer_patches.ToldMetadata(answer, version)
            return told.seen(await self._shows.shown(told.brokers))
        if key == ApiKey.DESCRIBE_CLUSTER:
            return answer_patches.describe_cluster(answer, version, self._shows.shown_last)
        if key == ApiKey.SASL_HANDSHAKE:
            asked: Any = decode_request(frame, READ_HERE).body
            return answer_patches.sasl_handshake(answer, version, asked.mechanism)
        if key == ApiKey.API_VERSIONS:
            return answer_patches.api_versions(answer, version, self._handler.served)
        return [len(answer).to_bytes(4, "big"), answer]


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
        """The brokers behind this listener for clients that ask for this name in their handshake, the best first."""

    def slow(self, broker: Address) -> None:
        """It has kept a client waiting."""


class FrontConnection(ServerConnection):
    """With all limits of a server's connection. Where the broker closes its side, the client's closes too: it opens
    another one, with a login of its own.
    """

    def __init__(self, front: Place, shared: OpenConnections, listener: Listener) -> None:
        super().__init__(shared, listener)
        self._tls_name: str | None = None
        self._link = CallerLink(
            lambda: front.where(listener.name, self._tls_name), front.tls, self._link_lost, front.slow
        )
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
