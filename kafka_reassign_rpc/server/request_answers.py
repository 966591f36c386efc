"""From a frame to its answer on the transport: decodes it, asks the service, encodes the answer, counts its time
against quotas, and writes it. A small frame whose handler does not wait is answered at once.

A request costs its client a share of the server's time, and its connection is muted when that is used up. As in a
broker (RequestHandlerHelper, KIP-219) the answer goes out at once and says how long the client should wait; meanwhile
its connection is not read. A longer wait by a controller mutation quota counts instead. The cost is the time on the
event loop: decoding, handler, encoding. What the controller does later, together for many, does not count; nor does it
in Kafka.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from typing import Any

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.api.dispatch import Service
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.core.quotas.connection_quotas import RequestQuotas, RequestUse
from kafka_reassign_rpc.protocol.frame_codec import (
    FIELD,
    SIZE,
    Body,
    DecodedRequest,
    NoAnswer,
    Reply,
    RequestHeader,
    begins_with_throttle,
    throttle_ms,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.served_connection import Connection, Refusal
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.support.turns import LoopTime, in_turns

EXEMPT = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ENVELOPE})
"""Requests of brokers that wait for no quota (sendResponseExemptThrottle), unless they were denied. The client whose
request a broker forwards waits there."""
NS_PER_MS = 1_000_000
KNOWN_MS = 100
"""How long a connection remembers which quota holds for its client, unless one changes."""


class RequestThrottle:
    """Counts the requests of one connection against its clients' quotas. `now_ns` is by the performance counter."""

    def __init__(self, quotas: RequestQuotas) -> None:
        self._quotas = quotas
        self._table = quotas.table
        self._client: tuple[str, str | None] | None = None
        self._use: RequestUse | None = None
        """Where the requests of `_client` are counted, as long as `_revision` is that of the quotas."""
        self._revision = -1
        self._known_until_ms = 0

    @property
    def unlimited(self) -> bool:
        return self._table.empty

    def answer(self, header: RequestHeader, peer: Peer, body: Body, busy_ns: int, now_ns: int) -> tuple[Body, int]:
        wanted = throttle_ms(header.api_key, header.api_version, body)
        if header.api_key in EXEMPT and _is_exempt(body):
            return body, wanted
        waits_ms = self._throttle_ms(header, peer, busy_ns, now_ns)
        if waits_ms <= wanted:
            return body, wanted
        return _with_throttle(header, body, waits_ms), waits_ms

    def spent(
        self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int, refusal: ApiMessage | None = None
    ) -> int:
        """For a request that was not served or wants no answer: none is free because it is refused. Returns how long
        its client waits, in ms, which its `refusal` says."""
        waits_ms = self._throttle_ms(header, peer, busy_ns, now_ns)
        if refusal is not None and waits_ms > 0:
            _with_throttle(header, refusal, waits_ms)
        return waits_ms

    def sent(self, header: RequestHeader, busy_ns: int, now_ns: int) -> None:
        """The bytes of the last `answer` were made in `busy_ns`. (Those to exempt requests are small.)"""
        if self._use is not None and header.api_key not in EXEMPT:
            self._use.record(busy_ns, now_ns // NS_PER_MS)

    def _throttle_ms(self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int) -> int:
        now_ms = now_ns // NS_PER_MS
        use = self._use_of(header, peer, now_ms)
        return 0 if use is None else use.throttle_ms(busy_ns, now_ms)

    def _use_of(self, header: RequestHeader, peer: Peer, now_ms: int) -> RequestUse | None:
        """None where no quota holds for the client."""
        client = peer.principal, header.client_id
        revision = self._table.revision
        if client != self._client or revision != self._revision or now_ms >= self._known_until_ms:
            client_id = header.client_id or ""
            self._client = client if len(client_id) <= LONGEST_NAME else None  # 32 KiB in each connection are too much
            self._revision, self._known_until_ms = revision, now_ms + KNOWN_MS
            self._use = self._quotas.use(peer.principal.partition(":")[2], client_id)
        return self._use


def _is_exempt(body: Body) -> bool:
    return getattr(body, "error_code", 0) != ClusterAuthorizationFailed.code


def _with_throttle(header: RequestHeader, body: Body, waits_ms: int) -> Body:
    """Versions without the field say nothing; the connection is muted all the same."""
    if isinstance(body, ApiMessage):
        if hasattr(body, FIELD):
            setattr(body, FIELD, waits_ms)
        return body
    if not begins_with_throttle(header.api_key, header.api_version):
        return body
    first = waits_ms.to_bytes(SIZE, "big")
    if isinstance(body, bytes):
        return first + body[SIZE:]
    return [first + body[0][SIZE:], *body[1:]]


log = logging.getLogger(__name__)

_READY = (bytes, list, ApiMessage, NoAnswer)
"""The types of an answer that is no awaitable."""

Write = Callable[[list[bytes]], None]


class UnanswerableError(Exception):
    """An answer cannot be encoded: a defect, since a service answers its own errors."""


class RequestAnswers:
    """Answers the frames of one stream. `throttle_ms`: so long the client has to wait by the last answer; whoever makes
    it wait sets it to 0."""

    def __init__(self, stream: Connection, service: Service, throttle: RequestThrottle, stats: ServerStats) -> None:
        self._stream = stream
        self._service = service
        self._throttle = throttle
        self._stats = stats
        self.throttle_ms = 0

    def answer(self, frame: bytes, peer: Peer, out: list[bytes], write: Write) -> Coroutine[Any, Any, None] | None:
        """Returns a coroutine if the answer has to wait. Raises UnanswerableError."""
        begun = time.perf_counter_ns()
        request = self._stream.parse(frame)
        if isinstance(request, Refusal):
            self._refuse(request, peer, out, time.perf_counter_ns() - begun)
            return None
        try:
            result = self._service.handle(request, peer)
            if not isinstance(result, _READY) and isawaitable(result):
                return self._later(request, peer, result, LoopTime(time.perf_counter_ns() - begun), write)
            self._answered(request, peer, result, begun, out)
        except Exception as error:
            raise self._unanswerable(request) from error
        return None

    async def answer_large(
        self,
        frame: bytes,
        peer: Peer,
        place: AbstractAsyncContextManager[None],
        wanted: Callable[[], bool],
        write: Write,
    ) -> None:
        """In slices once it has its `place`, if the answer is still `wanted` then. Raises UnanswerableError."""
        async with place:
            if not wanted():
                return
            taken = LoopTime()
            request = await taken.of(in_turns(self._stream.parse_in_slices(frame)))
            if isinstance(request, Refusal):
                out: list[bytes] = []
                self._refuse(request, peer, out, taken.ns)
                write(out)
                return
            try:
                await self._later(request, peer, self._handle(request, peer), taken, write)
            finally:
                await in_turns(take_apart(request.body))

    async def _handle(self, request: DecodedRequest, peer: Peer) -> Reply:
        result = self._service.handle(request, peer)
        return result if isinstance(result, _READY) else await result

    async def _later(
        self, request: DecodedRequest, peer: Peer, result: Awaitable[Reply], taken: LoopTime, write: Write
    ) -> None:
        """`taken`: the loop's time so far."""
        out: list[bytes] = []
        try:
            body = await taken.of(result)
            self._answered(request, peer, body, time.perf_counter_ns() - taken.ns, out)
        except Exception as error:
            raise self._unanswerable(request) from error
        write(out)

    def _answered(self, request: DecodedRequest, peer: Peer, body: Reply, begun: int, out: list[bytes]) -> None:
        """`begun`: ns by the clock, as if the request had kept the loop ever since."""
        header, throttle = request.header, self._throttle
        self._stats.requests[header.api_key] += 1
        if isinstance(body, NoAnswer):
            if body.closes:
                self._stream.close()
            else:
                self._stream.answered()
            now = time.perf_counter_ns()
            self.throttle_ms = throttle.spent(header, peer, now - begun, now)
            return
        if throttle.unlimited:
            out.append(self._stream.answer(request, body))
        else:
            made = time.perf_counter_ns()
            body, self.throttle_ms = throttle.answer(header, peer, body, made - begun, made)
            out.append(self._stream.answer(request, body))
            sent = time.perf_counter_ns()
            throttle.sent(header, sent - made, sent)
        if isinstance(body, list):
            out += body

    def _refuse(self, refusal: Refusal, peer: Peer, out: list[bytes], busy_ns: int) -> None:
        body = self._service.refusal(refusal.header, refusal.error)
        throttle_ms = self._throttle.spent(refusal.header, peer, busy_ns, time.perf_counter_ns(), body)
        answer = self._stream.refuse(refusal, body)
        if answer:
            out.append(answer)
            self.throttle_ms = throttle_ms

    def _unanswerable(self, request: DecodedRequest) -> UnanswerableError:
        log.exception(
            "cannot answer API %s version %s: the connection closes", request.header.api_key, request.header.api_version
        )
        self._stats.handler_failures += 1
        self._stream.abandon()
        return UnanswerableError()


PIECE_BYTES = 64 * 1024
"""The approximate size of a piece."""
BURST_BYTES = 1024 * 1024
"""So much goes to the transport in one turn of the loop."""


class AnswerWriter:
    """Writes answers to the transport: a large one goes piece by piece, as the peer takes it. While it is `clogged` by
    what the peer has not taken, no further answer is made.
    """

    def __init__(self, stats: ServerStats) -> None:
        self._stats = stats
        self._transport: asyncio.Transport | None = None
        self._full = False
        """The transport has bytes that it could not write yet."""
        self._pieces: deque[bytes | memoryview] = deque()
        """What the transport does not have yet."""
        self._piece_bytes = 0
        self.clogged = False

    def begin(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=1)  # what is not written clogs; with 0, TLS always does
        self._transport = transport

    def end(self) -> None:
        self._transport = None
        self._pieces.clear()
        self._piece_bytes = 0
        self._full = self.clogged = False

    @property
    def empty(self) -> bool:
        return not self._pieces

    @property
    def unread_bytes(self) -> int:
        if self._full and self._transport is not None:
            return self._piece_bytes + self._transport.get_write_buffer_size()
        return self._piece_bytes

    def write(self, out: list[bytes]) -> bool:
        """Sends answers, or pieces of one. Returns whether to call `write_on` in the next turn of the loop."""
        if not out or self._transport is None:
            return False
        if not self.clogged:
            data = out[0] if len(out) == 1 else b"".join(out) if sum(map(len, out)) <= PIECE_BYTES else b""
            size = len(data)
            if 0 < size <= PIECE_BYTES:
                self._stats.bytes_sent += size
                self._transport.write(data)
                return False
        for piece in out:
            self._piece_bytes += len(piece)
            if len(piece) <= 2 * PIECE_BYTES:
                self._pieces.append(piece)
            else:
                view = memoryview(piece)
                self._pieces.extend(view[at : at + PIECE_BYTES] for at in range(0, len(piece), PIECE_BYTES))
        return self.write_on()

    def write_on(self) -> bool:
        """Until the transport is full or the turn ends. Returns whether the turn ended it."""
        burst = 0
        while self._pieces and not self._full and self._transport is not None and burst <= BURST_BYTES:
            piece = self._pieces.popleft()
            burst += len(piece)
            self._piece_bytes -= len(piece)
            self._stats.bytes_sent += len(piece)
            self._transport.write(piece)
        self.clogged = self._full or bool(self._pieces)
        return bool(self._pieces) and not self._full and self._transport is not None

    def pause(self) -> None:
        self._full = self.clogged = True

    def resume(self) -> None:
        """The transport has written what it had. Call `write_on`."""
        self._full = False
