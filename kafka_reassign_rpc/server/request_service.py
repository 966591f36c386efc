"""The service that a server needs to answer requests."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, Reply, RequestHeader
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import ApiMessage


class Service(Protocol):
    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """Versions by API key. A request for any other closes the connection."""

    @property
    def max_elements(self) -> Mapping[int, int]:
        """The most array elements of a request, by API key."""

    def refusal(self, header: RequestHeader, error: RemoteProtocolError) -> ApiMessage | None:
        """The answer to a request that cannot be decoded; None closes the connection."""

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        """The answer in the midst of authentication, or None if it has no field for an error."""

    def handle(self, request: DecodedRequest, peer: Peer) -> Reply | Awaitable[Reply]:
        """Does not raise for a request's own errors: every answer has a place for them."""
