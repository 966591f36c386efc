"""Large requests in work hold bounded memory together; the others wait in their order."""

import asyncio

from kafka_reassign_rpc.server.large_work import HUGE_BYTES, HUGE_BYTES_IN_WORK, LARGE_BYTES_IN_WORK, LargeWork


class Workers:
    """Requests that stay in work until they are told to end."""

    def __init__(self, work: LargeWork) -> None:
        self._work = work
        self.begun: list[str] = []
        self._end: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, size: int) -> None:
        self._end[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, size))
        await self.settle()

    async def _run(self, name: str, size: int) -> None:
        async with self._work.room(size):
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
    work.look_again()
    await workers.settle()
    assert workers.begun == ["two"]
    workers.tasks["two"].cancel()
    await workers.settle()
    assert workers.begun == ["two", "three"]
    await workers.end("three")
    await workers.start("four", HUGE_BYTES_IN_WORK)
    assert workers.begun[-1] == "four"
    await workers.end("four")
