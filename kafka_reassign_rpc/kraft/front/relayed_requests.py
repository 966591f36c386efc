"""The requests of one client of the front: ours go to the handler once the broker has told what the client may do; all
others go to the broker as they are.
"""

from asyncio import iscoroutine
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from kafka_reassign_rpc.api.api_definition import Api, Encoded, Peer
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.core.acls.acl_binding import ResourceType
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.kraft.front import answer_patches
from kafka_reassign_rpc.kraft.front.announced import OURS, READ_HERE, is_ours, is_served
from kafka_reassign_rpc.kraft.front.caller_link import CallerLink, LinkLost
from kafka_reassign_rpc.kraft.front.settings_requests import is_about_settings
from kafka_reassign_rpc.kraft.front.shown_nodes import Shown
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
from kafka_reassign_rpc.server.request_answers import RequestAnswers, UnanswerableError, Write
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.request_throttle import RequestThrottle
from kafka_reassign_rpc.server.server_stats import ServerStats
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
