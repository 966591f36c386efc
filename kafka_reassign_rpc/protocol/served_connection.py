"""The server's side of a connection, without I/O. A call without a row in `STREAM` for the present state is a mistake
of the caller.

As in Kafka, requests are answered in order, one at a time: `receive` queues whole frames, `next_frame` takes the first
one out once the previous request has its answer.

After most mistakes of the peer (a size out of bounds, an unknown API or version, a body that does not parse) the server
closes the connection without an answer, as Kafka does: nobody knows where the next request begins. Only ApiVersions in
an unknown version is answered, in version 0 with error 35: from that a newer client learns what the server speaks.
Requests before the mistake still get their answers; then `over` turns true.

While a client authenticates, a frame may be a bare token (after SaslHandshake 0). The bounds of such a frame depend on
the answer before, so it is cut off only then (`one_by_one`).

"""

from collections import deque
from collections.abc import Generator, Mapping
from enum import IntEnum, auto
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.protocol.frame_codec import (
    ANY_REQUEST,
    Body,
    DecodedRequest,
    RequestHeader,
    decode_request,
    decode_request_in_slices,
    encode_response,
    peek_client_id,
    peek_request_header,
    response_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import (
    UNSUPPORTED_VERSION,
    BadFrameSize,
    LocalProtocolError,
    RemoteProtocolError,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage, ApiVersionsResponse
from kafka_reassign_rpc.protocol.versions import ApiKey


class FrameBuffer:
    """Cuts a stream of bytes into frames, of either side: four bytes of length, then that many bytes. The length alone
    allocates nothing. Each byte is copied at most twice, however the stream is split; a frame that arrives in one piece
    skips the buffer.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self._kept = bytearray()
        self._missing = 0
        """Until so many more bytes have come, the kept bytes need not be looked at."""
        self._single = False

    def __len__(self) -> int:
        return len(self._kept)

    def bound(self, least: int, most: int, *, single: bool) -> None:
        """For the frames that are not cut off yet. With `single`, `receive` cuts off at most one."""
        self._least, self._most, self._single = least, most, single
        self._missing = 0

    def receive(self, data: bytes) -> tuple[list[bytes], BadFrameSize | None]:
        """Returns the frames that are complete now, without their lengths, and the error of the frame behind them."""
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

    def whole(self, data: bytes) -> bytes | None:
        """Returns the frame, if these bytes are one frame and none are kept, as for most pieces of input."""
        size = len(data) - 4
        if self._kept or not self._least <= size <= self._most or int.from_bytes(data[:4], "big") != size:
            return None
        return data[4:]

    def keep(self, data: bytes) -> None:
        """Takes in bytes that the next `receive` cuts into frames."""
        self._kept += data
        self._missing = 0

    def clear(self) -> None:
        self._kept = bytearray()


MAX_REQUEST_BYTES = 10 * 1024 * 1024
"""Kafka's socket.request.max.bytes is 100 MiB, for batches of records.

Administrators' requests are far smaller: a move of 100,000 partitions takes some 3 MB.
"""
MIN_REQUEST_BYTES = 8


class Stream(IntEnum):
    OPEN = auto()
    OPEN_IN_WORK = auto()
    ENDED = auto()
    ENDED_IN_WORK = auto()


MEANINGS: Mapping[Stream, str] = {
    Stream.OPEN: "Bytes are taken in. Frames may be queued",
    Stream.OPEN_IN_WORK: "Bytes are taken in, and a frame is in work",
    Stream.ENDED: "Bytes are dropped. Frames may be queued; with none, the stream is over: close the transport",
    Stream.ENDED_IN_WORK: "Bytes are dropped, and a frame is in work",
}


class StreamEvent(IntEnum):
    NEXT_FRAME = auto()
    ANSWER = auto()
    END = auto()
    BAD_SIZE = auto()
    CLOSE = auto()
    ABANDON = auto()


class StreamRow(NamedTuple):
    states: tuple[Stream, ...]
    event: StreamEvent
    after: Stream
    meaning: str


_HALF = "One of the two sides has finished. Half a frame is dropped"
_GONE = "The transport is gone. Half a frame and the queue are dropped"

STREAM: tuple[StreamRow, ...] = (
    StreamRow((Stream.OPEN,), StreamEvent.NEXT_FRAME, Stream.OPEN_IN_WORK, "The first queued frame is in work"),
    StreamRow((Stream.ENDED,), StreamEvent.NEXT_FRAME, Stream.ENDED_IN_WORK, "The first queued frame is in work"),
    StreamRow(
        (Stream.OPEN_IN_WORK,), StreamEvent.ANSWER, Stream.OPEN, "The frame in work has its answer, or wants none"
    ),
    StreamRow((Stream.ENDED_IN_WORK,), StreamEvent.ANSWER, Stream.ENDED, "The same"),
    StreamRow((Stream.OPEN, Stream.ENDED), StreamEvent.END, Stream.ENDED, _HALF),
    StreamRow((Stream.OPEN_IN_WORK, Stream.ENDED_IN_WORK), StreamEvent.END, Stream.ENDED_IN_WORK, _HALF),
    StreamRow((Stream.OPEN,), StreamEvent.BAD_SIZE, Stream.ENDED, "A frame announces a size out of bounds: the fault"),
    StreamRow((Stream.OPEN_IN_WORK,), StreamEvent.BAD_SIZE, Stream.ENDED_IN_WORK, "The same"),
    StreamRow(
        (Stream.OPEN_IN_WORK, Stream.ENDED_IN_WORK),
        StreamEvent.CLOSE,
        Stream.ENDED,
        "The frame in work cannot be served (the fault), or its client has to see an error: the queue is dropped",
    ),
    StreamRow((Stream.OPEN, Stream.ENDED), StreamEvent.ABANDON, Stream.ENDED, _GONE),
    StreamRow((Stream.OPEN_IN_WORK, Stream.ENDED_IN_WORK), StreamEvent.ABANDON, Stream.ENDED_IN_WORK, _GONE),
)

AFTER: Mapping[Stream, Mapping[StreamEvent, Stream]] = {
    state: {row.event: row.after for row in STREAM if state in row.states} for state in Stream
}
"""State -> event -> next state."""


class Refusal(msgspec.Struct, frozen=True):
    """A request that cannot be served: its error, and the readable part of its header."""

    error: RemoteProtocolError
    header: RequestHeader

    @property
    def closes(self) -> bool:
        return self.error.closes


class Connection:
    """served            versions accepted, by API key
    max_elements      the most array elements of a request, by API key
    fault             the peer's first mistake, or None
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
        self.queue: deque[bytes] = deque()
        """The whole frames that wait. Others only look whether there are any."""
        self._queued_bytes = 0
        self._bytes_in_work = 0
        self.state = Stream.OPEN
        self.partial_bytes = 0
        """Bytes of an incomplete frame."""
        self.fault: RemoteProtocolError | None = None

    @property
    def ended(self) -> bool:
        return self.state >= Stream.ENDED

    @property
    def queued(self) -> int:
        return len(self.queue)

    @property
    def held_bytes(self) -> int:
        """Of requests that are not answered: incomplete, queued, and in work."""
        return self.partial_bytes + self._queued_bytes + self._bytes_in_work

    @property
    def empty(self) -> bool:
        """It takes bytes in, and has answered all."""
        return self.state is Stream.OPEN and not self.queue and not self.partial_bytes

    @property
    def over(self) -> bool:
        """All answers are out: close the transport."""
        return self.state is Stream.ENDED and not self.queue

    @property
    def waiting(self) -> bool:
        """Frames, or bytes that are not cut into frames, wait for the request in work."""
        return bool(self.queue) or (self._one_by_one and self._has_work and self.partial_bytes > 0)

    @property
    def _has_work(self) -> bool:
        return self.state is Stream.OPEN_IN_WORK or self.state is Stream.ENDED_IN_WORK

    # ------------------------------------------------------------------------------------------------ in

    def one_by_one(self, max_frame_bytes: int) -> None:
        """Frames now have 0 to `max_frame_bytes` bytes. After each answer call `receive`, even without new bytes."""
        self._one_by_one = True
        self._frames.bound(0, max_frame_bytes, single=True)

    def requests(self) -> None:
        self._one_by_one = False
        self._frames.bound(MIN_REQUEST_BYTES, self._max_frame_bytes, single=False)

    def receive(self, data: bytes) -> int:
        """Returns how many frames the bytes complete; may set `fault`."""
        if self.state >= Stream.ENDED:
            return 0
        if self._one_by_one and (self._has_work or self.queue):
            self._frames.keep(data)
            self.partial_bytes = len(self._frames)
            return 0
        whole = self._frames.whole(data)
        if whole is not None:
            self.queue.append(whole)
            self._queued_bytes += len(whole)
            return 1
        frames, fault = self._frames.receive(data)
        self.partial_bytes = len(self._frames)
        for frame in frames:
            self.queue.append(frame)
            self._queued_bytes += len(frame)
        if fault is not None:
            self.fault = fault
            self._end(StreamEvent.BAD_SIZE)
        return len(frames)

    def end(self) -> None:
        """Takes nothing more in. Queued frames still get their answers."""
        self._end(StreamEvent.END)

    def abandon(self) -> None:
        """The transport is gone. A request in work may still be answered; the answer goes nowhere."""
        self._end(StreamEvent.ABANDON)
        self._drop_queue()

    def _end(self, event: StreamEvent) -> None:
        self.state = AFTER[self.state][event]
        self.partial_bytes = 0
        self._frames.clear()

    def _drop_queue(self) -> None:
        self.queue.clear()
        self._queued_bytes = 0

    # ------------------------------------------------------------------------------------------------ work

    def next_frame(self) -> bytes:
        """Takes the first queued frame into work. It needs one `answer` or `refuse`.

        Raises LocalProtocolError while another is in work, and if none is queued.
        """
        after = AFTER[self.state].get(StreamEvent.NEXT_FRAME)
        if after is None:
            raise LocalProtocolError("the request before has no answer yet")
        if not self.queue:
            raise LocalProtocolError("no request waits")
        self.state = after
        frame = self.queue.popleft()
        self._bytes_in_work = size = len(frame)
        self._queued_bytes -= size
        return frame

    def parse(self, frame: bytes) -> DecodedRequest | Refusal:
        try:
            return decode_request(frame, self._served, max_elements=self._max_elements)
        except RemoteProtocolError as error:
            return _refusal(error, frame)

    def parse_in_slices(self, frame: bytes) -> Generator[None, None, DecodedRequest | Refusal]:
        """`parse` of a large frame; it yields every few elements."""
        try:
            return (yield from decode_request_in_slices(frame, self._served, self._max_elements))
        except RemoteProtocolError as error:
            return _refusal(error, frame)

    # ------------------------------------------------------------------------------------------------ out

    def answer(self, request: DecodedRequest, body: Body) -> bytes:
        """`body` is a message, or an encoded one (encode_body); of one in pieces, only the bytes before the first piece
        are returned. If a message does not fit its schema, LocalProtocolError leaves the request in work.
        """
        after = self._after_work(StreamEvent.ANSWER)
        header = request.header
        if isinstance(body, bytes):
            data = response_prefix(header.api_key, header.api_version, header.correlation_id, len(body)) + body
        elif isinstance(body, list):
            size = sum(map(len, body))
            data = response_prefix(header.api_key, header.api_version, header.correlation_id, size)
        else:
            data = encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
        self._finish(after)
        return data

    def close(self) -> None:
        """The request in work, and those behind it, get no answer: the peer wants none, and must see an error."""
        self._finish(self._after_work(StreamEvent.CLOSE))
        self._frames.clear()
        self.partial_bytes = 0
        self._drop_queue()

    def answered(self) -> None:
        """The frame in work has its answer, if any, from elsewhere."""
        self._finish(self._after_work(StreamEvent.ANSWER))

    def _after_work(self, event: StreamEvent) -> Stream:
        after = AFTER[self.state].get(event)
        if after is None:
            raise LocalProtocolError("no request is in work")
        return after

    def _finish(self, after: Stream) -> None:
        self.state = after
        self._bytes_in_work = 0

    def refuse(self, refusal: Refusal, body: ApiMessage | None = None) -> bytes:
        """The bytes of the answer, none if the refusal closes the connection. With `body`, that is the answer."""
        if refusal.closes and body is None:
            self.close()
            if self.fault is None:
                self.fault = refusal.error
            return b""
        self.answered()
        if body is not None:
            header = refusal.header
            return encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
        return unsupported_api_versions(self._served[ApiKey.API_VERSIONS], refusal.header.correlation_id)


def unsupported_api_versions(served: tuple[int, int], correlation_id: int) -> bytes:
    low, high = served
    known = ApiVersionsResponse.ApiVersion(
        version=0, api_key=int(ApiKey.API_VERSIONS), min_version=low, max_version=high
    )
    body = ApiVersionsResponse(version=0, error_code=UNSUPPORTED_VERSION, api_keys=[known])
    return encode_response(body, version=0, correlation_id=correlation_id)


def _refusal(error: RemoteProtocolError, frame: bytes) -> Refusal:
    """Without the traceback, which would keep the frame, and all that was decoded of it, alive."""
    error.__traceback__ = error.__context__ = None
    return Refusal(error, msgspec.structs.replace(peek_request_header(frame), client_id=peek_client_id(frame)))
