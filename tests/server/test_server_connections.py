"""Order, back-pressure, limits, idle connections, and the end of a server."""

import asyncio
import logging
import socket
import struct
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ApiVersionsRequest,
    DescribeClusterRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from tests.api.model_node import ModelNode, handler_service, service, topic
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops


def alter(*partitions: int) -> AlterPartitionReassignmentsRequest:
    request = AlterPartitionReassignmentsRequest
    items = [
        request.ReassignableTopic.ReassignablePartition(version=0, partition_index=i, replicas=[1]) for i in partitions
    ]
    topics = [request.ReassignableTopic(version=0, name="t", partitions=items)]
    return request(version=0, timeout_ms=1000, topics=topics)


def list_all() -> ListPartitionReassignmentsRequest:
    return ListPartitionReassignmentsRequest(version=0, timeout_ms=1000, topics=None)


def versions() -> ApiVersionsRequest:
    return ApiVersionsRequest(version=0)


def held_node() -> ModelNode:
    """A node whose Alter waits until `controller.hold` is set."""
    node = ModelNode(topic("t", 3))
    assert node.controller is not None
    node.controller.hold = asyncio.Event()
    return node


# -------------------------------------------------------------------------------------------------- order


async def test_sv_6_one_request_of_a_connection_is_in_work_and_answers_come_in_order(
    start_server: StartServer,
) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as client, connected(address(server)) as other:
        await client.send(b"".join([client.request(alter(0), 0), client.request(list_all(), 0)] * 2))
        await eventually(lambda: node.controller.calls)
        assert (await other.call(list_all(), 0)).error_code == 0, "others are served meanwhile"
        assert len(node.controller.calls) == 1
        node.controller.hold.set()
        assert [(await client.frame())[:4] for _ in range(4)] == [struct.pack(">i", i) for i in (1, 2, 1, 2)]
    assert len(node.controller.calls) == 2


async def test_sv_6_a_client_with_many_requests_does_not_keep_others_waiting(start_server: StartServer) -> None:
    """Its run ends after `turn_ms`, so that another connection is served in between."""
    answered: list[str] = []

    def handle(request: Any) -> Any:
        answered.append(request.header.client_id)
        return b"\0" * 10

    server = await start_server(handler_service(handle), turn_ms=0)
    async with connected(address(server)) as busy, connected(address(server)) as other:
        await busy.send(b"".join(busy.request(versions(), 0) for _ in range(2000)))
        other_request = other.request(versions(), 0).replace(b"test", b"else")
        await other.send(other_request)
        await other.frame()
        for _ in range(2000):
            await busy.frame()
    assert answered.index("else") < 2000


async def test_sv_6_a_handler_that_fails_is_answered_and_logged_and_the_connection_lives(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    node = ModelNode(topic("t", 1))
    server = await start_server(node)
    async with connected(address(server)) as client:
        node.controller.raises = RuntimeError("a defect")
        with caplog.at_level(logging.ERROR):
            answer = await client.call(alter(0), 0)
        assert answer.error_code == -1
        assert answer.responses[0].partitions[0].error_code == -1
        assert "a defect" in caplog.text
        node.nodes = None  # type: ignore[method-assign, assignment]
        assert (await client.call(DescribeClusterRequest(version=0), 0)).error_code == -1, "a sync handler too"
        node.controller.raises = InvalidRequest("because")
        answer = await client.call(alter(0), 0)
        assert (answer.error_code, answer.error_message) == (42, "because")


async def test_sv_6_an_answer_that_cannot_be_encoded_closes_that_connection(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def later() -> Any:
        return object()

    for handle in (lambda _: object(), lambda _: later()):
        server = await start_server(handler_service(handle))
        async with connected(address(server)) as client:
            await client.send(client.request(versions(), 0))
            assert await client.is_closed()
        assert server.stats.handler_failures == 1


async def test_sv_6_a_request_is_finished_when_its_client_has_gone(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as client:
        await client.send(client.request(alter(0), 0))
        await eventually(lambda: node.controller.calls)
    node.controller.hold.set()
    await eventually(lambda: server.stats.requests_in_work_now == 0)
    assert server.stats.requests[45] == 1


async def test_sv_6_a_client_that_has_finished_sending_still_gets_its_answers(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as client:
        await client.send(client.request(alter(0), 0))
        client.writer.write_eof()
        await eventually(lambda: node.controller.calls)
        node.controller.hold.set()
        await client.frame()
        assert await client.is_closed()


# -------------------------------------------------------------------------------------------------- back-pressure


async def test_sv_6_a_client_that_does_not_read_is_not_read_either(start_server: StartServer) -> None:
    served = 0

    def handle(_request: Any) -> Any:
        nonlocal served
        served += 1
        return bytes(100_000)

    server = await start_server(handler_service(handle))
    async with connected(address(server), receive_buffer=4096) as client:
        count = 500
        client.writer.write(b"".join(client.request(versions(), 0) for _ in range(count)))
        await eventually(lambda: server.stats.bytes_sent > 200_000)
        before = -1
        while before != served:  # until nothing moves any more
            before = served
            await asyncio.sleep(0.1)
        assert served < 200, "what the kernel takes, and a little"
        async with connected(address(server)) as other:
            await other.send(other.request(versions(), 0))
            assert len(await other.frame()) > 100_000
        for _ in range(count):
            await client.frame()
    assert served == count + 1


async def test_sv_6_requests_beyond_queued_max_requests_wait(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node, queued_max_requests=2)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(address(server))) for _ in range(5)]
        for client in clients[:4]:
            await client.send(client.request(alter(0), 0))
        await clients[4].send(clients[4].request(list_all(), 0))
        await eventually(lambda: server.stats.requests_waiting_now == 3)
        assert len(node.controller.calls) == 2
        await clients[3].close()
        node.controller.hold.set()
        for client in (*clients[:3], clients[4]):
            await client.frame()


async def test_sv_6_request_bytes_are_bounded_over_all_connections(start_server: StartServer) -> None:
    """Beyond the limit the server reads no new connection; the slowest senders are closed, the others continue."""
    server = await start_server(queued_max_request_bytes=300_000, slow_frame_ms=100)
    half = struct.pack(">i", 5_000_000) + bytes(200_000)
    async with connected(address(server)) as one, connected(address(server)) as two:
        await one.send(half)
        await two.send(half)
        await eventually(lambda: server.stats.connections_slow_closed >= 1)
        async with connected(address(server)) as honest:
            assert (await honest.call(versions(), 0)).error_code == 0
    await eventually(lambda: server.stats.request_bytes_now == 0)


async def test_sv_6_connections_that_waited_for_room_are_read_on(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node, queued_max_request_bytes=3000)
    large = alter(*range(500))
    async with connected(address(server)) as one, connected(address(server)) as two:
        await one.send(one.request(large, 0))
        await eventually(lambda: server.stats.requests_in_work_now == 1)
        request = two.request(large, 0)
        await two.send(request[:2000])
        await eventually(lambda: server.stats.request_bytes_now > 5000)
        await two.send(request[2000:])
        node.controller.hold.set()
        await one.frame()
        await two.frame()
    await eventually(lambda: server.stats.request_bytes_now == 0)


# -------------------------------------------------------------------------------------------------- connections


async def test_sv_6_new_connections_beyond_the_rate_wait_their_turn(start_server: StartServer) -> None:
    server = await start_server(max_connection_creation_rate=2)
    async with AsyncExitStack() as stack:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        joining = (stack.enter_async_context(connected(address(server))) for _ in range(22))
        clients = await asyncio.gather(*joining)  # at once: one after the other, a slow machine keeps to the rate
        await asyncio.gather(*(client.call(versions(), 0) for client in clients))
        assert loop.time() - begin > 0.9, "22 in ten seconds and one"
        assert server.stats.connections_delayed >= 1


async def test_sv_6_two_thousand_connections_are_served(start_server: StartServer) -> None:
    server = await start_server()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(address(server))) for _ in range(2000)]
        answers = await asyncio.gather(*(client.call(versions(), 0) for client in clients))
        assert all(answer.error_code == 0 for answer in answers)
        assert server.stats.connections_now == 2000
    await eventually(lambda: server.stats.connections_now == 0)


