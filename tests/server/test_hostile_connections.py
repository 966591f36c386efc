"""Connections that cost much and want nothing: what the server does with them, and that others do not notice."""

import asyncio
import logging
import os
import resource
import socket
import struct
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from itertools import pairwise
from typing import Any

import pytest

from kafka_reassign_rpc.server import connection_times, open_connections, process_limits
from kafka_reassign_rpc.server.open_connections import CLOSED_IN_A_ROW
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_connection import MUCH_BYTES
from tests.api.model_node import handler_service
from tests.raw_client import Client, connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import alter, held_node, list_all, versions
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops

HALF = struct.pack(">i", 1000) + bytes(500)


@pytest.fixture
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_times, "TICK_SECONDS", 0.05)


async def accepted(server: Server, count: int) -> None:
    await eventually(lambda: server.stats.connections_accepted == count)


# -------------------------------------------------------------------------------------------------- room for others


async def test_sv_6_a_crowd_that_leaves_at_once_is_closed_a_few_in_each_turn(start_server: StartServer) -> None:
    server = await start_server()
    crowd: list[socket.socket] = []
    while len(crowd) < 8 * CLOSED_IN_A_ROW:
        crowd += [socket.create_connection(address(server)) for _ in range(CLOSED_IN_A_ROW // 2)]
        await accepted(server, len(crowd))
    for one in crowd:
        one.close()
    left = [server.stats.connections_now]
    while left[-1]:
        await asyncio.sleep(0)
        left.append(server.stats.connections_now)
    assert max(before - after for before, after in pairwise(left)) <= CLOSED_IN_A_ROW


async def test_sv_6_at_max_connections_the_oldest_without_a_request_makes_room(start_server: StartServer) -> None:
    server = await start_server(max_connections=3)
    async with connected(address(server)) as proven, AsyncExitStack() as stack:
        await proven.call(versions(), 0)
        silent = []
        for count in (2, 3):
            silent.append(await stack.enter_async_context(connected(address(server))))
            await accepted(server, count)
        async with connected(address(server)) as newcomer:
            assert (await newcomer.call(versions(), 0)).error_code == 0
            assert await silent[0].is_closed()
            assert server.stats.connections_now == 3
        assert (await proven.call(versions(), 0)).error_code == 0
        assert (await silent[1].call(versions(), 0)).error_code == 0
    assert (server.stats.connections_evicted, server.stats.connections_refused) == (1, 0)
    await eventually(lambda: server.stats.connections_now == 0)


async def test_sv_6_then_the_one_that_idles_longest_and_never_one_at_work(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node, max_connections=2)
    async with connected(address(server)) as working, connected(address(server)) as idle:
        await working.send(working.request(alter(0), 0))
        await eventually(lambda: node.controller.calls)
        await idle.call(versions(), 0)
        async with connected(address(server)) as newcomer:
            await newcomer.send(newcomer.request(alter(1), 0))
            assert await idle.is_closed()
            await eventually(lambda: server.stats.requests_in_work_now == 2)
            async with connected(address(server)) as one_more:
                assert await one_more.is_closed(), "all are at work"
            node.controller.hold.set()
            await working.frame()
            await newcomer.frame()
    assert (server.stats.connections_evicted, server.stats.connections_refused) == (1, 1)


async def test_sv_6_an_address_at_its_limit_makes_room_from_its_own(start_server: StartServer) -> None:
    limited = await start_server(max_connections_per_ip=2)
    excepted = await start_server(max_connections_per_ip=1, max_connections_per_ip_overrides={"127.0.0.1": 2})
    async with connected(address(limited)) as one, connected(address(limited)) as silent:
        await one.call(versions(), 0)
        await accepted(limited, 2)
        async with connected(address(limited)) as two:
            await two.call(versions(), 0)
            assert await silent.is_closed()
            async with connected(address(limited)) as three:
                assert await three.is_closed(), "those of its neighbours that are in use stay"
            assert (await one.call(versions(), 0)).error_code == 0
    async with connected(address(excepted)) as one, connected(address(excepted)) as two:
        await one.call(versions(), 0)
        await two.call(versions(), 0)


async def test_sv_6_an_address_that_connects_too_often_is_refused(start_server: StartServer) -> None:
    server = await start_server(max_connection_creation_rate_per_ip=1)
    while not server.stats.connections_refused:
        async with connected(address(server)) as client:
            await client.send(client.request(versions(), 0))
            await client.is_closed()
    assert server.stats.connections_accepted >= 1

    async def served() -> bool:
        async with connected(address(server)) as client:
            return bool((await client.call(versions(), 0)).error_code == 0)

    assert await eventually(served)


# -------------------------------------------------------------------------------------------------- time


@pytest.mark.usefixtures("quick_ticks")
async def test_sv_6_silent_and_half_finished_connections_close_long_before_idle_ones(start_server: StartServer) -> None:
    node = held_node()
    server = await start_server(node, slow_client_timeout_ms=300)
    where = address(server)
    async with AsyncExitStack() as stack:
        silent, half, later_half, working, idle = [await stack.enter_async_context(connected(where)) for _ in range(5)]
        await half.send(HALF)
        await idle.call(versions(), 0)
        await later_half.call(versions(), 0)
        await later_half.send(HALF)
        await working.send(working.request(alter(0), 0) + working.request(list_all(), 0)[:10])
        for client in (silent, half, later_half):
            assert await client.is_closed()
        stats = server.stats
        assert stats.connections_silent_closed + stats.connections_partial_closed == 3
        assert stats.connections_silent_closed >= 1
        assert stats.connections_partial_closed >= 1
        assert stats.connections_idle_closed == 0
        assert (await idle.call(versions(), 0)).error_code == 0
        node.controller.hold.set()
        await working.frame()


@pytest.mark.usefixtures("quick_ticks")
@pytest.mark.parametrize("piece", [1, 2 * MUCH_BYTES // 3, 2 * MUCH_BYTES], ids=["bytes", "pieces", "large pieces"])
async def test_sv_6_bytes_that_drip_in_do_not_prolong_a_request(start_server: StartServer, piece: int) -> None:
    server = await start_server(slow_client_timeout_ms=300, socket_request_max_bytes=2**30)

    async def drip(client: Client) -> None:
        while True:
            await client.send(bytes(piece))
            await asyncio.sleep(0.01)

    async with connected(address(server)) as client:
        await client.call(versions(), 0)
        await client.send(struct.pack(">i", 2**30))
        dripping = asyncio.create_task(drip(client))
        assert await client.is_closed()
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
    assert server.stats.connections_partial_closed == 1


async def test_sv_6_half_a_request_behind_one_at_work_has_time_from_when_it_is_read_on(
    start_server: StartServer,
) -> None:
    node = held_node()
    server = await start_server(node)
    async with connected(address(server)) as client:
        second = client.request(list_all(), 0)
        await client.send(client.request(alter(0), 0) + client.request(alter(1), 0) + second[:10])
        await eventually(lambda: node.controller.calls)
        (connection,) = server._connections._connections
        connection.frame_since -= 60  # so long the first one has been at work
        node.controller.hold.set()
        await client.frame()
        await client.frame()
        now = asyncio.get_running_loop().time()
        await eventually(lambda: connection.frame_since > now - 50)
        await client.send(second[10:])
        await client.frame()
        assert connection.frame_since == 0


async def test_sv_6_a_client_that_sends_fast_is_read_one_piece_in_a_turn_of_the_loop(start_server: StartServer) -> None:
    server = await start_server()
    size = 8_000_000
    most = 0

    def send() -> None:
        with socket.create_connection(address(server)) as connection:
            connection.sendall(struct.pack(">i", size + 1) + bytes(size))

    sending = asyncio.get_running_loop().run_in_executor(None, send)
    while (before := server.stats.bytes_received) < size:
        await asyncio.sleep(0)
        most = max(most, server.stats.bytes_received - before)
    await sending
    assert most <= 2 * 256 * 1024  # asyncio reads a piece of 256 KiB in each turn by itself


# -------------------------------------------------------------------------------------------------- unread answers


def answering(size: int) -> Any:
    return handler_service(lambda _request: bytes(size))


@pytest.mark.usefixtures("quick_ticks")
async def test_sv_6_who_does_not_read_an_answer_in_time_is_closed(start_server: StartServer) -> None:
    server = await start_server(answering(20_000_000), slow_client_timeout_ms=500)
    async with connected(address(server), receive_buffer=4096) as client:
        await client.send(client.request(versions(), 0))
        await eventually(lambda: server.stats.answer_bytes_now > 1_000_000)
        await eventually(lambda: server.stats.connections_unread_closed == 1)
    await eventually(lambda: server.stats.answer_bytes_now == server.stats.connections_now == 0)


async def test_sv_6_unread_answers_are_bounded_over_all_connections(start_server: StartServer) -> None:
    """The longest wait ends first. A client that reads is served all the time."""
    server = await start_server(answering(20_000_000), queued_max_response_bytes=50_000_000)
    async with AsyncExitStack() as stack:
        lazy = [await stack.enter_async_context(connected(address(server), receive_buffer=4096)) for _ in range(10)]
        for count, client in enumerate(lazy, 1):
            await client.send(client.request(versions(), 0))
            await eventually(lambda count=count: server.stats.requests[18] == count)  # type: ignore[misc]
            await eventually(lambda: server.stats.answer_bytes_now <= 50_000_000)
        assert server.stats.connections_unread_closed >= 7
        async with connected(address(server)) as honest:
            await honest.send(honest.request(versions(), 0))
            assert len(await honest.frame()) > 20_000_000
            assert server.stats.connections_now == 11 - server.stats.connections_unread_closed
    await eventually(lambda: server.stats.answer_bytes_now == server.stats.connections_now == 0)


# -------------------------------------------------------------------------------------------------- descriptors


@pytest.fixture
def few_descriptors() -> Iterator[int]:
    """So many more may be opened than are open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd"))
    spare = max(400, used)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + spare, hard))
    yield spare
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def take_all(taken: ExitStack) -> None:
    while True:
        taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))


@pytest.mark.usefixtures("quick_ticks")
async def test_sv_6_connections_make_room_where_file_descriptors_run_out(
    start_server: StartServer, few_descriptors: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever takes them: here the test does, all that are left."""
    server = await start_server()
    async with connected(address(server)) as proven, AsyncExitStack() as stack:
        await proven.call(versions(), 0)
        silent = [await stack.enter_async_context(connected(address(server))) for _ in range(20)]
        await accepted(server, 21)
        with ExitStack() as taken:
            with pytest.raises(OSError, match="Too many open files"):
                take_all(taken)
            for client in silent:
                assert await client.is_closed()
        assert server.stats.connections_evicted >= 20
    assert "file descriptors run out" in caplog.text

    async def served() -> bool:
        async with connected(address(server)) as client:
            return bool((await client.call(versions(), 0)).error_code == 0)

    assert await eventually(served)


def test_sv_6_connections_leave_descriptors_to_others() -> None:
    for limit in (64, 1024, 20_000, 2**31 - 1):
        kept = process_limits.kept_back(limit)
        most = process_limits.most_connections(limit)
        assert 16 <= most <= limit - kept
        assert 2 * process_limits.backlog(limit) <= kept
    assert process_limits.most_connections(2**31 - 1) == process_limits.MOST_CONNECTIONS


def test_sv_6_the_soft_limit_of_descriptors_is_raised_to_the_hard_one() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard) - 1, hard))
    try:
        assert process_limits.raise_descriptor_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# -------------------------------------------------------------------------------------------------- the log


@pytest.mark.usefixtures("quick_ticks")
async def test_sv_6_a_limit_that_is_reached_is_logged(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    full = await start_server(max_connections=1)
    async with connected(address(full)) as first:
        await accepted(full, 1)
        async with connected(address(full)):
            assert await first.is_closed()
    impatient = await start_server(slow_client_timeout_ms=100)
    async with connected(address(impatient)) as silent:
        assert await silent.is_closed()
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        "connection from 127.0.0.1 closed to make room: max.connections=1 reached",
        "connection from 127.0.0.1 closed without a request: it had 0.1 s",
    ]


def test_sv_6_what_is_logged_of_connections_is_counted() -> None:
    from kafka_reassign_rpc.controller.telemetry.metric_catalogue import SERVER_COUNTERS

    assert open_connections.LOGGED.keys() <= SERVER_COUNTERS.keys()
