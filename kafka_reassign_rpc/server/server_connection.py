"""One connection with I/O: its socket's bytes go into a protocol `Connection`, and the answers' bytes go back.

The protocol's `Connection` knows what frames mean, their order, and when the connection is over. This file decides when
to read, when to work and when to write. Kafka mutes a channel while one of its requests is in work, and so does this
server.

    state       meaning                                         leaves it when
    ----------  ----------------------------------------------  ------------------------------------------------
    waiting     accepted, has to wait (creation rate)           the delay is over
    reading     nothing in work                                 frames arrive
    working     a request is in work, or frames are queued      the last queued frame is answered
    clogged     the peer does not read its answers              the transport has written enough
    ending      the stream has ended: malformed input, drain,   all requests that arrived are answered; then the
                or the peer has sent all its requests           socket closes

Only in state `reading` does a connection read. It pauses reading when bytes arrive in another state, not before, since
most clients wait for their answer; it resumes when the last frame is answered. Sync handlers run straight through: the
answers to all frames of one `data_received` go out in one write. A run ends after `turn_ms` and continues in the next
turn of the loop, so that one busy client does not keep the loop. A thread decodes a large frame and encodes its answer.
"""

import asyncio
import logging
from collections.abc import Coroutine
from inspect import isawaitable
from typing import Any, cast

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.connection_state import Connection, Refusal
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, encode_body
from kafka_reassign_rpc.server.open_connections import OpenConnections

log = logging.getLogger(__name__)

CLOCK_EVERY = 16
"""Requests between two looks at the clock in one run."""


