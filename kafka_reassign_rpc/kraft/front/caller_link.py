"""The connection to a broker that one client of the front has to itself, with its own login.

The cluster decides about that login: its bytes go to the broker and back as they are.

Only the broker knows whether a login has succeeded. It answers no other request before: so the login is over for us
with the first other request that has an answer. Until then frames are small, and the time for all of it is bounded
(`slow.client.timeout.ms`).
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS, AclOperation
from kafka_reassign_rpc.kraft.front.answer_patches import LOGIN, READ_HERE
from kafka_reassign_rpc.protocol.client_connection import MIN_ANSWER_BYTES
from kafka_reassign_rpc.protocol.frame_codec import decode_request, decode_response, encode_request, peek_request_header
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    DescribeClusterRequest,
    DescribeClusterResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.protocol.served_connection import MIN_REQUEST_BYTES, FrameBuffer
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.authenticator import Admission, End, Step
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.security.sasl.scram import parse_client_first
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.host_port import Address

CONNECT_S = 5.0
"""For one broker; then the next one is tried."""
ANSWER_S = 300.0
"""No admin request takes a broker longer: clients give up before."""
FIRST_S = 2.0
"""A broker that lives answers the first request of a connection within this. One that is frozen takes connections all
the same; then the next one is asked."""
SAME_ANYWHERE = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER})
"""First requests that may go to another broker as well: they change nothing. Clients begin with one of them."""
RIGHTS_S = 10.0
"""A broker knows them without asking others. One that is frozen, or cut off, keeps its connections all the same."""
MAX_ANSWER_BYTES = 100_000_000
"""Metadata of a million partitions has 60 MB."""
_TOLD_FROM, _MOST = 0, 1
"""Versions of DescribeCluster that this asks in: every KRaft broker has them."""
NOT_TOLD = -(2**31)
"""Of authorized operations that were not asked for."""


class LinkLost(Exception):
    """The client's request has no answer. The text says why."""


class CallerLink(asyncio.Protocol):
    """Opens with its first request. Requests go one at a time. `lost` is called when the broker has closed it: the
    client's login is gone with it. `where`: the brokers that may be asked, the first one that is there. `slow` gets
    those that have not answered in time: the first request, or before it the handshake of TLS.
    """

    def __init__(
        self,
        where: Callable[[], Sequence[Address]],
        tls: ssl.SSLContext | None,
        lost: Callable[[], None],
        slow: Callable[[Address], None] = lambda _: None,
    ) -> None:
        self._where = where
        self._tls = tls
        self._lost = lost
        self._slow = slow
        self._left: list[Address] = []
        """The brokers that have not been tried."""
        self._at: Address | None = None
        self._dropped = 0
        """Connections to brokers that were too slow, of which the end says nothing."""
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, MAX_ANSWER_BYTES)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._is_over = False

    async def ask(self, frame: bytes, within_s: float = ANSWER_S) -> bytes:
        """A request without its length to its answer, likewise. Raises LinkLost."""
        if self._is_over:
            raise LinkLost("the broker has closed the connection")
        is_first = self._transport is None
        if is_first:
            self._left = list(self._where())
            await self._open()
        may_go_on = is_first and peek_request_header(frame).api_key in SAME_ANYWHERE
        while may_go_on and self._left:
            with suppress(TimeoutError):
                return await self._asked(frame, min(FIRST_S, within_s))
            self._drop()
            await self._open()
        try:
            return await self._asked(frame, within_s)
        except TimeoutError:
            self.close()
            raise LinkLost(f"the broker did not answer within {within_s:g} s") from None

    async def _asked(self, frame: bytes, within_s: float) -> bytes:
        """Raises LinkLost, TimeoutError."""
        assert self._transport is not None
        assert self._answer is None, "requests go one at a time"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.writelines([len(frame).to_bytes(4, "big"), frame])
        try:
            async with asyncio.timeout(within_s):
                answer = await self._answer
        finally:
            self._answer = None
        if answer[:4] != frame[4:8]:
            self.close()
            raise LinkLost("the broker answers another request")
        return answer

    async def allowed(self, client_id: str | None) -> frozenset[AclOperation]:
        """What the client may do on the cluster, as the broker knows it. Raises LinkLost."""
        request = DescribeClusterRequest(
            version=0, include_cluster_authorized_operations=True, include_fenced_brokers=False, endpoint_type=1
        )
        frame = encode_request(request, version=0, correlation_id=0, client_id=client_id)[4:]
        try:
            _, found = decode_response(DescribeClusterResponse, await self.ask(frame, RIGHTS_S), version=0)
        except RemoteProtocolError as error:
            self.close()
            raise LinkLost(f"DescribeCluster: {error}") from error
        if found.error_code:
            return frozenset()
        return frozenset(AclOperation.of(one) for one in found.authorized_operations or ())

    async def _open(self) -> None:
        """Raises LinkLost."""
        why = "no broker is known"
        while self._left:
            self._at = at = self._left.pop(0)
            try:
                async with asyncio.timeout(CONNECT_S):
                    await asyncio.get_running_loop().create_connection(
                        lambda: self, at.host, at.port, ssl=self._tls, server_hostname=at.host if self._tls else None
                    )
            except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
                why = f"{at}: {error_text(error)}"
                if isinstance(error, TimeoutError):  # of the TLS handshake, say: no frozen broker answers it
                    self._slow(at)
                continue
            if self._is_over:  # the client has gone meanwhile
                self.close()
                raise LinkLost("it was given up")
            return
        raise LinkLost(why)

    def _drop(self) -> None:
        assert self._transport is not None
        assert self._at is not None
        self._slow(self._at)
        self._dropped += 1
        self._transport.abort()
        self._transport = None
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, MAX_ANSWER_BYTES)

    def close(self) -> None:
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        frames, fault = self._frames.receive(data)
        if fault is not None or len(frames) > 1 or (frames and (self._answer is None or self._answer.done())):
            self.close()
        elif frames and self._answer is not None:
            self._answer.set_result(frames[0])

    def connection_lost(self, error: Exception | None) -> None:
        if self._dropped:
            self._dropped -= 1
            return
        self._is_over = True
        if self._answer is not None and not self._answer.done():
            why = "the broker has closed the connection" if error is None else error_text(error)
            self._answer.set_exception(LinkLost(why))
        self._lost()


