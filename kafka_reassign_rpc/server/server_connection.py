"""One connection with I/O: its socket's bytes go into a protocol `Connection`, and the answers' bytes go back.

The protocol's `Connection` knows what frames mean, their order, and when the connection is over. This file decides when
to read, when to work and when to write. Kafka mutes a channel while one of its requests is in work, and so does this
server.

    state       meaning                                         leaves it when
    ----------  ----------------------------------------------  ------------------------------------------------
    failing     authentication has failed                       its delay is over: answer, and the end
    reading     nothing in work                                 frames arrive
    working     a request is in work, or frames are queued      the last queued frame is answered
    clogged     the peer has answers to read                    it has read all of them
    muted       a quota of the client is used up                the throttle time is over (`request_throttle`)
    sated       much was read in this turn of the loop          the next turn
    ending      the stream has ended: malformed input, drain,   all requests that arrived are answered; then the
                or the peer has sent all its requests           socket closes

Only in state `reading` does a connection read. It pauses reading when bytes arrive in another state, not before, since
most clients wait for their answer; it resumes when the last frame is answered. It also pauses behind a piece of
`MUCH_BYTES`, until the next turn: libuv reads up to 8 MiB in a row of a client that sends fast enough.

Sync handlers run straight through: the answers to all frames of one `data_received` go out in one write. A run ends
after `turn_ms` and continues in the next turn of the loop, so that one busy client does not keep the loop.

Before each frame an authenticator that guards is asked what to do with it (`connection_guard`).

A large frame waits for room (`large_work`). It is decoded, and freed, in slices of the loop, in turns with all others.
A large answer goes to the transport piece by piece, as the peer reads. What the peer has not read counts as held bytes,
like a frame without an answer.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, cast

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.connection_state import Connection, Refusal
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, NoAnswer, Reply
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.server.connection_guard import ConnectionGuard, recognize
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.request_throttle import LoopTime
from kafka_reassign_rpc.support.slice_timer import in_turns

log = logging.getLogger(__name__)

CLOCK_EVERY = 16
"""Requests between two looks at the clock in one run."""
CLOCK_BYTES = 4096
"""After a request with more bytes the run looks at the clock in any case."""
PIECE_BYTES = 64 * 1024
"""An answer goes to the transport in pieces of about this size."""
BURST_BYTES = 1024 * 1024
"""So much goes to the transport in one turn of the loop."""
MUCH_BYTES = 128 * 1024
"""After a piece of input of so many bytes (256 KiB at most) the connection reads on in the next turn of the loop."""

_READY = (bytes, list, ApiMessage, NoAnswer)
"""An answer, not an awaitable of one."""


class ServerConnection(asyncio.Protocol):
    """The asyncio side of a `Connection`. `OpenConnections` has everything that connections share."""

    def __init__(self, shared: OpenConnections, listener: Listener) -> None:
        self._shared = shared
        self._listener = listener
        self._loop = shared.loop
        self._limits = shared.limits
        self._stream = Connection(
            shared.served, shared.service.max_elements, max_frame_bytes=shared.limits.socket_request_max_bytes
        )
        self._transport: asyncio.Transport | None = None
        self._peer = Peer("", listener.name)
        self._guard: ConnectionGuard | None = None
        """Where the authenticator wants to see frames."""
        self._step: asyncio.Task[None] | None = None
        """A step of the authenticator that takes time. Nobody waits for it once the client has gone."""
        self._charged = 0
        """Bytes of the shared budget that this connection holds."""
        self._busy = False
        """A run is under way: on the stack, in a task, or due in the next turn of the loop."""
        self._full = False
        """The transport has bytes that it could not write yet."""
        self._unsent: deque[bytes | memoryview] = deque()
        """Pieces of answers that the transport does not have yet."""
        self._unsent_bytes = 0
        self._paused = False
        self._muted = False
        """The client has to wait for a quota. Counts as busy."""
        self._starved = False
        """Reading is paused until the server has room for more request bytes."""
        self._sated = False
        """Reading is paused until the next turn of the loop."""
        self.last_active = self.silent_since = self.frame_since = self.unread_since = 0.0
        """See OpenConnection."""

    # ------------------------------------------------------------------------------------------------ transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        self._peer = Peer(address[0] if isinstance(address, tuple) else "", self._listener.name)
        if not self._shared.admit(self, self._peer.host):
            self._transport.abort()
            return
        authenticator = recognize(self._shared, self._listener, self._peer, self._transport)
        if authenticator is None:
            self._transport.abort()
            return
        if authenticator.guards:
            self._guard = ConnectionGuard(authenticator, self._shared, self._stream, self._peer, self)
        self.become(self._peer._replace(principal=authenticator.principal, mechanism=authenticator.mechanism))
        self._transport.set_write_buffer_limits(high=1)  # what is not written clogs; with 0, TLS always does
        self.last_active = self.silent_since = self._loop.time()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._transport = None
        self._stream.abandon()
        self._unsent.clear()
        self._unsent_bytes = 0
        self._full = False
        self._charge(0)
        self._shared.forget(self)
        if self._step is not None:
            self._step.cancel()

    def eof_received(self) -> bool:
        """The peer has sent all its requests; it still gets its answers. One that has not authenticated can get none
        that is of use."""
        if self._guard is not None and not self._guard.authenticated:
            self._shared.close_soon(self.abort)
        self._end()
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def _end(self) -> None:
        self._stream.end()
        self.frame_since = 0.0
        if self._stream.over:
            self._shared.close_soon(self._close_now)

    def pause_writing(self) -> None:
        self._full = True
        self.unread_since = self._loop.time()

    def resume_writing(self) -> None:
        self._full = False
        self._write_on()

    @property
    def _clogged(self) -> bool:
        return self._full or bool(self._unsent)

    # ------------------------------------------------------------------------------------------------ in

    def data_received(self, data: bytes) -> None:
        self._shared.stats.bytes_received += len(data)
        self.last_active = now = self._loop.time()
        if self._stream.ended:
            return
        if len(data) >= MUCH_BYTES and not self._sated:
            self._sated = True
            self._loop.call_soon(self._hungry)
        self._cut(data, now)
        if self._busy or self._clogged:
            self._settle()
        else:
            self._run()

    def _cut(self, data: bytes, now: float) -> None:
        """Cuts the bytes that have arrived into frames."""
        stream, guard = self._stream, self._guard
        frames = stream.receive(data)
        if frames and self.silent_since and guard is None:
            self.heard()
        if stream.partial_bytes:
            if frames or not self.frame_since:
                self.frame_since = now
        else:
            self.frame_since = 0.0
        fault = stream.fault
        if fault is None:
            return
        failing = None if guard is None else guard.invalid_size(fault)
        if failing is None:
            self._malformed(fault)
        else:
            self._shared.aside(failing)

    def heard(self) -> None:
        """The connection has shown that it is a client's."""
        self.silent_since = 0.0
        self._shared.has_sent(self)

    def _malformed(self, error: Exception) -> None:
        """Earlier requests are still answered; then the connection closes without an answer, as in Kafka."""
        self._shared.tell("connections_malformed", self._peer.host, error)

    def _settle(self) -> None:
        """After any change: updates the held bytes, and pauses or resumes reading."""
        transport = self._transport
        unread = self._unsent_bytes
        if self._full and transport is not None:
            unread += transport.get_write_buffer_size()
        self._shared.unread(self, unread)
        held = self._stream.held_bytes + unread
        if held != self._charged and self._charge(held) and held and not self._busy:
            self._starved = True
            self._shared.starving(self)
        if self._clogged or self._starved or self._sated or self._stream.waiting:
            self._pause()
        else:
            self._resume()

    def _charge(self, held: int) -> bool:
        """Updates the shared count of held bytes. Returns whether all connections together are over the limit."""
        difference, self._charged = held - self._charged, held
        return self._shared.charge(difference)

    def _hungry(self) -> None:
        """The next turn of the loop has come. This pause gives a slow client no more time."""
        self._sated = False
        if self._transport is not None:
            since = self.frame_since
            self._settle()
            self.frame_since = since

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
            if self.frame_since:
                self.frame_since = self._loop.time()  # it could not be sent on until now
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
        while stream.queued and not self._clogged and not self._muted:
            if not self._shared.may_work(self):
                break  # `work` is called when there is room
            frame = stream.next_frame()
            if not self._take_up(frame, out):
                break
            count += 1
            if out:
                size += len(out[-1])
                if size > PIECE_BYTES:
                    self._write(out)  # may clog
                    out = []
                    size = 0
            if stream.queued and (count % CLOCK_EVERY == 0 or len(frame) > CLOCK_BYTES):
                now = self._loop.time()
                if not until:
                    until = now + self._limits.turn_ms / 1000
                elif now > until:
                    self._loop.call_soon(self.work)
                    break
        else:
            self._busy = self._muted
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

    def _take_up(self, frame: bytes, out: list[bytes]) -> bool:
        """Puts the answer to `frame` into `out`. False: the answer has to wait."""
        guard = self._guard
        if guard is None or guard.serves(frame):
            if len(frame) > self._limits.large_frame_bytes:
                self._shared.aside(self._finish(self._large(frame), lambda: None))
                return False
            waits = self._answer(frame, out)
            if waits is not None:
                self._shared.work(self._finish(waits, self._shared.worked))
        else:
            waits = guard.step(frame, out)
            if waits is not None:
                self._step = self._shared.step(self, waits)
        return waits is None

    def _answer(self, frame: bytes, out: list[bytes]) -> Coroutine[Any, Any, None] | None:
        """Puts the answer to `frame` into `out`, or returns a coroutine where the answer has to wait."""
        begun = time.perf_counter_ns()
        request = self._stream.parse(frame)
        if isinstance(request, Refusal):
            self._refuse(request, out, time.perf_counter_ns() - begun)
            return None
        try:
            result = self._shared.service.handle(request, self._peer)
            busy_ns = time.perf_counter_ns() - begun
            if not isinstance(result, _READY) and isawaitable(result):
                return self._later(request, result, LoopTime(busy_ns))
            out += self._answered(request, result, busy_ns)
        except Exception:
            self._unanswerable(request)
        return None

    def _answered(self, request: DecodedRequest, body: Reply, busy_ns: int) -> list[bytes]:
        """The bytes of the answer, in pieces. From now on the connection may be muted."""
        header, throttle = request.header, self._shared.throttle
        self._shared.stats.requests[header.api_key] += 1
        if isinstance(body, NoAnswer):
            if body.closes:
                self._stream.close()
            else:
                self._stream.answered()
            self._mute(throttle.spent(header, self._peer, busy_ns, self._now_ms))
            return []
        if throttle.unlimited:
            head = self._stream.answer(request, body)
        else:
            begun, now_ms = time.perf_counter_ns(), self._now_ms
            body, throttle_ms = throttle.answer(header, self._peer, body, busy_ns, now_ms)
            head = self._stream.answer(request, body)
            throttle.sent(header, self._peer, time.perf_counter_ns() - begun, now_ms)
            self._mute(throttle_ms)
        return [head, *body] if isinstance(body, list) else [head]

    @property
    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _mute(self, throttle_ms: int) -> None:
        """Takes up nothing for so long. Longer than an idle connection no muted one stays."""
        if throttle_ms <= 0 or self._shared.closing:
            return
        self._shared.stats.requests_throttled += 1
        self._muted = self._busy = True
        most_ms = self._limits.connections_max_idle_ms
        if 0 < most_ms < throttle_ms:
            self._loop.call_later(most_ms / 1000, self._shared.muted_too_long, self)
        else:
            self._loop.call_later(throttle_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        if self._muted and self._transport is not None:
            self._muted = False
            self._run()

    def _refuse(self, refusal: Refusal, out: list[bytes], busy_ns: int) -> None:
        first = self._stream.fault is None
        body = self._shared.service.refusal(refusal.header, refusal.error)
        throttle_ms = self._shared.throttle.spent(refusal.header, self._peer, busy_ns, self._now_ms, body)
        answer = self._stream.refuse(refusal, body)
        if answer:
            out.append(answer)
            self._mute(throttle_ms)
        elif first:
            self._malformed(refusal.error)

    def _unanswerable(self, request: DecodedRequest) -> None:
        """An answer cannot be encoded: a defect, since a service answers its own errors."""
        log.exception("cannot answer API %s version %s", request.header.api_key, request.header.api_version)
        self._shared.stats.handler_failures += 1
        self._stream.abandon()
        self.abort()

    async def _large(self, frame: bytes) -> None:
        async with self._shared.large_place(len(frame), self._peer.host):
            if self._transport is None:
                return
            taken = LoopTime()
            request = await taken.of(in_turns(self._stream.parse_in_slices(frame)))
            if isinstance(request, Refusal):
                out: list[bytes] = []
                self._refuse(request, out, taken.ns)
                self._write(out)
                return
            try:
                await self._later(request, self._handle(request), taken)
            finally:
                await in_turns(take_apart(request.body))

    async def _later(self, request: DecodedRequest, result: Awaitable[Reply], taken: LoopTime) -> None:
        """Waits for the answer and sends it. `taken`: the time that the request has taken so far."""
        try:
            body = await taken.of(result)
            out = self._answered(request, body, taken.ns)
        except Exception:
            self._unanswerable(request)
            return
        self._write(out)

    async def _handle(self, request: DecodedRequest) -> Reply:
        result = self._shared.service.handle(request, self._peer)
        return result if isinstance(result, _READY) else await result

    async def _finish(self, waits: Coroutine[Any, Any, None], worked: Callable[[], None]) -> None:
        """Finishes a request that has to wait, calls `worked`, then continues with the next one, if any."""
        try:
            await waits
        except asyncio.CancelledError:
            self._stream.abandon()  # it gets no answer, so no later request may get one
            raise
        finally:
            self.last_active = self._loop.time()
            worked()
            if self._transport is not None:
                self._run()

    # ------------------------------------------------------------------------------------------------ out

    def _write(self, out: list[bytes]) -> None:
        """Sends answers, or pieces of one: at once what the peer takes, the rest as it reads."""
        if not out or self._transport is None:
            return
        data = out[0] if len(out) == 1 else b"".join(out) if sum(map(len, out)) <= PIECE_BYTES else b""
        if 0 < len(data) <= PIECE_BYTES and not self._clogged:
            self._shared.stats.bytes_sent += len(data)
            self._transport.write(data)
            return
        for piece in out:
            self._unsent_bytes += len(piece)
            if len(piece) <= 2 * PIECE_BYTES:
                self._unsent.append(piece)
            else:
                view = memoryview(piece)
                self._unsent.extend(view[at : at + PIECE_BYTES] for at in range(0, len(piece), PIECE_BYTES))
        self._send_unsent()

    def _send_unsent(self) -> None:
        """Gives pieces to the transport until it is full, or the turn is over."""
        burst = 0
        while self._unsent and not self._full and self._transport is not None:
            if burst > BURST_BYTES:
                self._loop.call_soon(self._write_on)
                return
            piece = self._unsent.popleft()
            burst += len(piece)
            self._unsent_bytes -= len(piece)
            self._shared.stats.bytes_sent += len(piece)
            self._transport.write(piece)

    def _write_on(self) -> None:
        """The transport has written what it had."""
        if self._transport is None:
            return
        self.last_active = now = self._loop.time()
        self._send_unsent()
        self.unread_since = now if self._clogged else 0.0
        if self._clogged:
            self._settle()
        elif not self._busy:
            self._run()

    def _close_now(self) -> None:
        if self._transport is not None and not self._unsent:
            self._transport.close()

    # -------------------------------------------------------------------------------------- called by ConnectionGuard

    def become(self, peer: Peer) -> None:
        """From now on requests come from `peer`."""
        self._peer = peer

    def cut_on(self) -> None:
        """The bytes that have arrived may be cut into frames on."""
        self._cut(b"", self._loop.time())

    def go_on(self, out: list[bytes]) -> None:
        """A step that has waited is done: sends its answer, and takes the next frame."""
        self._write(out)
        if self._transport is not None:
            self._run()

    def close_with(self, answer: bytes) -> None:
        """Sends a last answer, if any, and closes."""
        self._stream.abandon()
        if self._transport is not None:
            if answer:
                self._write([answer])
            self._transport.close()

    # -------------------------------------------------------------------------------------- called by OpenConnections

    @property
    def idle(self) -> bool:
        """Whether nothing is in work. Half a frame does not count, nor do answers that the peer has yet to read."""
        return not self._busy

    @property
    def unwatched(self) -> int | None:
        """The descriptor of a client that has not authenticated and of whom nothing is read meanwhile; None else."""
        if self._transport is None or not self._paused or self._guard is None or self._guard.authenticated:
            return None
        return int(self._transport.get_extra_info("socket").fileno())

    def drain(self) -> None:
        """Closes as soon as all requests that have arrived are answered."""
        self._end()
        self._unmute()

    def abort(self) -> None:
        """Closes at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()