class ServerConnection(asyncio.Protocol):
    """The asyncio side of a `Connection`. `OpenConnections` has everything that connections share."""

    def __init__(self, shared: OpenConnections, listener: str) -> None:
        self._shared = shared
        self._listener = listener
        self._loop = shared.loop
        self._limits = shared.limits
        self._stream = Connection(shared.served, max_frame_bytes=shared.limits.socket_request_max_bytes)
        self._transport: asyncio.Transport | None = None
        self._peer = Peer("", listener)
        self._charged = 0
        """Bytes of the shared budget that this connection holds."""
        self._busy = False
        """A run is under way: on the stack, in a task, or due in the next turn of the loop."""
        self._clogged = False
        self._paused = False
        self._starved = False
        """Reading is paused until the server has room for more request bytes."""
        self._counted = False
        self.last_active = 0.0
        self.frame_since = 0.0
        """When the incomplete frame began; 0 where there is none."""

    # ------------------------------------------------------------------------------------------------ transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        self._peer = Peer(address[0] if isinstance(address, tuple) else "", self._listener)
        refusal = self._shared.admit(self, self._peer.host)
        if refusal is not None:
            if self._shared.refused_lines.admits(self._loop.time()):
                log.warning("connection from %s refused: %s", self._peer.host, refusal)
            self._transport.abort()
            return
        self._counted = True
        self._transport.set_write_buffer_limits(high=self._limits.write_high_water_bytes)
        self.last_active = self._loop.time()
        delay = self._shared.creation_delay()
        if delay > 0:
            self._busy = True
            self._loop.call_later(delay, self._begin)

    def _begin(self) -> None:
        """The creation delay is over."""
        if self._transport is not None:
            self._run()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._transport = None
        self._stream.abandon()
        self._charge(0)
        if self._counted:
            self._counted = False
            self._shared.forget(self, self._peer.host)

    def eof_received(self) -> bool:
        """The peer has sent all its requests; it still gets its answers."""
        self._end()
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def _end(self) -> None:
        self._stream.end()
        self.frame_since = 0.0
        if self._stream.over:
            self._close_now()

    def pause_writing(self) -> None:
        self._clogged = True

    def resume_writing(self) -> None:
        self._clogged = False
        self.last_active = self._loop.time()
        if not self._busy:
            self._run()

    # ------------------------------------------------------------------------------------------------ in

    def data_received(self, data: bytes) -> None:
        self._shared.stats.bytes_received += len(data)
        self.last_active = now = self._loop.time()
        stream = self._stream
        if stream.ended:
            return
        frames = stream.receive(data)
        if stream.partial_bytes:
            if frames or not self.frame_since:
                self.frame_since = now
        else:
            self.frame_since = 0.0
        if stream.fault is not None:
            self._malformed(stream.fault)
        if self._busy or self._clogged:
            self._settle()
        else:
            self._run()

    def _malformed(self, error: Exception) -> None:
        """Earlier requests are still answered; then the connection closes without an answer, as in Kafka."""
        if self._shared.malformed_lines.admits(self._loop.time()):
            log.info("connection from %s closed: %s", self._peer.host, error)
        self._shared.stats.connections_malformed += 1

    def _settle(self) -> None:
        """After any change: updates the held bytes, and pauses or resumes reading."""
        held = self._stream.held_bytes
        if held != self._charged and self._charge(held) and held and not self._busy:
            self._starved = True
            self._shared.starving(self)
        if self._clogged or self._starved or self._stream.queued:
            self._pause()
        else:
            self._resume()

    def _charge(self, held: int) -> bool:
        """Updates the shared count of held bytes. Returns whether all connections together are over the limit."""
        difference, self._charged = held - self._charged, held
        return self._shared.charge(difference)

    def fed(self) -> None:
        """There is room for request bytes again."""
        self._starved = False
        if not self._busy and not self._clogged:
            self._run()

    def _pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    # ------------------------------------------------------------------------------------------------ work

    def _run(self) -> None:
        """Answers queued frames until a request has to wait or the turn is over."""
        self._busy = True
        stream = self._stream
        out: list[bytes] = []
        until = 0.0
        count = 0
        size = 0
        while stream.queued and not self._clogged:
            if not self._shared.may_work(self):
                break  # `work` is called when there is room
            waits = self._answer(stream.next_frame(), out)
            if waits is not None:
                self._shared.work(self._finish(waits))
                break
            count += 1
            if out:
                size += len(out[-1])
                if size > self._limits.write_high_water_bytes:
                    self._write(out)  # may clog
                    out.clear()
                    size = 0
            if count % CLOCK_EVERY == 0 and stream.queued:
                now = self._loop.time()
                if not until:
                    until = now + self._limits.turn_ms / 1000
                elif now > until:
                    self._loop.call_soon(self.work)
                    break
        else:
            self._busy = False
        self._write(out)
        if stream.over:
            self._close_now()
        else:
            self._settle()

    def work(self) -> None:
        """Continues: in the next turn of the loop, or when there is room among queued.max.requests."""
        if self._transport is not None:
            self._run()
        self._shared.wake()

    def _answer(self, frame: bytes, out: list[bytes]) -> Coroutine[Any, Any, None] | None:
        """Puts the answer to `frame` into `out`, or returns a coroutine where the answer has to wait."""
        if len(frame) > self._limits.off_loop_bytes:
            return self._large(frame)
        stream = self._stream
        request = stream.parse(frame)
        if isinstance(request, Refusal):
            self._refuse(request, out)
            return None
        try:
            result = self._shared.service.handle(request, self._peer)
            if not isinstance(result, bytes) and isawaitable(result):
                return self._later(request, result)
            out.append(stream.answer(request, result))
        except Exception:
            self._unanswerable(request)
            return None
        self._shared.stats.requests[request.header.api_key] += 1
        return None

    def _refuse(self, refusal: Refusal, out: list[bytes]) -> None:
        first = self._stream.fault is None
        answer = self._stream.refuse(refusal)
        if answer:
            out.append(answer)
        elif first:
            self._malformed(refusal.error)

    def _unanswerable(self, request: DecodedRequest) -> None:
        """An answer cannot be encoded: a defect, since a service answers its own errors."""
        log.exception("cannot answer API %s version %s", request.header.api_key, request.header.api_version)
        self._shared.stats.handler_failures += 1
        self._stream.abandon()
        self.abort()

    async def _large(self, frame: bytes) -> None:
        request = await asyncio.to_thread(self._stream.parse, frame)
        if isinstance(request, Refusal):
            out: list[bytes] = []
            self._refuse(request, out)
            self._write(out)
        else:
            await self._later(request, None, large=True)

    async def _later(self, request: DecodedRequest, result: Any, *, large: bool = False) -> None:
        """Waits for the answer and sends it."""
        try:
            if large:
                result = self._shared.service.handle(request, self._peer)
            body = await result if isawaitable(result) else result
            if large and not isinstance(body, bytes):
                body = await asyncio.to_thread(encode_body, body, version=request.header.api_version)
            answer = self._stream.answer(request, body)
        except Exception:
            self._unanswerable(request)
            return
        self._shared.stats.requests[request.header.api_key] += 1
        self._write([answer])

    async def _finish(self, waits: Coroutine[Any, Any, None]) -> None:
        """Finishes a request that has to wait, then continues with the next one, if any."""
        try:
            await waits
        except asyncio.CancelledError:
            self._stream.abandon()  # it gets no answer, so no later request may get one
            raise
        finally:
            self.last_active = self._loop.time()
            self._shared.worked()
            if self._transport is not None:
                self._run()

    # ------------------------------------------------------------------------------------------------ out

    def _write(self, out: list[bytes]) -> None:
        if out and self._transport is not None:
            data = out[0] if len(out) == 1 else b"".join(out)
            self._shared.stats.bytes_sent += len(data)
            self._transport.write(data)

    def _close_now(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -------------------------------------------------------------------------------------- called by OpenConnections

    @property
    def idle(self) -> bool:
        """Whether nothing is in work. Half a frame does not count, nor do answers that the peer has yet to read."""
        return not self._busy

    def drain(self) -> None:
        """Closes as soon as all requests that have arrived are answered."""
        self._end()

    def abort(self) -> None:
        """Closes at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()
