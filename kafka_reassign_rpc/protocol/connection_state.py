"""A connection without I/O, for the server's side and for the client's: bytes in, requests out; answers in, bytes out.

Theory of operation
===================
Kafka's protocol has no handshake of its own: the first bytes of a connection are the first request. A frame is a length
of four bytes and that many bytes of request. The server answers requests in their order, one answer each, and sends
nothing else. Kafka keeps the order by processing one request of a connection at a time, and so does this state machine:
`receive` queues whole frames, `next_frame` takes the first one out once the previous request has its answer, and
`answer` makes the bytes that go back. What one connection can make a server hold is bounded by what the server reads of
it.

The peer can make two kinds of mistakes. After most of them (a size out of bounds, an unknown API, a version that is not
served, a body that does not parse) Kafka closes the connection without an answer, and so does the server: after them
nobody knows where the next request begins or what it means. The one exception is ApiVersions in an unknown version: the
server answers it in version 0 with error 35, from which a newer client learns what the server speaks. Requests before
the mistake still get their answers. When these are out, `over` turns true, and the transport has to be closed.

    state    event                                   next state
    -------  --------------------------------------  --------------------------------------
    OPEN     a whole frame                           OPEN       the frame is queued
    OPEN     a size that is out of bounds            ENDED      `fault` is set
    OPEN     end(): one of the two sides is done     ENDED      half a frame is dropped
    either   next_frame()                            the same   the frame is in work
    either   answer(), or refuse() of ApiVersions    the same   nothing is in work
    either   refuse() of anything else               ENDED      `fault` is set, the queue is dropped
    either   answered(): the answer is made          the same   nothing is in work
    either   close()                                 ENDED      the queue is dropped
    ENDED    hold()                                  ENDED      the end itself is in work
    either   abandon(): the transport is gone        ENDED      the queue is dropped
    ENDED    bytes                                   ENDED      the bytes are dropped

`over` is ENDED with nothing queued and nothing in work.

While a client authenticates, a frame need not be a request: after SaslHandshake 0 it is a bare token. Then frames have
other bounds, and the next one is cut off only when the one before is answered, since its bounds depend on that
(`one_by_one`).

Rules: this file has everything that changes the state, and it knows no socket, no clock and no event loop. `parse` and
`parse_in_slices` change nothing.

Memory and time
===============
The announcement of a frame allocates nothing: bytes are kept as they come. Each byte is copied at most twice (into the
buffer, and out of it as a frame), however the stream is split. Frames that arrive whole in one piece of input do not
pass through the buffer.
"""

