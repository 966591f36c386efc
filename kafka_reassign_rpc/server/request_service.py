"""What a server needs of whoever answers the requests."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage


class Service(Protocol):
    """Answers requests."""

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """The versions that are served, by API key. Anything else closes the connection."""

    def handle(self, request: DecodedRequest, peer: Peer) -> ApiMessage | bytes | Awaitable[ApiMessage | bytes]:
        """The body of the answer: a message, its bytes where they are encoded already, or an awaitable of either.

        Never raises for what a request asks for: errors have a place in every answer.
        """
