"""A connection without I/O: bytes in, requests out; answers in, bytes out. And the same for the client's side.

Theory of operation
===================
Kafka's protocol has no start of its own: the first bytes of a connection are the first request. A frame is four bytes
of length and as many bytes of request. The server answers in the order of the requests, one answer each, and says
nothing that it was not asked for. Kafka keeps that order by having one request of a connection in work at a time, and
so do we: `receive` puts whole frames into a queue, `next_frame` takes the first one out when the one before it has its
answer, and `answer` makes the bytes that go back. So answers are in order because nothing else is possible, and what
one connection can make a server hold is bounded by what is read of it.

What the peer may do wrong is of two kinds. After almost all of it (a size out of bounds, an unknown API, a version that
is not served, a body that does not parse) Kafka closes the connection without a word, and so do we: a stream whose
framing or meaning is in doubt has no next request. The one exception is ApiVersions in an unknown version, which is
answered in version 0 with error 35: that is how a newer client finds out. What came before the fault is still owed its
answers: `over` turns true when they are out, and then the transport is to be closed.

    state    event                                   next state
    -------  --------------------------------------  --------------------------------------
    OPEN     a whole frame                           OPEN       it is queued
    OPEN     a size that is out of bounds            ENDED      `fault` says so
    OPEN     end(): the peer, or we, want no more    ENDED      half a frame is dropped
    either   next_frame()                            the same   the frame is in work
    either   answer(), or refuse() of ApiVersions    the same   nothing is in work
    either   refuse() of anything else               ENDED      `fault` says so, the queue is dropped
    either   abandon(): the transport is gone        ENDED      the queue is dropped
    ENDED    bytes                                   ENDED      thrown away

`over` is ENDED with nothing queued and nothing in work. Every frame is a request: bare tokens follow a SaslHandshake 0
only where it succeeds, and no listener does SASL.

Rules: whatever affects the state is in this file, and this file knows of no socket, no clock and no event loop. `parse`
alone may be called from another thread: it changes nothing.

Memory and time
===============
Nothing is set aside for a frame that is announced: bytes are kept as they come. Each byte is copied at most twice
(into the buffer, and out of it as a frame), however the stream is split. Whole frames in one piece of input do not
pass through the buffer at all.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from kafka_reassign_rpc.protocol.frame_codec import (
    DecodedRequest,
    RequestHeader,
    answer_header,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    peek_request_header,
    request_prefix,
    response_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import (
    UNSUPPORTED_VERSION,
    BadFrameSize,
    LocalProtocolError,
    RemoteProtocolError,
    UnexpectedAnswer,
)
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage, ApiVersionsResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

MAX_REQUEST_BYTES = 10 * 1024 * 1024
"""Kafka's socket.request.max.bytes is 100 MiB, for batches of records. Nothing that an administrator sends comes near:
a move of 100,000 partitions is some 3 MB."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""For answers that we asked for: they name what the request named, and requests are far smaller."""
MIN_REQUEST_BYTES = 8
MIN_ANSWER_BYTES = 4


class Refusal(msgspec.Struct, frozen=True):
    """A request that cannot be served: what is wrong with it, and what could be read of its header."""

    error: RemoteProtocolError
    header: RequestHeader

    @property
    def closes(self) -> bool:
        """Whether it has no answer and is the end of the connection."""
        return self.error.closes


class FrameBuffer:
    """Cuts a stream into frames: four bytes of length, then as many bytes."""

    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self._kept = bytearray()
        self._missing = 0
        """Bytes without which there is no use in looking at what is kept."""

    def __len__(self) -> int:
        """Bytes kept: those of a frame that is not complete."""
        return len(self._kept)

    def receive(self, data: bytes) -> tuple[list[bytes], BadFrameSize | None]:
        """The frames that are complete now, without their lengths, and what is wrong with the one behind them."""
        source: bytes | bytearray = data
        if self._kept:
            self._kept += data
            if len(data) < self._missing:
                self._missing -= len(data)
                return [], None
            source = self._kept
        frames: list[bytes] = []
        pos, end = 0, len(source)
        self._missing = 0
        while end - pos >= 4:
            size = int.from_bytes(source[pos : pos + 4], "big", signed=True)
            if not self._least <= size <= self._most:
                self._kept = bytearray()
                return frames, BadFrameSize(f"a frame of {size} bytes, {self._least} to {self._most} are accepted")
            stop = pos + 4 + size
            if stop > end:
                self._missing = stop - end
                break
            frames.append(bytes(source[pos + 4 : stop]))
            pos = stop
        if source is self._kept:
            del self._kept[:pos]
        elif pos < end:
            self._kept += source[pos:]
        return frames, None

    def clear(self) -> None:
        self._kept = bytearray()


