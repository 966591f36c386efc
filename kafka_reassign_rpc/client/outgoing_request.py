"""One request on its way through kafka-python's network layer, with our codec at both ends.

kafka-python finds the class of an answer in a registry keyed by API alone. Ours must not stand there (they would
take the place of its own in the whole process), so a request brings the class of its answer along; and what a
server sends is checked for its bounds before anything is allocated, as everywhere in this package.
Duck type of: kafka.protocol.api_message.ApiMessage, as kafka.net.connection and kafka.protocol.parser use it.
"""

import struct
from typing import Any, NamedTuple

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import RESPONSES


class Frame(NamedTuple):
    """An answer that nobody has read yet, with the version that it is in."""

    data: bytes
    version: int


class Outgoing:
    """`body` is a request message, `version` the version to send it in.

    `whole` false: the answer is a Frame, for a caller who reads it bit by bit on a thread of its own.
    """

    def __init__(self, body: Any, version: int, *, whole: bool = True) -> None:
        self._whole = whole
        self.API_KEY: int = body.API_KEY
        self.API_VERSION = version
        self.header: _InFlight | None = None
        self._body = body
        self._client_id: str | None = None

    def expect_response(self) -> bool:
        return True

    def with_header(self, correlation_id: int, client_id: str | None) -> None:
        self.header = _InFlight(correlation_id, self.API_KEY, self.API_VERSION, whole=self._whole)
        self._client_id = client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:
        assert framed
        assert header
        assert self.header is not None
        return encode_request(
            self._body,
            version=self.API_VERSION,
            correlation_id=self.header.correlation_id,
            client_id=self._client_id,
        )

    def __str__(self) -> str:
        return f"{type(self._body).__name__}_v{self.API_VERSION}"


class _InFlight:
    """What the parser keeps of a request until its answer comes."""

    def __init__(self, correlation_id: int, api_key: int, api_version: int, *, whole: bool) -> None:
        self.whole = whole
        self.correlation_id = correlation_id
        self.api_key = api_key
        self.api_version = api_version

    def get_response_class(self) -> "_Answer":
        return _Answer(self)


class _Answer:
    """Reads the answer; `correlation_id` is known once its header was read."""

    def __init__(self, request: _InFlight) -> None:
        self.correlation_id = -1
        self._request = request

    def parse_header(self, buffer: Any) -> "_Answer":
        (self.correlation_id,) = struct.unpack(">i", buffer.read(4))
        buffer.seek(0)
        return self

    def decode(self, buffer: Any) -> Any:
        """The body. Raises ValueError, by which the parser knows that nothing more can be read from there."""
        if not self._request.whole:
            return Frame(buffer.read(), self._request.api_version)
        try:
            _, body = decode_response(
                RESPONSES[self._request.api_key], buffer.read(), version=self._request.api_version
            )
        except RemoteProtocolError as error:
            raise ValueError(str(error)) from error
        return body
