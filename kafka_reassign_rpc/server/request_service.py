"""What a server needs of whoever answers the requests."""

from collections.abc import Mapping
from typing import Any, Protocol

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest


class Service(Protocol):
    """Answers requests."""

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """The versions that are served, by API key. Anything else closes the connection."""

    def handle(self, request: DecodedRequest, peer: Peer) -> Any:
        """The body of the answer: a message, its bytes where they are encoded already, or an awaitable of either.

        Never raises for what a request asks for: errors have a place in every answer.
        """
