"""Large requests in work hold bounded memory together; the others wait in their order."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from kafka_reassign_rpc.server import request_budgets
from kafka_reassign_rpc.server.request_budgets import HUGE_BYTES, HUGE_BYTES_IN_WORK, LARGE_BYTES_IN_WORK, LargeWork
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import alter, held_node, list_all
from tests.waiting import eventually


class Workers:
    """Requests that stay in work until the test ends them."""

    def __init__(self, work: LargeWork) -> None:
        self._work = work
        self.begun: list[str] = []
        self._end: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, size: int, host: str = "a") -> None:
        self._end[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, size, host))
        await self.settle()

    async def _run(self, name: str, size: int, host: str) -> None:
        async with self._work.room(size, host):
            self.begun.append(name)
            await self._end[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._end[name].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_sv_6_one_huge_request_of_any_size_is_in_work_and_more_if_there_is_room() -> None:
    workers = Workers(LargeWork(lambda: False))
    await workers.start("largest", 3 * HUGE_BYTES_IN_WORK)
    await workers.start("second", HUGE_BYTES + 1)
    await workers.start("third", HUGE_BYTES_IN_WORK - HUGE_BYTES - 1)
    await workers.start("fourth", HUGE_BYTES + 1)
    assert workers.begun == ["largest"]
    await workers.end("largest")
    assert workers.begun == ["largest", "second", "third"]
    await workers.end("second")
    assert workers.begun[3:] == ["fourth"]
    await workers.end("third", "fourth")


async def test_sv_6_smaller_requests_do_not_wait_for_huge_ones() -> None:
    workers = Workers(LargeWork(lambda: False))
    await workers.start("huge", 3 * HUGE_BYTES_IN_WORK)
    count = LARGE_BYTES_IN_WORK // HUGE_BYTES
    for index in range(count + 1):
        await workers.start(f"s{index}", HUGE_BYTES)
    assert len(workers.begun) == 1 + count
    await workers.end("s0")
    assert workers.begun[-1] == f"s{count}"
    await workers.end("huge", *(f"s{index}" for index in range(1, count + 1)))


async def test_sv_6_nothing_is_admitted_while_too_much_is_unread_and_who_gives_up_leaves_no_gap() -> None:
    closed = True
    work = LargeWork(lambda: closed)
    workers = Workers(work)
    for name in ("one", "two", "three"):
        await workers.start(name, HUGE_BYTES_IN_WORK)
    assert workers.begun == []
    workers.tasks["one"].cancel()
    await workers.settle()
    closed = False
    work.reconsider()
    await workers.settle()
    assert workers.begun == ["two"]
    workers.tasks["two"].cancel()
    await workers.settle()
    assert workers.begun == ["two", "three"]
    await workers.end("three")
    await workers.start("four", HUGE_BYTES_IN_WORK)
    assert workers.begun[-1] == "four"
    await workers.end("four")


async def test_sv_6_large_requests_wait_by_turns_of_the_addresses_that_they_come_from() -> None:
    workers = Workers(LargeWork(lambda: False))
    for index in range(4):
        await workers.start(f"a{index}", HUGE_BYTES_IN_WORK, "a")
    await workers.start("b0", HUGE_BYTES_IN_WORK, "b")
    await workers.start("b1", HUGE_BYTES_IN_WORK, "b")
    workers.tasks["b0"].cancel()
    for name in ("a0", "a1", "b1", "a2", "a3"):
        assert workers.begun[-1] == name
        await workers.end(name)
    assert workers.begun == ["a0", "a1", "b1", "a2", "a3"]


@pytest.mark.both_loops
async def test_sv_6_large_requests_that_wait_keep_no_place_from_others(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight of one client, of which one is in work, where two requests may be in work."""
    monkeypatch.setattr(request_budgets, "LARGE_BYTES_IN_WORK", 1)
    node = held_node()
    server = await start_server(node, queued_max_requests=2)
    async with AsyncExitStack() as stack:
        greedy = [await stack.enter_async_context(connected(address(server))) for _ in range(8)]
        for client in greedy:
            await client.send(client.request(alter(*range(3000)), 0))
        await eventually(lambda: server.stats.request_bytes_now > 8 * 20_000)
        await eventually(lambda: node.controller.calls)
        async with connected(address(server)) as other:
            assert (await other.call(list_all(), 0)).error_code == 0
            await other.send(other.request(alter(0), 0))
            await eventually(lambda: len(node.controller.calls) == 2)
            async with connected(address(server)) as third:
                await third.send(third.request(alter(1), 0))
                await eventually(lambda: server.stats.requests_waiting_now == 1)
                assert server.stats.requests_in_work_now == 2, "two are in work: the limit holds"
                node.controller.hold.set()
                for client in (*greedy, other, third):
                    await client.frame()
    assert server.stats.requests_in_work_now == server.stats.requests_waiting_now == 0


@pytest.mark.both_loops
async def test_sv_6_large_requests_with_room_wait_for_a_place_and_leave_no_gap_when_the_server_ends(
    start_server: StartServer,
) -> None:
    node = held_node()
    server = await start_server(node, queued_max_requests=1)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(address(server))) for _ in range(4)]
        for client in clients:
            await client.send(client.request(alter(*range(3000)), 0))
        await eventually(lambda: server.stats.requests_waiting_now == 3)
        assert server.stats.requests_in_work_now == 1
        assert len(node.controller.calls) <= 1
        await server.close(deadline=0.1)
    assert server.stats.requests_in_work_now == 0
