"""The login of a client of the front is the cluster's affair: its bytes go to the broker and back as they are.

Only the broker knows whether a login has succeeded. It answers no other request before: so the login is over for us
with the first other request that has an answer. Until then frames are small, and the time for all of it is bounded
(`slow.client.timeout.ms`).
"""

from collections.abc import Awaitable, Callable

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.kraft.front.announced import LOGIN
from kafka_reassign_rpc.kraft.front.caller_link import LinkLost
from kafka_reassign_rpc.protocol.frame_codec import decode_response, peek_request_header
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import RESPONSES
from kafka_reassign_rpc.protocol.served_connection import MIN_REQUEST_BYTES
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.authenticator import Admission, End, Step
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE

Relay = Callable[[bytes], Awaitable[list[bytes]]]
"""A frame to its answer, with the length in front. Raises LinkLost, and RemoteProtocolError for what the front does not
serve."""


class RelayedLogin:
    """`proved` is called once."""

    guards = True
    principal = ANONYMOUS
    """The broker tells nobody who its clients are."""
    mechanism = ""
    max_receive_size = MAX_RECEIVE_SIZE

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.authenticated = False

    def proved(self) -> None:
        self.authenticated = True

    def admission(self, frame: bytes) -> Admission:
        if self.authenticated:
            return Admission.SERVE
        is_request = len(frame) >= MIN_REQUEST_BYTES
        return Admission.SERVE if is_request and peek_request_header(frame).api_key not in LOGIN else Admission.TAKE

    async def receive(self, frame: bytes) -> Step:
        try:
            answer = b"".join(await self._relay(frame))
        except (LinkLost, RemoteProtocolError) as error:
            return Step(end=End.CLOSE_NOW, reason=str(error))
        return Step(answer, End.CLOSE_LATER if _is_refusal(frame, answer) else End.OPEN)

    def invalid_size(self, text: str) -> Step:
        return Step(end=End.CLOSE_NOW, reason=text)


def _is_refusal(frame: bytes, answer: bytes) -> bool:
    """After which the broker closes the connection. Raises RemoteProtocolError."""
    header = peek_request_header(frame)
    if header.api_key == ApiKey.API_VERSIONS:
        return False
    _, found = decode_response(RESPONSES[header.api_key], answer[4:], version=header.api_version)
    return bool(found.error_code)  # type: ignore[attr-defined]
