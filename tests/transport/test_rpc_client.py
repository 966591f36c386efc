"""The client of one broker, against the protocol's own server side and against servers that fail it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from kafka_reassign_rpc.protocol.client_connection import MAX_ANSWER_BYTES
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, encode_body
from kafka_reassign_rpc.protocol.frame_errors import BadFrameSize, ProtocolError, UnexpectedAnswer
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionRequest,
    ApiVersionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
)
from kafka_reassign_rpc.protocol.served_connection import Connection
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from kafka_reassign_rpc.server.process_limits import LoopName, loop_factory
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from tests.waiting import eventually

LARGE = 20_000_000
SERVED = [(7, 0, 2), (18, 0, 3), (56, 9, 9)]


def body_of(request: DecodedRequest) -> Any:
    version = request.header.api_version
    if request.header.api_key == 18:
        return ApiVersionsResponse(version=version, error_code=0, api_keys=SERVED)
    return ControlledShutdownResponse(version=version, error_code=request.body.broker_id, remaining_partitions=[])


@asynccontextmanager
async def client_of(
    asked: list[DecodedRequest], reply: Callable[[bytes], bytes] = lambda answer: answer, timeout_s: float = 60.0
) -> AsyncIterator[RpcClient]:
    """A client whose server notes what it was `asked`, and sends what `reply` makes of each answer."""

    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(SUPPORTED)
        with suppress(ConnectionResetError):  # a client that has given up
            while data := await reader.read(1000):
                connection.receive(data)
                while connection.queued:
                    request = connection.parse(connection.next_frame())
                    assert isinstance(request, DecodedRequest)
                    asked.append(request)
                    writer.write(reply(connection.answer(request, body_of(request))))
        writer.close()
        served.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        client = await RpcClient.open(host, port, "someone", timeout_s)
        try:
            yield client
        finally:
            client.close()
            await served.wait()


NO_HOSTS = ("a..b", ".", "x" * 64, "x" * 8_191, "\ud800", "é" * 100, "a\x00b", "\U0001f600" * 70)
"""Names that IDNA, or the system, refuses. Any may stand in a broker's registration."""


