"""The authenticator of one connection: says what has to be done, and the connection does it."""

import asyncio
from collections.abc import Awaitable

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.api.dispatch import Service
from kafka_reassign_rpc.protocol.frame_codec import Body, DecodedRequest
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.served_connection import Connection
from kafka_reassign_rpc.security.authenticator import Admission, AuthenticationContext, Authenticator, End, Step
from kafka_reassign_rpc.server.listener import Listener


class RequestsOf:
    def __init__(self, service: Service, peer: Peer) -> None:
        self.served = service.served
        self._service = service
        self._peer = peer

    def api_versions(self, request: DecodedRequest) -> Body:
        body = self._service.handle(request, self._peer)
        assert isinstance(body, ApiMessage | bytes | list)  # ApiVersions does not wait
        return body

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        return self._service.illegal_sasl_state(request, text)


def recognize(service: Service, listener: Listener, peer: Peer, transport: asyncio.BaseTransport) -> Authenticator:
    """Raises AuthenticationFailed if the connection has to close."""
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(True)
    return listener.authenticator(
        AuthenticationContext(
            peer.host, listener.name, listener.security_protocol, certificate, RequestsOf(service, peer)
        )
    )


class ConnectionGuard:
    """A failed step ends the connection. `expired`: the last frame came after the end of its client's session."""

    def __init__(self, authenticator: Authenticator, stream: Connection) -> None:
        self._authenticator = authenticator
        self._stream = stream
        self._admission = Admission.SERVE
        if not authenticator.authenticated:
            stream.one_by_one(authenticator.max_receive_size)

    @property
    def authenticated(self) -> bool:
        return self._authenticator.authenticated

    @property
    def expired(self) -> bool:
        return self._admission is Admission.CLOSE

    def identified(self, peer: Peer) -> Peer:
        return peer._replace(principal=self._authenticator.principal, mechanism=self._authenticator.mechanism)

    def serves(self, frame: bytes) -> bool:
        self._admission = self._authenticator.admission(frame)
        return self._admission is Admission.SERVE

    def step(self, frame: bytes) -> Step | Awaitable[Step]:
        """Takes the frame that `serves` has rejected. If the step leaves the connection open, call `done`."""
        if self.expired:
            return Step(end=End.CLOSE_NOW, reason=f"{self._authenticator.principal} did not authenticate again")
        return self._authenticator.receive(frame)

    def done(self) -> None:
        self._stream.answered()
        if self.authenticated:
            self._stream.requests()
        else:
            self._stream.one_by_one(self._authenticator.max_receive_size)

    def invalid_size(self, fault: RemoteProtocolError) -> Step | None:
        """How to end a connection that announced a frame out of bounds, or None if it is a fault like any other."""
        return None if self.authenticated else self._authenticator.invalid_size(str(fault))
