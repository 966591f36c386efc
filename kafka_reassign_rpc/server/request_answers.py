"""From a frame to its answer: decodes it, asks the service, encodes the answer, counts its time against quotas. A small
frame whose handler does not wait is answered at once."""

import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from typing import Any

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, NoAnswer, Reply
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.served_connection import Connection, Refusal
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.request_throttle import RequestThrottle
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.turns import LoopTime, in_turns

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
