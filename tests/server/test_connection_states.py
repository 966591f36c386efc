"""Walks the tables of a connection's states over real objects: a server's list of connections, a transport that is
none, and a clock that the test sets.
"""

import asyncio
import selectors
import socket
import struct
from collections import deque
from collections.abc import Awaitable
from random import Random
from typing import Any

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, NoAnswer, encode_request
from kafka_reassign_rpc.protocol.messages import ListPartitionReassignmentsRequest
from kafka_reassign_rpc.protocol.served_connection import STREAM, Connection, Stream
from kafka_reassign_rpc.security.authenticator import (
    Admission,
    AuthenticationContext,
    AuthenticationFailed,
    Authenticator,
    End,
    FixedAuthenticator,
    Step,
)
from kafka_reassign_rpc.server import server_connection
from kafka_reassign_rpc.server.connection_states import AFTER, PAUSES, WORK, Pause, Work, WorkEvent
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.server_connection import MUCH_BYTES, ServerConnection
from kafka_reassign_rpc.server.server_limits import ServerLimits, ServerStats

HOST = "10.0.0.1"
LIMITS = ServerLimits(
    queued_max_requests=2,
    queued_max_request_bytes=3_000,
    connections_max_idle_ms=20_000,
    slow_client_timeout_ms=10_000,
    large_frame_bytes=200,
    turn_ms=0,
    max_connections=6,
    connection_failed_authentication_delay_ms=100,
)
LEAST_WALKS, MOST_WALKS, STEPS = 10, 60, 160