@pytest.mark.parametrize("make_loop", [loop_factory("asyncio"), loop_factory("uvloop")], ids=["asyncio", "uvloop"])
def test_sv_4_a_host_whose_name_is_none_is_a_host_that_cannot_be_reached(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def open_all() -> None:
        for host in NO_HOSTS:
            with pytest.raises((OSError, TimeoutError)) as caught:
                await RpcClient.open(host, 9092, "someone", 10.0)
            assert len(str(caught.value)) < 500

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(open_all())


def shutdown(broker_id: int) -> Any:
    return ControlledShutdownRequest(version=2, broker_id=broker_id, broker_epoch=5)


async def test_455_4_the_client_asks_for_versions_once_and_takes_the_highest_common_one() -> None:
    asked: list[DecodedRequest] = []
    async with client_of(asked) as client:
        assert [await client.version(ControlledShutdownRequest) for _ in range(3)] == [2, 2, 2]
        assert [request.header.api_key for request in asked] == [18]
        for unknown in (AlterPartitionRequest, LeaderAndIsrRequest):
            with pytest.raises(ConnectionError, match=unknown.__name__):
                await client.version(unknown)


async def test_455_4_a_request_gets_its_answer_whether_encoded_already_or_not() -> None:
    asked: list[DecodedRequest] = []
    async with client_of(asked) as client:
        for broker_id in (1, 2):
            answer = await client.call(ControlledShutdownRequest, shutdown(broker_id), 2)
            assert answer.error_code == broker_id
        answer = await client.call(ControlledShutdownRequest, encode_body(shutdown(3), version=2), 2)
        assert answer.error_code == 3
    assert [(request.header.client_id, request.body.broker_epoch) for request in asked] == [("someone", 5)] * 3


@pytest.mark.both_loops
async def test_sv_4_a_request_on_a_connection_that_was_reset_while_it_was_idle_says_so() -> None:
    """The channel connects again: with uvloop such a request was taken for a defect of the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        client = await RpcClient.open(host, port, "someone", 10.0)
        peer, _ = listener.accept()
        with peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset at the end
        await eventually(lambda: client.is_closed)
        with pytest.raises(ConnectionResetError, match="was reset"):
            await client.call(ControlledShutdownRequest, shutdown(1), 2)
        client.close()


async def test_455_4_after_a_missing_answer_the_connection_refuses_another_request() -> None:
    async with client_of([], lambda _: b"", timeout_s=1) as client:
        with pytest.raises(TimeoutError):
            await client.call(ControlledShutdownRequest, shutdown(1), 2)
        with pytest.raises(ConnectionError):
            await client.call(ControlledShutdownRequest, shutdown(2), 2)


async def test_455_4_closing_the_client_ends_a_call_that_waits() -> None:
    asked: list[DecodedRequest] = []
    async with client_of(asked, lambda _: b"") as client:
        call = asyncio.create_task(client.call(ControlledShutdownRequest, shutdown(1), 2))
        await eventually(lambda: asked)
        client.close()
        with pytest.raises(EOFError):
            await call


@pytest.mark.parametrize(
    "reply",
    [lambda _: b"\xff\xff\xff\xff", lambda answer: answer[:4] + b"\1\1\1\1" + answer[8:], lambda answer: answer * 2],
    ids=["a size below zero", "another correlation id", "two answers"],
)
async def test_455_4_a_malformed_answer_is_a_protocol_error(reply: Callable[[bytes], bytes]) -> None:
    async with client_of([], reply) as client:
        with pytest.raises(ProtocolError):  # noqa: PT012
            await client.call(ControlledShutdownRequest, shutdown(1), 2)
            await client.call(ControlledShutdownRequest, shutdown(2), 2)


class Gate:
    """A server that keeps its answers until the test says how to go on. `waiting`: the answers that it keeps."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.writer: asyncio.StreamWriter
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        connection = Connection(SUPPORTED)
        with suppress(OSError):
            while data := await reader.read(1000):
                connection.receive(data)
                while connection.queued:
                    request = connection.parse(connection.next_frame())
                    assert isinstance(request, DecodedRequest)
                    self.waiting.append(connection.answer(request, body_of(request)))
        writer.close()
        self.ended.set()

    def release(self, count: int = 1) -> None:
        for answer in self.waiting[:count]:
            self.writer.write(answer)
        del self.waiting[:count]


@asynccontextmanager
async def gated(
    max_in_flight: int, timeout_s: float = 60.0, max_answer_bytes: int = MAX_ANSWER_BYTES
) -> AsyncIterator[tuple[Gate, RpcClient]]:
    gate = Gate()
    async with await asyncio.start_server(gate.serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        client = await RpcClient.open(
            host, port, "someone", timeout_s, max_in_flight=max_in_flight, max_answer_bytes=max_answer_bytes
        )
        try:
            yield gate, client
        finally:
            client.close()
            await gate.ended.wait()


def calls(client: RpcClient, count: int) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(client.call(ControlledShutdownRequest, shutdown(number), 2)) for number in range(count)]


async def ended(tasks: list[asyncio.Task[Any]]) -> list[type[object]]:
    return [type(one) for one in await asyncio.gather(*tasks, return_exceptions=True)]


@pytest.mark.both_loops
async def test_455_4_many_requests_in_flight_get_their_own_answers_and_more_wait_for_their_turn() -> None:
    async with gated(5) as (gate, client):
        tasks = calls(client, 20)
        for left in range(20, 0, -1):
            await eventually(lambda: len(gate.waiting) == min(left, 5))  # noqa: B023 (it is awaited here)
            assert client.in_flight <= 5
            gate.release()
        assert [(await task).error_code for task in tasks] == list(range(20))


@pytest.mark.both_loops
async def test_455_4_a_socket_that_closes_in_the_middle_of_an_answer_ends_every_call() -> None:
    async with gated(5) as (gate, client):
        tasks = calls(client, 7)
        await eventually(lambda: len(gate.waiting) == 5)
        gate.writer.write(gate.waiting[0] + gate.waiting[1][:-1])
        await eventually(lambda: len(gate.waiting) == 6)  # the first one's place is taken
        gate.writer.close()
        kinds = await ended(tasks)
        assert (await tasks[0]).error_code == 0
        assert kinds[1:6] == [EOFError] * 5
        assert issubclass(kinds[6], ConnectionError), "it was never sent"


async def test_455_4_an_answer_to_another_request_ends_every_call_and_the_connection() -> None:
    async with gated(5) as (gate, client):
        tasks = calls(client, 3)
        await eventually(lambda: len(gate.waiting) == 3)
        gate.writer.write(gate.waiting[1])
        assert await ended(tasks) == [UnexpectedAnswer] * 3
        with pytest.raises(UnexpectedAnswer):
            await client.call(ControlledShutdownRequest, shutdown(9), 2)


async def test_455_4_an_answer_that_is_announced_as_too_large_ends_the_connection_before_it_comes() -> None:
    async with gated(2, max_answer_bytes=1000) as (gate, client):
        tasks = calls(client, 2)
        await eventually(lambda: len(gate.waiting) == 2)
        gate.writer.write((1001).to_bytes(4, "big"))
        assert await ended(tasks) == [BadFrameSize] * 2
        assert client.is_closed


async def test_455_4_a_server_that_sends_an_answer_too_slowly_is_given_up() -> None:
    """Each byte comes in time, the answer does not."""
    async with gated(2, timeout_s=1) as (gate, client):
        tasks = calls(client, 2)
        await eventually(lambda: len(gate.waiting) == 2)

        async def trickle() -> None:
            for byte in gate.waiting[0] * 20:
                gate.writer.write(bytes((byte,)))
                await asyncio.sleep(0.2)

        slow = asyncio.create_task(trickle())
        assert await ended(tasks) == [TimeoutError] * 2
        slow.cancel()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_kr_6_a_request_that_has_timed_out_does_not_arrive_later(loop: LoopName) -> None:
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(_times_out_behind_a_full_buffer())


def _read_all(accepted: socket.socket) -> None:
    while accepted.recv(1 << 16):
        pass


async def _times_out_behind_a_full_buffer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client = await RpcClient.open("127.0.0.1", server.getsockname()[1], "someone", 1.0)
        accepted, _ = server.accept()
        with accepted:
            with pytest.raises(TimeoutError):
                await client.call(ControlledShutdownRequest, bytes(LARGE), 2)
            await eventually(lambda: client.is_closed)
            accepted.settimeout(60)
            with pytest.raises(ConnectionResetError):
                await asyncio.to_thread(_read_all, accepted)


async def test_455_4_the_answer_of_a_cancelled_call_goes_to_no_other() -> None:
    async with gated(5) as (gate, client):
        tasks = calls(client, 3)
        await eventually(lambda: len(gate.waiting) == 3)
        tasks[1].cancel()
        await asyncio.wait(tasks[1:2])
        gate.release(3)
        assert [(await tasks[number]).error_code for number in (0, 2)] == [0, 2]


async def test_455_4_an_answer_that_never_comes_ends_the_connection_although_its_caller_is_gone() -> None:
    async with gated(5, timeout_s=1) as (gate, client):
        [task] = calls(client, 1)
        await eventually(lambda: gate.waiting)
        task.cancel()
        await eventually(lambda: client.is_closed)


async def test_sv_5_a_call_that_is_cancelled_while_its_login_is_repeated_leaves_no_connection_with_half_a_login() -> (
    None
):
    begun = asyncio.Event()

    async def login() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with client_of([]) as client:
        client.repeat_login(0.0, login)
        [task] = calls(client, 1)
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])
        assert client.is_closed