from collections import deque
from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from kafka_reassign_rpc.protocol.frame_codec import (
    ANY_REQUEST,
    Body,
    DecodedRequest,
    RequestHeader,
    answer_header,
    decode_request,
    decode_request_in_slices,
    decode_response,
    encode_request,
    encode_response,
    peek_client_id,
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
"""Kafka's socket.request.max.bytes is 100 MiB, for batches of records. Administrators' requests are far smaller: a move
of 100,000 partitions takes some 3 MB."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""For answers to our own requests: they name what the request named, and requests are far smaller."""
MIN_REQUEST_BYTES = 8
MIN_ANSWER_BYTES = 4


class Refusal(msgspec.Struct, frozen=True):
    """A request that cannot be served: its error, and the part of its header that could be read."""

    error: RemoteProtocolError
    header: RequestHeader

    @property
    def closes(self) -> bool:
        """Whether the refusal closes the connection without an answer."""
        return self.error.closes


class FrameBuffer:
    """Cuts a stream into frames: four bytes of length, then that many bytes."""

    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self._kept = bytearray()
        self._missing = 0
        """Until so many more bytes have come, the kept bytes need not be looked at."""
        self._single = False

    def __len__(self) -> int:
        """The number of kept bytes: those of an incomplete frame."""
        return len(self._kept)

    def bound(self, least: int, most: int, *, single: bool) -> None:
        """Sets the bounds of the frames that are not cut off yet. `single`: `receive` cuts off one at most."""
        self._least, self._most, self._single = least, most, single
        self._missing = 0

    def receive(self, data: bytes) -> tuple[list[bytes], BadFrameSize | None]:
        """The frames that are complete now, without their lengths, and the error of the frame behind them."""
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
        while end - pos >= 4 and not (self._single and frames):
            size = int.from_bytes(source[pos : pos + 4], "big", signed=True)
            if not self._least <= size <= self._most:
                self._kept = bytearray()
                return frames, BadFrameSize(f"a frame of {size} bytes, {self._least} to {self._most} are accepted")
            stop = pos + 4 + size
            if stop > end:
                self._missing = stop - end
                break
            with memoryview(source) as view:  # one copy
                frames.append(bytes(view[pos + 4 : stop]))
            pos = stop
        if source is self._kept:
            del self._kept[:pos]
        elif pos < end:
            self._kept += source[pos:]
        return frames, None

    def keep(self, data: bytes) -> None:
        """Takes in bytes that the next `receive` cuts into frames."""
        self._kept += data
        self._missing = 0

    def clear(self) -> None:
        self._kept = bytearray()


class Connection:
    """The server's side of one connection.

    served            versions accepted, by API key
    max_elements      the most array elements of a request, by API key
    max_frame_bytes   a larger frame is a fault
    fault             the peer's first mistake, None while there is none
    """

    def __init__(
        self,
        served: Mapping[int, tuple[int, int]],
        max_elements: Mapping[int, int] = ANY_REQUEST,
        *,
        max_frame_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        self._served = served
        self._max_elements = max_elements
        self._max_frame_bytes = max_frame_bytes
        self._frames = FrameBuffer(MIN_REQUEST_BYTES, max_frame_bytes)
        self._one_by_one = False
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._in_work: bytes | None = None
        self.ended = False
        """The state ENDED: the connection takes nothing more in."""
        self.partial_bytes = 0
        """Bytes of an incomplete frame."""
        self.fault: RemoteProtocolError | None = None

    @property
    def queued(self) -> int:
        """The number of whole frames in the queue."""
        return len(self._queue)

    @property
    def held_bytes(self) -> int:
        """Bytes of requests that have arrived and are not answered: incomplete, queued, and in work."""
        in_work = self._in_work
        return self.partial_bytes + self._queued_bytes + (0 if in_work is None else len(in_work))

    @property
    def over(self) -> bool:
        """Whether the connection has ended and all answers are out: close the transport."""
        return self.ended and not self._queue and self._in_work is None

    @property
    def waiting(self) -> bool:
        """Whether frames, or bytes that are not cut into frames, wait for the request in work."""
        return bool(self._queue) or (self._one_by_one and self._in_work is not None and self.partial_bytes > 0)

    # ------------------------------------------------------------------------------------------------ in

    def one_by_one(self, max_frame_bytes: int) -> None:
        """From now on frames have 0 to `max_frame_bytes` bytes, and each is cut off when the one before is answered.
        Then call `receive`, also without new bytes."""
        self._one_by_one = True
        self._frames.bound(0, max_frame_bytes, single=True)

    def requests(self) -> None:
        """From now on all frames are requests again."""
        self._one_by_one = False
        self._frames.bound(MIN_REQUEST_BYTES, self._max_frame_bytes, single=False)

    def receive(self, data: bytes) -> int:
        """Takes in bytes as they arrive. Returns how many frames they complete; may set `fault`."""
        if self.ended:
            return 0
        if self._one_by_one and (self._in_work is not None or self._queue):
            self._frames.keep(data)
            self.partial_bytes = len(self._frames)
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
        """Takes nothing more in and drops half a frame. Queued frames still get their answers."""
        self.ended = True
        self.partial_bytes = 0
        self._frames.clear()

    def abandon(self) -> None:
        """The transport is gone. A request in work may still be answered; the answer goes nowhere."""
        self.end()
        self._queue.clear()
        self._queued_bytes = 0

    def _wrong(self, error: RemoteProtocolError) -> None:
        if self.fault is None:
            self.fault = error
        self.end()

    # ------------------------------------------------------------------------------------------------ work

    def next_frame(self) -> bytes:
        """Takes the first queued frame into work. It needs one `answer` or `refuse`.

        Raises LocalProtocolError while another request is in work, and where no frame is queued.
        """
        if self._in_work is not None:
            raise LocalProtocolError("the request before has no answer yet")
        if not self._queue:
            raise LocalProtocolError("no request waits")
        frame = self._in_work = self._queue.popleft()
        self._queued_bytes -= len(frame)
        return frame

    def parse(self, frame: bytes) -> DecodedRequest | Refusal:
        """Decodes a frame. Changes nothing."""
        try:
            return decode_request(frame, self._served, max_elements=self._max_elements)
        except RemoteProtocolError as error:
            return _refusal(error, frame)

    def parse_in_slices(self, frame: bytes) -> Generator[None, None, DecodedRequest | Refusal]:
        """`parse` of a large frame as a generator: it yields between slices of its work, and returns the result."""
        try:
            return (yield from decode_request_in_slices(frame, self._served, self._max_elements))
        except RemoteProtocolError as error:
            return _refusal(error, frame)

    # ------------------------------------------------------------------------------------------------ out

    def answer(self, request: DecodedRequest, body: Body) -> bytes:
        """The bytes of the answer to the request in work. `body` is a message, or an encoded one (see encode_body). Of
        an encoded one in pieces, only the bytes before the first piece are returned.

        Raises LocalProtocolError, and leaves the request in work, where the message does not fit its schema.
        """
        if self._in_work is None:
            raise LocalProtocolError("no request is in work")
        header = request.header
        if isinstance(body, list):
            size = sum(map(len, body))
            data = response_prefix(header.api_key, header.api_version, header.correlation_id, size)
        elif isinstance(body, bytes):
            prefix = response_prefix(header.api_key, header.api_version, header.correlation_id, len(body))
            data = prefix + body
        else:
            data = encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
        self._in_work = None
        return data

    def close(self) -> None:
        """The request in work, and those behind it, get no answer: its peer wants none, and has to see an error."""
        self.answered()
        self.abandon()

    def answered(self) -> None:
        """The frame in work is done with: its answer, if any, was made elsewhere."""
        if self._in_work is None:
            raise LocalProtocolError("no request is in work")
        self._in_work = None

    def hold(self) -> None:
        """The connection is not `over` although it has ended: something is still to be said."""
        self._in_work = b""

    def refuse(self, refusal: Refusal, body: ApiMessage | None = None) -> bytes:
        """The bytes of the answer to a refused request in work; none where the refusal closes the connection.

        A refused ApiVersions is answered in version 0 with error 35 and the versions of ApiVersions that are served.
        With `body`, the request is answered with that instead, and the connection goes on.
        """
        if self._in_work is None:
            raise LocalProtocolError("no request is in work")
        self._in_work = None
        if body is not None:
            header = refusal.header
            return encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
        if refusal.closes:
            self._wrong(refusal.error)
            self.abandon()
            return b""
        return unsupported_api_versions(self._served[ApiKey.API_VERSIONS], refusal.header.correlation_id)


def unsupported_api_versions(served: tuple[int, int], correlation_id: int) -> bytes:
    """The answer to an ApiVersions in an unknown version: error 35 in version 0, and the versions that are served."""
    low, high = served
    known = ApiVersionsResponse.ApiVersion(
        version=0, api_key=int(ApiKey.API_VERSIONS), min_version=low, max_version=high
    )
    body = ApiVersionsResponse(version=0, error_code=UNSUPPORTED_VERSION, api_keys=[known])
    return encode_response(body, version=0, correlation_id=correlation_id)


def _refusal(error: RemoteProtocolError, frame: bytes) -> Refusal:
    """The refusal of a frame. A traceback would keep the frame, and all that was decoded of it, alive."""
    error.__traceback__ = error.__context__ = None
    return Refusal(error, msgspec.structs.replace(peek_request_header(frame), client_id=peek_client_id(frame)))


class ClientConnection:
    """The client's side: numbers requests, and takes answers in their order.

    Kafka answers in order. So an answer to any request but the oldest open one is a fault of the server; the connection
    cannot be used any further, and `receive` raises.
    """

    def __init__(self, client_id: str | None, *, max_frame_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._client_id = client_id
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, max_frame_bytes)
        self._open: deque[tuple[int, type[ApiMessage], int, bool]] = deque()
        self._next = 0
        self._broken = False

    @property
    def pending(self) -> int:
        """The number of requests without an answer."""
        return len(self._open)

    def send(
        self, request_class: type[ApiMessage], body: ApiMessage | bytes, version: int, *, raw: bool = False
    ) -> bytes:
        """The bytes of a request. `body` is a message of that class, or an encoded one (see encode_body).

        `raw`: the caller wants the answer's body as bytes.
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
        """Takes in bytes as they arrive. Returns the bodies of the answers that they complete, in the order of the
        requests.

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