class Time(selectors.SelectSelector):
    """Waits for nothing: the time of its loop goes on instead."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Time()
        super().__init__(self.clock)
        self.mistakes: list[Any] = []
        self.set_exception_handler(lambda _, context: self.mistakes.append(context))

    def time(self) -> float:
        self.clock.now += 1e-6  # so that a run of many requests takes time
        return self.clock.now


class Pipe(asyncio.Transport):
    """A transport whose peer takes what is written only while `reads`."""

    def __init__(self, loop: Loop, end: socket.socket) -> None:
        super().__init__()
        self.connection: Any = None
        self.reads = True
        self.paused = self.closing = self.lost = False
        self.inbox: deque[bytes] = deque()
        self.kept = 0
        self.taken = bytearray()
        self._loop = loop
        self._end = end

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": (HOST, 5), "socket": self._end}.get(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 1

    def get_write_buffer_size(self) -> int:
        return self.kept

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False
        self._loop.call_soon(self.deliver)

    def deliver(self) -> None:
        while self.inbox and not (self.paused or self.closing or self.lost):
            self.connection.data_received(self.inbox.popleft())

    def send(self, data: bytes) -> None:
        self.inbox.append(data)
        self.deliver()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.taken += data
        if not self.reads and not self.closing:
            full, self.kept = self.kept > 0, self.kept + len(data)
            if not full:
                self.connection.pause_writing()

    def take(self) -> None:
        """The peer reads again."""
        self.reads = True
        if self.kept:
            self.kept = 0
            self.connection.resume_writing()
            if self.closing:
                self.lose()

    def close(self) -> None:
        self.closing = True
        if not self.kept:
            self._loop.call_soon(self.lose)

    def abort(self) -> None:
        self.closing = True
        self._loop.call_soon(self.lose)

    def lose(self) -> None:
        if not self.lost:
            self.closing = self.lost = True
            self.connection.connection_lost(None)


class Checks:
    """An authenticator whose frames say what comes of them."""

    authenticated, guards, principal, mechanism, max_receive_size = False, True, "User:b", "", 300
    expires = False

    def admission(self, frame: bytes) -> Admission:
        if self.authenticated:
            return Admission.CLOSE if self.expires and b"session" in frame else Admission.SERVE
        return Admission.TAKE

    def receive(self, frame: bytes) -> Step | Awaitable[Step]:
        step = Step(b"\0\0\0\1k")
        if b"bad" in frame:
            step = Step(b"\0\0\0\1n", End.CLOSE_LATER, "a wrong password")
        elif b"session" in frame:
            self.expires = self.authenticated = True
        elif b"more" not in frame:
            self.authenticated = True
        if b"later" not in frame:
            return step
        loop = asyncio.get_running_loop()
        later: asyncio.Future[Step] = loop.create_future()
        loop.call_later(0.05, lambda: None if later.done() else later.set_result(step))
        return later

    def invalid_size(self, text: str) -> Step:
        return Step(b"", End.CLOSE_NOW, text)


class Answers:
    """A service: the client id of a request says how it is answered."""

    served, max_elements = {46: (0, 0)}, {46: 100}

    def __init__(self) -> None:
        self.open: list[asyncio.Future[bytes]] = []

    def refusal(self, _header: Any, _error: Any) -> None:
        return None

    illegal_sasl_state: Any = None

    def handle(self, request: DecodedRequest, _peer: Any) -> Any:
        name = request.header.client_id
        if name == "later":
            self.open.append(asyncio.get_running_loop().create_future())
            return self.open[-1]
        return {"much": [bytes(40_000)] * 3, "broken": object(), "none": NoAnswer(closes=True)}.get(
            name or "", bytes(10)
        )


def request(name: str, number: int, size: int = 0) -> bytes:
    topics = (
        [
            ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(
                version=0, name="t" * size, partition_indexes=[]
            )
        ]
        if size
        else []
    )
    body = ListPartitionReassignmentsRequest(version=0, timeout_ms=1, topics=topics)
    return encode_request(body, version=0, correlation_id=number, client_id=name)


SEEN_WORK: set[tuple[Work, WorkEvent]] = set()
SEEN_STREAM: set[tuple[Stream, Stream]] = set()
SEEN_PAUSES: set[tuple[Pause, bool]] = set()


class SeenConnection(ServerConnection):
    """Its state changes by events of the table alone."""

    _now: Work | None = None
    _event: WorkEvent | None = None

    @property
    def state(self) -> Work:
        assert self._now is not None
        return self._now

    @state.setter
    def state(self, after: Work) -> None:
        if self._now is not None:
            assert self._event is not None, f"{self._now.name} became {after.name} without an event"
            rows = [row for row in WORK if self._now in row.states and row.event is self._event]
            assert [row.after for row in rows] == [after]
            SEEN_WORK.add((self._now, self._event))
        self._now = after

    def _enter(self, event: WorkEvent) -> None:
        self._event = event
        super()._enter(event)
        self._event = None


class SeenStream(Connection):
    _now: Stream | None = None

    @property
    def state(self) -> Stream:
        assert self._now is not None
        return self._now

    @state.setter
    def state(self, after: Stream) -> None:
        if self._now is not None:
            SEEN_STREAM.add((self._now, after))
        self._now = after


class World:
    """A server's connections, and what may happen to them."""

    def __init__(self, random: Random, loop: Loop) -> None:
        self.random = random
        self.loop = loop
        self.service = Answers()
        self.stats = ServerStats()
        quotas = QuotaTable()
        quotas.put((("client-id", "greedy"),), {"request_percentage": "0.0001"})
        self.shared = OpenConnections(self.service, LIMITS, self.stats, quotas)
        self.pipes: list[Pipe] = []
        self.number = 0
        self.ends = socket.socketpair()

    def connect(self) -> None:
        if self.shared.refuses(HOST):
            return

        def authenticator(_context: AuthenticationContext) -> Authenticator:
            kind = self.random.randrange(8)
            if kind == 0:
                raise AuthenticationFailed("who is that?")
            return Checks() if kind < 4 else FixedAuthenticator()

        pipe = Pipe(self.loop, self.ends[0])
        pipe.connection = SeenConnection(self.shared, Listener(HOST, 0, authenticator=authenticator))
        pipe.connection.connection_made(pipe)
        self.pipes.append(pipe)

    def frame(self) -> bytes:
        self.number += 1
        kinds = ["now", "now", "later", "much", "greedy", "broken", "none", "session"]
        return request(self.random.choices(kinds, [6, 6, 4, 2, 3, 0.3, 0.3, 1])[0], self.number)

    def some_bytes(self) -> bytes:
        kind = self.random.randrange(14)
        if kind < 5:
            return b"".join(self.frame() for _ in range(self.random.choice([1, 1, 2, 3])))
        if kind == 5:
            return b"".join(request("now", self.number) for _ in range(40))
        if kind == 6:
            return self.frame() + self.frame()[: self.random.randrange(1, 20)]
        if kind == 7:
            return struct.pack(">i", 2_000) + bytes(self.random.randrange(1500))
        if kind == 8:
            return self.frame() + b"\xff\xff\xff\xff"
        if kind == 9:
            return request(self.random.choice(["now", "later", "much"]), self.number, 300)
        if kind == 10:
            return struct.pack(">i", MUCH_BYTES + 8) + bytes(MUCH_BYTES)
        text = self.random.choice([b"good", b"good", b"more", b"later", b"later bad", b"bad", b"session"])
        return struct.pack(">i", len(text) + 8) + bytes(8) + text

    def step(self) -> None:
        kind = self.random.choices(range(9), [3, 14, 1, 2, 2, 2, 1, 0.6, 1])[0]
        alive = [pipe for pipe in self.pipes if not pipe.lost]
        if kind == 0 or not alive:
            self.connect()
            return
        pipe = self.random.choice(alive)
        if kind == 1:
            pipe.send(self.some_bytes())
        elif kind == 2 and not pipe.closing:
            pipe.connection.eof_received()
        elif kind == 3:
            pipe.reads = False
        elif kind == 4:
            pipe.take()
        elif kind == 5 and self.service.open:
            self.answer(self.service.open.pop(0))
        elif kind == 6:
            pipe.lose()
        elif kind == 7:
            pipe.connection.abort()
        elif kind == 8:  # the end before the next turn of the loop
            pipe.send(b"".join(request("now", self.number) for _ in range(40)))
            self.random.choice([pipe.lose, pipe.connection.abort])()

    def answer(self, waiting: "asyncio.Future[bytes]") -> None:
        if not waiting.done():
            waiting.set_result(bytes(10))

    def look(self, before: dict[Any, set[Pause]]) -> dict[Any, set[Pause]]:
        """What the flow control of each connection says must be what its transport does."""
        after = {}
        for pipe in self.pipes:
            flow = pipe.connection._flow
            after[pipe] = set(flow.reasons)
            SEEN_PAUSES.update((reason, True) for reason in flow.reasons - before.get(pipe, set()))
            SEEN_PAUSES.update((reason, False) for reason in before.get(pipe, set()) - flow.reasons)
            if not pipe.closing:
                assert pipe.paused == flow.paused
                assert flow.paused <= bool(flow.reasons)
        return after

    async def walk(self) -> None:
        reasons: dict[Any, set[Pause]] = {}
        for _ in range(STEPS):
            self.step()
            reasons = self.look(reasons)
            if self.random.random() < 0.4:
                await asyncio.sleep(self.random.choice([0, 0, 0, 0.01, 0.2, 1.5, 12]))
                reasons = self.look(reasons)

    async def end(self) -> None:
        """Everybody gets his answers, the server drains, and nothing is left of what was shared."""
        for _ in range(60):
            for pipe in self.pipes:
                if not pipe.lost:
                    pipe.take()
            for waiting in self.service.open:
                self.answer(waiting)
            await asyncio.sleep(0.7)
        for pipe in self.pipes:
            connection = pipe.connection
            if not pipe.lost:
                assert not connection._stream.queued, f"left in {connection.state.name}"
                assert connection.state in (Work.READING, Work.CLOSING), connection.state.name
                assert not pipe.paused
        self.shared.drain()
        await self.shared.empty()
        for one in self.ends:
            one.close()
        stats = self.stats
        assert (stats.connections_now, stats.request_bytes_now, stats.answer_bytes_now) == (0, 0, 0)
        assert (stats.requests_in_work_now, stats.requests_waiting_now) == (0, 0)
        assert {pipe.connection.state for pipe in self.pipes} <= {Work.CLOSED}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "Connection", SeenStream)