USER, PLAIN, SCRAM = "User", "PLAIN", "SCRAM-SHA-"

Relay = Callable[[bytes], Awaitable[list[bytes]]]
"""A frame to its answer, with the length in front. Raises LinkLost, and RemoteProtocolError for what the front does not
serve."""


class RelayedLogin:
    """`proved` is called once."""

    guards = True
    principal = ANONYMOUS
    mechanism = ""
    max_receive_size = MAX_RECEIVE_SIZE

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.authenticated = False
        self._mechanism, self._name = "", ""
        """As the client says; the broker tells nobody who its clients are."""

    def proved(self) -> None:
        self.authenticated = True

    def named(self, peer: Peer) -> Peer:
        """For requests after those with which the broker has let the client in."""
        principal = f"{USER}:{self._name}" if self._name else peer.principal
        return peer._replace(principal=principal, mechanism=self._mechanism)

    def admission(self, frame: bytes) -> Admission:
        if self.authenticated:
            return Admission.SERVE
        is_request = len(frame) >= MIN_REQUEST_BYTES
        return Admission.SERVE if is_request and peek_request_header(frame).api_key not in LOGIN else Admission.TAKE

    async def receive(self, frame: bytes) -> Step:
        try:
            answer = b"".join(await self._relay(frame))
            if peek_request_header(frame).api_key == ApiKey.API_VERSIONS:  # maybe of a version that nobody here reads
                return Step(answer)
            self._read(frame)
            return Step(answer, End.CLOSE_LATER if _is_refusal(frame, answer) else End.OPEN)
        except (LinkLost, RemoteProtocolError) as error:
            return Step(end=End.CLOSE_NOW, reason=str(error))

    def _read(self, frame: bytes) -> None:
        """A step of the login that the broker has answered."""
        body: Any = decode_request(frame, READ_HERE).body
        if isinstance(body, SaslHandshakeRequest):
            self._mechanism, self._name = body.mechanism, ""
        elif isinstance(body, SaslAuthenticateRequest) and not self._name:
            self._name = name_shown(self._mechanism, body.auth_bytes)

    def invalid_size(self, text: str) -> Step:
        return Step(end=End.CLOSE_NOW, reason=text)


def name_shown(mechanism: str, token: bytes) -> str:
    """The name in the first token of a login; "" where it has none that says who the client is."""
    try:
        if mechanism == PLAIN:
            _, name, _ = token.split(b"\0")
            return name.decode()
        if mechanism.startswith(SCRAM):
            first = parse_client_first(token)
            return "" if first.uses_delegation_token else first.name
    except ValueError:  # the broker decides what it makes of that
        pass
    return ""


def _is_refusal(frame: bytes, answer: bytes) -> bool:
    """After which the broker closes the connection. Raises RemoteProtocolError."""
    header = peek_request_header(frame)
    _, found = decode_response(RESPONSES[header.api_key], answer[4:], version=header.api_version)
    return bool(found.error_code)  # type: ignore[attr-defined]
