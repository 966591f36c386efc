"""What a connection does for its authenticator: passes frames in, sends its answers, and closes after a delay.

Steps that take time, and the delay of a failed one, run aside: they take no place among queued.max.requests. Until the
client has authenticated, the connection counts as silent, so `slow.client.timeout.ms` bounds the whole of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from inspect import isawaitable
from typing import Any, Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.connection_state import Connection
from kafka_reassign_rpc.protocol.frame_codec import Body, DecodedRequest
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.security.authenticator import (
    Admission,
    AuthenticationContext,
    AuthenticationFailed,
    Authenticator,
    End,
    Step,
)
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections

log = logging.getLogger(__name__)


class RequestsOf:
    """`security.authenticator.Requests`, by the server's service."""

    def __init__(self, shared: OpenConnections, peer: Peer) -> None:
        self.served = shared.served
        self._service = shared.service
        self._peer = peer

    def api_versions(self, request: DecodedRequest) -> Body:
        body = self._service.handle(request, self._peer)
        assert isinstance(body, ApiMessage | bytes | list)  # ApiVersions does not wait
        return body

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        return self._service.illegal_sasl_state(request, text)


def recognize(
    shared: OpenConnections, listener: Listener, peer: Peer, transport: asyncio.BaseTransport
) -> Authenticator | None:
    """The authenticator of a new connection; None where it has to close."""
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(True)
    context = AuthenticationContext(
        peer.host, listener.name, listener.security_protocol, certificate, RequestsOf(shared, peer)
    )
    try:
        return listener.authenticator(context)
    except AuthenticationFailed as error:
        shared.tell("connections_unauthenticated", peer.host, error)
        return None


class Guarded(Protocol):
    """A connection, as its guard uses it (see `ServerConnection`)."""

    @property
    def silent_since(self) -> float: ...

    def heard(self) -> None: ...

    def become(self, peer: Peer) -> None: ...

    def cut_on(self) -> None: ...

    def go_on(self, out: list[bytes]) -> None: ...

    def close_with(self, answer: bytes) -> None: ...


class ConnectionGuard:
    """The authenticator of one connection that wants to see its frames."""

    def __init__(
        self, authenticator: Authenticator, shared: OpenConnections, stream: Connection, peer: Peer, connection: Guarded
    ) -> None:
        self._authenticator = authenticator
        self._shared = shared
        self._stream = stream
        self._peer = peer
        self._connection = connection
        self._admission = Admission.SERVE
        if not authenticator.authenticated:
            stream.one_by_one(authenticator.max_receive_size)

    @property
    def authenticated(self) -> bool:
        return self._authenticator.authenticated

    def serves(self, frame: bytes) -> bool:
        """Whether a frame is a request to be served. If not, `step` takes it."""
        self._admission = self._authenticator.admission(frame)
        return self._admission is Admission.SERVE

    def step(self, frame: bytes, out: list[bytes]) -> Coroutine[Any, Any, None] | None:
        """Takes the frame that `serves` was asked about. Puts the answer into `out`, or returns a coroutine where it
        has to wait."""
        if self._admission is Admission.CLOSE:
            text = f"{self._authenticator.principal} did not authenticate again"
            self._shared.tell("connections_expired", self._peer.host, text)
            return self._fail(Step(end=End.CLOSE_NOW))
        step = self._authenticator.receive(frame)
        if isawaitable(step):
            return self._later(step)
        if step.end is not End.OPEN:
            return self._fail(step)
        self._done(step, out)
        return None

    def invalid_size(self, fault: RemoteProtocolError) -> Coroutine[Any, Any, None] | None:
        """Ends a connection that has announced a frame out of bounds; None where it is a request like any other."""
        if self._authenticator.authenticated:
            return None
        self._stream.hold()
        return self._fail(self._authenticator.invalid_size(str(fault)))

    async def _later(self, waits: Awaitable[Step]) -> None:
        try:
            step = await waits
        except Exception:
            log.exception("the authenticator of listener %s failed", self._peer.listener)
            self._shared.stats.handler_failures += 1
            step = Step(end=End.CLOSE_NOW)
        except asyncio.CancelledError:
            self._connection.close_with(b"")
            raise
        if step.end is not End.OPEN:
            await self._fail(step)
            return
        out: list[bytes] = []
        self._done(step, out)
        self._connection.go_on(out)

    def _done(self, step: Step, out: list[bytes]) -> None:
        """A step is done, and the connection goes on."""
        authenticator, stream = self._authenticator, self._stream
        stream.answered()
        if step.answer:
            out.append(step.answer)
        if authenticator.authenticated:
            name, mechanism = authenticator.principal, authenticator.mechanism
            self._connection.become(self._peer._replace(principal=name, mechanism=mechanism))
            if self._connection.silent_since:
                self._connection.heard()
            stream.requests()
        else:
            stream.one_by_one(authenticator.max_receive_size)
        self._connection.cut_on()

    async def _fail(self, step: Step) -> None:
        """Closes the connection. A failed authentication is answered after a delay, in which nothing is read."""
        if step.reason:
            self._shared.tell("connections_unauthenticated", self._peer.host, step.reason)
        delay = self._shared.limits.connection_failed_authentication_delay_ms / 1000
        later = step.end is End.CLOSE_LATER
        try:
            if later and delay > 0:
                await asyncio.sleep(delay)
        finally:
            self._connection.close_with(step.answer if later else b"")
