"""One connection with I/O: its socket's bytes go into a protocol `Connection`, and the answers' bytes go back.
`connection_states` says how the states of the work follow each other. Like Kafka, the server mutes a connection while
one of its requests is in work.

The answers of sync handlers to all frames of one `data_received` go out in one write. A run ends after `turn_ms`. After
a piece of `MUCH_BYTES` the connection reads on in the next turn: libuv reads up to 8 MiB in a row from a fast client.

Steps of authentication take no place among queued.max.requests. Until it is over, the connection counts as silent, so
`slow.client.timeout.ms` bounds all of it. A large frame waits for room (`request_budgets`), and is decoded and freed in
slices. Unread answers count as held bytes, like a frame without an answer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, cast

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.protocol.served_connection import Connection
from kafka_reassign_rpc.security.authenticator import AuthenticationFailed, Authenticator, End, Step
from kafka_reassign_rpc.server.connection_guard import ConnectionGuard, recognize
from kafka_reassign_rpc.server.connection_states import AFTER, FlowControl, Work, WorkEvent
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.request_answers import (
    PIECE_BYTES,
    AnswerWriter,
    RequestAnswers,
    RequestThrottle,
    UnanswerableError,
)

log = logging.getLogger(__name__)

CLOCK_EVERY = 16
"""Requests between two readings of the clock in one run."""
CLOCK_BYTES = 4096
"""After a larger request the run reads the clock in any case."""
MUCH_BYTES = 128 * 1024
"""After a piece of input of so many bytes (256 KiB at most) the connection reads on in the next turn of the loop."""


class ServerConnection(asyncio.Protocol):
    """The asyncio side of a `Connection`, and an `OpenConnection`."""

    def __init__(self, shared: OpenConnections, listener: Listener) -> None:
        self._shared = shared
        self._budgets = shared.budgets
        self._stats = shared.stats
        self._listener = listener
        self._loop = shared.loop
        self._limits = shared.limits
        self._stream = Connection(
            shared.served, shared.service.max_elements, max_frame_bytes=shared.limits.socket_request_max_bytes
        )
        throttle = RequestThrottle(shared.request_quotas)
        self._answers = RequestAnswers(self._stream, shared.service, throttle, shared.stats)
        self._flow = FlowControl(shared.budgets)
        self._writer = AnswerWriter(shared.stats)
        self._transport: asyncio.Transport | None = None
        self._peer = Peer("", listener.name)
        self._guard: ConnectionGuard | None = None
        """It is set if the authenticator wants to see frames."""
        self._step: asyncio.Task[None] | None = None
        """A step of the authenticator that takes time. Nobody waits for it once the client has gone."""
        self._throttled: asyncio.TimerHandle | None = None
        """It ends the state MUTED."""
        self._fault_recorded = False
        self.state = Work.NEW
        self.last_active = self.silent_since = self.frame_since = self.unread_since = 0.0

    def _enter(self, event: WorkEvent) -> None:
        self.state = AFTER[self.state][event]

    # ------------------------------------------------------------------------------------------------ transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        self._peer = Peer(address[0] if isinstance(address, tuple) else "", self._listener.name)
        if not self._shared.admit(self, self._peer.host):
            self.abort()
            return
        try:
            authenticator = self._recognize(self._transport)
        except AuthenticationFailed as error:
            self._shared.record("connections_unauthenticated", self._peer.host, error)
            self.abort()
            return
        if authenticator.guards:
            self._guard = ConnectionGuard(authenticator, self._stream)
        self._peer = self._peer._replace(principal=authenticator.principal, mechanism=authenticator.mechanism)
        self._flow.begin(self._transport)
        self._writer.begin(self._transport)
        self.last_active = self.silent_since = self._loop.time()
        self._enter(WorkEvent.ADMITTED)

    def _recognize(self, transport: asyncio.Transport) -> Authenticator:
        """Raises AuthenticationFailed."""
        return recognize(self._shared.service, self._listener, self._peer, transport)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._enter(WorkEvent.LOST)
        self._transport = None
        self._stream.abandon()
        self._writer.end()
        self._flow.end(self)
        self._shared.forget(self)
        if self._step is not None:
            self._step.cancel()
        if self._throttled is not None:
            self._throttled.cancel()
            self._throttled = None

    def eof_received(self) -> bool:
        """The peer still gets its answers; before authentication none is of use to it."""
        if self._guard is not None and not self._guard.authenticated:
            self._shared.close_soon(self.abort)
        self._end()
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def _end(self) -> None:
        self._stream.end()
        self.frame_since = 0.0
        if self._stream.over:
            self._shared.close_soon(self._close_when_over)

    def pause_writing(self) -> None:
        self._writer.pause()
        self.unread_since = self._loop.time()

    def resume_writing(self) -> None:
        self._writer.resume()
        self._write_on()

    # ------------------------------------------------------------------------------------------------ in

    def data_received(self, data: bytes) -> None:
        size = len(data)
        self._stats.bytes_received += size
        self.last_active = now = self._loop.time()
        if self._stream.ended:
            return
        if size >= MUCH_BYTES and self._flow.sate():
            self._loop.call_soon(self._hungry)
        self._cut(data, now)
        if self.state is Work.READING and not self._writer.clogged:
            self._run(WorkEvent.FRAMES)
        else:
            if self._stream.fault is not None:
                self._record_fault()
            self._update_flow()

    def _cut(self, data: bytes, now: float) -> None:
        stream = self._stream
        frames = stream.receive(data)
        if frames and self.silent_since and self._guard is None:
            self._heard()
        if not stream.partial_bytes:
            self.frame_since = 0.0
        elif frames or not self.frame_since:
            self.frame_since = now
        if stream.fault is not None:
            failed = None if self._guard is None else self._guard.invalid_size(stream.fault)
            if failed is not None:
                self._fail(failed)

    def _heard(self) -> None:
        self.silent_since = 0.0
        self._shared.has_sent(self)

    def _record_fault(self) -> None:
        """Earlier requests still get their answers; then the connection closes without one, as in Kafka."""
        if not self._fault_recorded and self.state is not Work.FAILING:
            self._fault_recorded = True
            self._shared.record("connections_malformed", self._peer.host, self._stream.fault)

    def _update_flow(self) -> None:
        stream, writer = self._stream, self._writer
        if self._is_level or self.state is Work.CLOSING:
            return
        resumed = self._flow.update(
            self,
            stream.held_bytes,
            writer.unread_bytes,
            clogged=writer.clogged,
            behind=stream.waiting,
            idle=self.idle,
        )
        if resumed and self.frame_since:
            self.frame_since = self._loop.time()  # it could not be sent on until now

    @property
    def _is_level(self) -> bool:
        return self._flow.level and self._stream.empty and not self._writer.clogged

    def _hungry(self) -> None:
        """The next turn has come. This pause gives a slow client no more time."""
        self._flow.hungry()
        if self._transport is not None:
            since = self.frame_since
            self._update_flow()
            self.frame_since = since

    def fed(self) -> None:
        self._flow.feed()
        if self.state is Work.READING and not self._writer.clogged:
            self._run(WorkEvent.FRAMES)

    # ------------------------------------------------------------------------------------------------ work

    def _run(self, event: WorkEvent) -> None:
        self._enter(event)
        self._run_on([])

    def _run_on(self, out: list[bytes]) -> None:
        """`out` goes first."""
        stream, writer, answers, budgets = self._stream, self._writer, self._answers, self._budgets
        frames = stream.queue
        until = 0.0
        count = size = 0
        while self.state is Work.WORKING:
            if answers.throttle_ms:
                self._mute()
            elif not frames or writer.clogged:
                self._enter(WorkEvent.DONE)
            elif not budgets.has_place:
                self._enter(WorkEvent.NO_PLACE)
                budgets.wait(self)
            else:
                frame = stream.next_frame()
                self._take_up(frame, out)
                count += 1
                if out:
                    size += len(out[-1])
                    if size > PIECE_BYTES:
                        self._write(out)  # may clog
                        out = []
                        size = 0
                if frames and (count % CLOCK_EVERY == 0 or len(frame) > CLOCK_BYTES):
                    until = self._check_clock(until)
        self._write(out)
        if stream.fault is not None:
            self._record_fault()
        if self._is_level or (stream.over and self._close_when_over()):
            return
        self._update_flow()

    def _check_clock(self, until: float) -> float:
        """Ends the turn after `until`. Returns when the turn ends."""
        now = self._loop.time()
        if until and now > until and self.state is Work.WORKING:
            self._enter(WorkEvent.TURN_OVER)
            self._loop.call_soon(self._next_turn)
        return until or now + self._limits.turn_ms / 1000

    def work(self) -> None:
        if self.state is Work.QUEUED:
            self._run(WorkEvent.PLACE)
        self._budgets.wake()

    def _next_turn(self) -> None:
        if self.state is Work.DUE:
            self._run(WorkEvent.TURN)

    def _mute(self) -> None:
        """For as long as the last answer says, but no longer than a connection may be idle."""
        throttle_ms, self._answers.throttle_ms = self._answers.throttle_ms, 0
        if self._shared.closing:
            return
        self._stats.requests_throttled += 1
        self._enter(WorkEvent.THROTTLED)
        most_ms = self._limits.connections_max_idle_ms
        if 0 < most_ms < throttle_ms:
            self._throttled = self._loop.call_later(most_ms / 1000, self._shared.muted_too_long, self)
        else:
            self._throttled = self._loop.call_later(throttle_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        if self._throttled is not None:
            self._throttled.cancel()
            self._throttled = None
        if self.state is Work.MUTED:
            self._run(WorkEvent.UNMUTED)

    def _take_up(self, frame: bytes, out: list[bytes]) -> None:
        guard = self._guard
        if guard is not None and not guard.serves(frame):
            step = guard.step(frame)
            if isawaitable(step):
                self._enter(WorkEvent.TAKES_TIME)
                self._step = self._shared.step(self, self._authenticate(guard, step))
            else:
                self._stepped(guard, step, out)
        elif len(frame) > self._limits.large_frame_bytes:
            self._enter(WorkEvent.TAKES_TIME)
            place = self._budgets.large_place(len(frame), self._peer.host)
            answer = self._answers.answer_large(frame, self._peer, place, self._is_open, self._write)
            self._budgets.aside(self._finish(answer, lambda: None))
        else:
            try:
                waits = self._answers.answer(frame, self._peer, out, self._write)
            except UnanswerableError:
                self.abort()
                return
            if waits is not None:
                self._enter(WorkEvent.TAKES_TIME)
                self._budgets.work(self._finish(waits, self._budgets.worked))

    def _is_open(self) -> bool:
        return self._transport is not None

    async def _finish(self, answer: Coroutine[Any, Any, None], worked: Callable[[], None]) -> None:
        try:
            await answer
        except UnanswerableError:
            self.abort()
        except asyncio.CancelledError:
            self._stream.abandon()  # it gets no answer, so no later request may get one
            raise
        finally:
            self.last_active = self._loop.time()
            worked()
            if self.state is Work.WAITING:
                self._run(WorkEvent.ANSWERED)

    # ------------------------------------------------------------------------------------------------ authentication

    async def _authenticate(self, guard: ConnectionGuard, waits: Awaitable[Step]) -> None:
        try:
            step = await waits
        except Exception:
            log.exception("a defect in the authenticator of listener %s: the connection closes", self._peer.listener)
            self._stats.handler_failures += 1
            step = Step(end=End.CLOSE_NOW)
        except asyncio.CancelledError:
            self.abort()
            raise
        if self.state is Work.WAITING:
            out: list[bytes] = []
            self._enter(WorkEvent.ANSWERED)
            self._stepped(guard, step, out)
            self._run_on(out)

    def _stepped(self, guard: ConnectionGuard, step: Step, out: list[bytes]) -> None:
        if step.end is not End.OPEN:
            self._fail(step, "connections_expired" if guard.expired else "connections_unauthenticated")
            return
        guard.done()
        if step.answer:
            out.append(step.answer)
        if guard.authenticated:
            self._peer = guard.identified(self._peer)
            if self.silent_since:
                self._heard()
        self._cut(b"", self._loop.time())

    def _fail(self, step: Step, kind: str = "connections_unauthenticated") -> None:
        """A failed authentication is answered after a delay, in which nothing is read."""
        self._enter(WorkEvent.FAILED)
        if step.reason:
            self._shared.record(kind, self._peer.host, step.reason)
        self._step = self._shared.step(self, self._close_after(step))

    async def _close_after(self, step: Step) -> None:
        delay = self._limits.connection_failed_authentication_delay_ms / 1000
        later = step.end is End.CLOSE_LATER
        try:
            if later and delay > 0:
                await asyncio.sleep(delay)
        finally:
            self._stream.abandon()
            if self.state is Work.FAILING:
                if later and step.answer:
                    self._write([step.answer])
                self._close()

    # ------------------------------------------------------------------------------------------------ out

    def _write(self, out: list[bytes]) -> None:
        if out and self._writer.write(out):
            self._loop.call_soon(self._write_on)

    def _write_on(self) -> None:
        if self._transport is None:
            return
        self.last_active = now = self._loop.time()
        if self._writer.write_on():
            self._loop.call_soon(self._write_on)
        self.unread_since = now if self._writer.clogged else 0.0
        if self._writer.clogged:
            self._update_flow()
        elif self.state is Work.READING:
            self._run(WorkEvent.FRAMES)

    def _close_when_over(self) -> bool:
        closes = self.state in (Work.READING, Work.MUTED) and self._writer.empty
        if closes:
            self._close()
        return closes

    def _close(self) -> None:
        self._enter(WorkEvent.OVER)
        if self._transport is not None:
            self._transport.close()

    # -------------------------------------------------------------------------------------- called by OpenConnections

    @property
    def idle(self) -> bool:
        """Half a frame is not in work, nor are answers that the peer has yet to read."""
        return self.state in (Work.READING, Work.CLOSING)

    @property
    def unwatched(self) -> int | None:
        if self._transport is None or not self._flow.paused or self._guard is None or self._guard.authenticated:
            return None
        return int(self._transport.get_extra_info("socket").fileno())

    def drain(self) -> None:
        self._end()
        self._unmute()

    def abort(self) -> None:
        if self._transport is not None:
            self._enter(WorkEvent.ABORTED)
            self._transport.abort()
