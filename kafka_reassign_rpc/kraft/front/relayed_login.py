"""The login of a client of the front is the cluster's affair: its bytes go to the broker and back as they are.

Only the broker knows whether a login has succeeded. It answers no other request before: so the login is over for us
with the first other request that has an answer. Until then frames are small, and the time for all of it is bounded
(`slow.client.timeout.ms`).
"""

from collections.abc import Awaitable, Callable
from typing import Any

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.kraft.front.announced import LOGIN, READ_HERE
from kafka_reassign_rpc.kraft.front.caller_link import LinkLost
from kafka_reassign_rpc.protocol.frame_codec import decode_request, decode_response, peek_request_header
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import RESPONSES, SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_reassign_rpc.protocol.served_connection import MIN_REQUEST_BYTES
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.authenticator import Admission, End, Step
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.security.sasl.scram_messages import parse_client_first

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