async def _walk(seed: int, loop: Loop) -> None:
    world = World(Random(seed), loop)
    await world.walk()
    await world.end()


@pytest.mark.usefixtures("seen")
def test_sv_6_a_connection_follows_its_tables_and_each_row_is_reached() -> None:
    """Random events: only what the tables allow happens, answers and budgets come out right, and no row is idle."""
    rows = {(state, row.event) for row in WORK for state in row.states}
    pauses = {(reason, on) for reason in PAUSES for on in (True, False)}
    for seed in range(MOST_WALKS):
        if seed >= LEAST_WALKS and rows <= SEEN_WORK and pauses <= SEEN_PAUSES:
            break
        loop = Loop()
        try:
            loop.run_until_complete(_walk(seed, loop))
        finally:
            loop.close()
        assert not loop.mistakes, (seed, loop.mistakes)
    assert rows - SEEN_WORK == set()
    assert {(state, row.after) for row in STREAM for state in row.states} >= SEEN_STREAM
    assert pauses - SEEN_PAUSES == set()


def test_sv_6_each_state_of_a_connection_has_one_next_state_for_an_event_and_a_way_to_its_end() -> None:
    for state in Work:
        events = [row.event for row in WORK if state in row.states]
        assert len(set(events)) == len(events)
        reached, new = {state}, {state}
        while new:
            new = {after for one in new for after in AFTER[one].values()} - reached
            reached |= new
        assert Work.CLOSED in reached
    assert not AFTER[Work.CLOSED]