class Connection:
    """The server's side of one connection.

    served            versions accepted, by API key
    max_frame_bytes   frames larger than this are a fault
    fault             the first thing that the peer did wrong, None while there is none
    """

    def __init__(self, served: Mapping[int, tuple[int, int]], *, max_frame_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._served = served
        self._frames = FrameBuffer(MIN_REQUEST_BYTES, max_frame_bytes)
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._in_work: bytes | None = None
        self.ended = False
        """No more is taken in: the state ENDED."""
        self.partial_bytes = 0
        """Bytes of a frame that is not whole yet."""
        self.fault: RemoteProtocolError | None = None

    @property
    def queued(self) -> int:
        """Whole frames that wait."""
        return len(self._queue)

    @property
    def held_bytes(self) -> int:
        """Bytes of requests that have come and are not answered: in part, queued, and in work."""
        in_work = self._in_work
        return self.partial_bytes + self._queued_bytes + (0 if in_work is None else len(in_work))

    @property
    def over(self) -> bool:
        """Whether nothing more comes and all that is owed is out: close the transport."""
        return self.ended and not self._queue and self._in_work is None

    # ------------------------------------------------------------------------------------------------ in

    def receive(self, data: bytes) -> int:
        """Take in bytes as they came. Returns how many frames have become whole; `fault` may be set after it."""
        if self.ended:
            return 0
        frames, fault = self._frames.receive(data)
        self.partial_bytes = len(self._frames)
        if frames:
            self._queue += frames
            self._queued_bytes += sum(map(len, frames))
        if fault is not None:
            self._wrong(fault)
        return len(frames)

    def end(self) -> None:
        """No more is wanted; what is queued is answered. Half a frame is thrown away."""
        self.ended = True
        self.partial_bytes = 0
        self._frames.clear()

    def abandon(self) -> None:
        """The transport is gone. A request in work may still be answered, to nobody."""
        self.end()
        self._queue.clear()
        self._queued_bytes = 0

    def _wrong(self, error: RemoteProtocolError) -> None:
        if self.fault is None:
            self.fault = error
        self.end()

    # ------------------------------------------------------------------------------------------------ work

    def next_frame(self) -> bytes:
        """The first frame `queued`: it is in work from now on, and owed one `answer` or `refuse`.

        Raises LocalProtocolError while the request before it is in work, and where none waits.
        """
        if self._in_work is not None:
            raise LocalProtocolError("the request before has no answer yet")
        if not self._queue:
            raise LocalProtocolError("no request waits")
        frame = self._in_work = self._queue.popleft()
        self._queued_bytes -= len(frame)
        return frame

    def parse(self, frame: bytes) -> DecodedRequest | Refusal:
        """What a frame asks for. Changes nothing, so that a large one can be read in a thread."""
        try:
            return decode_request(frame, self._served)
        except RemoteProtocolError as error:
            return Refusal(error, peek_request_header(frame))

    # ------------------------------------------------------------------------------------------------ out

    def answer(self, request: DecodedRequest, body: ApiMessage | bytes) -> bytes:
        """The bytes that answer the request in work: `body` is a message, or the bytes of one (see encode_body).

        Raises LocalProtocolError, and leaves the request in work, where the message does not fit its schema.
        """
        if self._in_work is None:
            raise LocalProtocolError("no request is in work")
        header = request.header
        if isinstance(body, bytes):
            prefix = response_prefix(header.api_key, header.api_version, header.correlation_id, len(body))
            data = prefix + body
        else:
            data = encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
        self._in_work = None
        return data

    def refuse(self, refusal: Refusal) -> bytes:
        """The bytes that answer a Refusal of the request in work: none where it closes the connection.

        ApiVersions is answered in version 0 with error 35, and what is served of ApiVersions itself.
        """
        if self._in_work is None:
            raise LocalProtocolError("no request is in work")
        self._in_work = None
        if refusal.closes:
            self._wrong(refusal.error)
            self.abandon()
            return b""
        key = ApiKey.API_VERSIONS
        low, high = self._served[key]
        known = ApiVersionsResponse.ApiVersion(version=0, api_key=int(key), min_version=low, max_version=high)
        body = ApiVersionsResponse(version=0, error_code=UNSUPPORTED_VERSION, api_keys=[known])
        return encode_response(body, version=0, correlation_id=refusal.header.correlation_id)


class ClientConnection:
    """The client's side: numbers requests, and takes answers in their order.

    Kafka answers in order, so an answer that is not to the oldest request open is a fault of the server, and the
    connection is of no more use: `receive` raises.
    """

    def __init__(self, client_id: str | None, *, max_frame_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._client_id = client_id
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, max_frame_bytes)
        self._open: deque[tuple[int, type[ApiMessage], int, bool]] = deque()
        self._next = 0
        self._broken = False

    @property
    def pending(self) -> int:
        """Requests that have no answer yet."""
        return len(self._open)

    def send(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: bool = False
    ) -> bytes:
        """The bytes of a request: `body` is a message of that class, or the bytes of one (see encode_body).

        `raw`: its answer's body is wanted as bytes.
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
        """Take in bytes as they came: the bodies of the answers that are whole now, in the order of their requests.

        Raises RemoteProtocolError; answers that came whole before are lost with it.
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
