"""The client's side of a connection, without I/O: requests out, answers in."""

from collections import deque
from typing import Any

from kafka_reassign_rpc.protocol.frame_codec import answer_header, decode_response, encode_request, request_prefix
from kafka_reassign_rpc.protocol.frame_errors import LocalProtocolError, RemoteProtocolError, UnexpectedAnswer
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage
from kafka_reassign_rpc.protocol.served_connection import FrameBuffer

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Answers name what our own requests named, and those are far smaller."""
MIN_ANSWER_BYTES = 4


class ClientConnection:
    """Numbers requests, and takes answers in their order.

    An answer to any request but the oldest open one is a fault of the server: `receive` raises, and the connection is
    unusable.
    """

    def __init__(self, client_id: str | None, *, max_frame_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._client_id = client_id
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, max_frame_bytes)
        self._open: deque[tuple[int, type[ApiMessage], int, bool]] = deque()
        self._next = 0
        self._broken = False

    @property
    def pending(self) -> int:
        """Requests without an answer."""
        return len(self._open)

    def send(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: bool = False
    ) -> bytes:
        """`body` is a message of that class, or an encoded one (encode_body). With `raw` the answer's body comes as
        bytes.
        """
        if self._broken:
            raise LocalProtocolError("the connection is broken")
        number, name = self._next, self._client_id
        if isinstance(body, bytes):
            prefix = request_prefix(
                request_class, version=version, correlation_id=number, client_id=name, body_size=len(body)
            )
            data = prefix + body
        else:
            data = encode_request(body, version=version, correlation_id=number, client_id=name)
        self._next = (number + 1) & 0x7FFFFFFF
        self._open.append((number, RESPONSES[request_class.API_KEY], version, raw))
        return data

    def receive(self, data: bytes) -> list[Any]:
        """Returns the bodies of the answers that the bytes complete, in the order of the requests.

        Raises RemoteProtocolError; answers that the same bytes completed are lost with it.
        """
        if self._broken:
            raise LocalProtocolError("the connection is broken")
        answers: list[Any] = []
        try:
            frames, fault = self._frames.receive(data)
            for frame in frames:
                if not self._open:
                    raise UnexpectedAnswer("an answer that nobody waits for")
                number, cls, version, raw = self._open[0]
                body: ApiMessage | bytes
                if raw:
                    correlation_id, start = answer_header(cls, frame, version=version)
                    body = frame[start:]
                else:
                    correlation_id, body = decode_response(cls, frame, version=version)
                if correlation_id != number:
                    raise UnexpectedAnswer(f"an answer to request {correlation_id}, it is the turn of {number}")
                self._open.popleft()
                answers.append(body)
            if fault is not None:
                raise fault
        except RemoteProtocolError:
            self._broken = True
            self._frames.clear()
            raise
        return answers
