"""The service that a server needs to answer requests."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage


class Service(Protocol):
    """Answers requests."""

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """The versions that are served, by API key. A request for any other closes the connection."""

    def handle(self, request: DecodedRequest, peer: Peer) -> ApiMessage | bytes | Awaitable[ApiMessage | bytes]:
        """The body of the answer: a message, an encoded one, or an awaitable of either.

        Raises nothing for a request's own errors: every answer has a place for them.
        """
