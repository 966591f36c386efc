"""A request of ours in the shape that kafka-python's network layer sends, with our codec at both ends.

kafka-python finds the class of an answer in a registry by API key alone. Our classes cannot go there: they would
replace kafka-python's own for the whole process. A request therefore brings the class of its answer along. As
everywhere in this package, the decoder checks lengths before it allocates anything.
Duck type of: kafka.protocol.api_message.ApiMessage, as kafka.net.connection and kafka.protocol.parser use it.
"""

import struct
from typing import BinaryIO, NamedTuple

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage


class UndecodedAnswer(NamedTuple):
    """The bytes of an answer, and the version of the API in which they are encoded."""

    data: bytes
    version: int


class KafkaPythonRequest:
    """One request.

    body      a request message
    version   the API version to send it in
    decoded   False: the answer is an UndecodedAnswer, for a caller that decodes it in parts on its own thread
    """

    def __init__(self, body: ApiMessage, version: int, *, decoded: bool = True) -> None:
        self._decoded = decoded
        self.API_KEY: int = body.API_KEY
        self.API_VERSION = version
        self.header: _SentHeader | None = None
        self._body = body
        self._client_id: str | None = None

    def expect_response(self) -> bool:
        return True

    def with_header(self, correlation_id: int, client_id: str | None) -> None:
        self.header = _SentHeader(correlation_id, self.API_KEY, self.API_VERSION, decoded=self._decoded)
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


class _SentHeader:
    """What kafka-python's parser keeps of a request until its answer arrives."""

    def __init__(self, correlation_id: int, api_key: int, api_version: int, *, decoded: bool) -> None:
        self.decoded = decoded
        self.correlation_id = correlation_id
        self.api_key = api_key
        self.api_version = api_version

    def get_response_class(self) -> "_AnswerDecoder":
        return _AnswerDecoder(self)


class _AnswerDecoder:
    """Decodes one answer. `correlation_id` is valid after `parse_header`."""

    def __init__(self, request: _SentHeader) -> None:
        self.correlation_id = -1
        self._request = request

    def parse_header(self, buffer: BinaryIO) -> "_AnswerDecoder":
        (self.correlation_id,) = struct.unpack(">i", buffer.read(4))
        buffer.seek(0)
        return self

    def decode(self, buffer: BinaryIO) -> ApiMessage | UndecodedAnswer:
        """The body. Raises ValueError for a garbled answer; kafka-python's parser then gives the connection up."""
        if not self._request.decoded:
            return UndecodedAnswer(buffer.read(), self._request.api_version)
        try:
            _, body = decode_response(
                RESPONSES[self._request.api_key], buffer.read(), version=self._request.api_version
            )
        except RemoteProtocolError as error:
            raise ValueError(str(error)) from error
        return body