async def test_sv_6_an_idle_connection_is_closed_and_a_busy_one_is_not(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node, connections_max_idle_ms=300)
    where = address(server)
    async with connected(where) as silent, connected(where) as half, connected(where) as working:
        await working.send(working.request(alter(0), 0))
        await half.send(b"\0\0\0")
        assert await silent.is_closed()
        assert await half.is_closed()
        assert server.stats.connections_idle_closed == 2
        node.controller.hold.set()
        await working.frame()


# -------------------------------------------------------------------------------------------------- the end


async def test_sv_6_a_server_that_closes_finishes_what_is_in_work(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as idle, connected(address(server)) as working:
        await working.send(working.request(alter(0), 0) + working.request(list_all(), 0))
        await idle.call(versions(), 0)
        await eventually(lambda: node.controller.calls)
        closing = asyncio.create_task(server.close(deadline=10))
        assert await idle.is_closed()
        with pytest.raises(OSError):  # noqa: PT011
            await asyncio.open_connection(*address(server))
        node.controller.hold.set()
        await working.frame()
        await working.frame()
        assert await working.is_closed()
        await closing


async def test_sv_6_a_server_that_closes_cuts_off_what_does_not_end(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as working:
        await working.send(working.request(alter(0), 0))
        await eventually(lambda: node.controller.calls)
        await server.close(deadline=0.05)
        assert await working.is_closed()
    assert server.stats.connections_now == 0


@pytest.mark.parametrize("turns", range(6))
async def test_sv_6_a_connection_that_comes_while_the_server_closes_is_closed_too(turns: int) -> None:
    server = Server(Dispatcher(ModelNode()), [Listener("127.0.0.1", 0)])
    await server.start()
    with socket.create_connection(address(server), timeout=10) as client:
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.close()
        assert await asyncio.to_thread(is_over, client)


def is_over(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


async def test_a_port_in_use_is_an_os_error_and_leaves_nothing_open(start_server: StartServer) -> None:
    server = await start_server()
    second = Server(server.service, [Listener("127.0.0.1", 0, "A"), Listener("127.0.0.1", address(server)[1], "B")])
    with pytest.raises(OSError, match="in use"):
        await second.start()
    with pytest.raises(OSError):  # noqa: PT011
        await asyncio.open_connection(*second.addresses["A"])


async def test_several_listeners_tell_the_service_which_one_it_was(start_server: StartServer) -> None:
    seen = []

    def handle(_request: Any, peer: Any) -> bytes:
        seen.append((peer.listener, peer.host))
        return bytes(6)

    spoken_to = service({18: (0, 4)}, lambda _request: None)
    spoken_to.handle = handle
    server = Server(spoken_to, [Listener("127.0.0.1", 0, "INTERNAL"), Listener("127.0.0.1", 0, "EXTERNAL")])
    await server.start()
    for name in ("EXTERNAL", "INTERNAL"):
        async with connected(server.addresses[name]) as client:
            await client.send(client.request(versions(), 0))
            await client.frame()
    await server.close()
    assert seen == [("EXTERNAL", "127.0.0.1"), ("INTERNAL", "127.0.0.1")]
