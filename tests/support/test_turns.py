"""The work of requests, of which there may be any number, in turns of a millisecond."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

import pytest

from kafka_reassign_rpc.api.large_requests import map_bounded
from kafka_reassign_rpc.support.turns import SHORT_S, TURN_S, Turn, at_once, in_turns, rest, start

T = TypeVar("T")


def steps(name: str, count: int, seen: list[str]) -> Generator[None, None, str]:
    for _ in range(count):
        seen.append(name)
        yield
    return name


async def test_sv_6_work_of_many_requests_has_one_turn_between_two_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn is one step here. In each iteration of the loop one request has a turn, and all have as many."""
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.SHORT_S", 0)
    seen: list[str] = []

    async def others() -> None:
        while True:
            seen.append("others")
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    names = [f"r{index}" for index in range(20)]
    assert await asyncio.gather(*(in_turns(steps(name, 10, seen)) for name in names)) == names
    beside.cancel()
    turns = "".join("." if one == "others" else "x" for one in seen)
    assert "xx" not in turns
    worked = [one for one in seen if one != "others"]
    assert len(worked) == 200
    assert set(worked[:20]) == set(names), "nobody has a second turn before the others have had one"


async def test_sv_6_short_work_is_done_in_one_turn_and_its_error_is_the_callers() -> None:
    seen: list[str] = []
    assert await in_turns(steps("a", 0, seen)) == "a"

    def fails() -> Generator[None, None, None]:
        yield
        raise ValueError("because")

    for _ in range(2):  # the turn is given back
        with pytest.raises(ValueError, match="because"):
            await in_turns(fails())
    assert await in_turns(steps("b", 3, seen)) == "b"


async def test_sv_6_cancelled_work_gives_its_turn_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.SHORT_S", 0)
    seen: list[str] = []
    endless = [asyncio.create_task(in_turns(steps("a", 10**9, seen))) for _ in range(3)]
    await asyncio.sleep(0.01)
    for one in endless:
        one.cancel()
    await asyncio.wait(endless)
    assert await in_turns(steps("b", 3, seen)) == "b"


def begun(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """Work that has not ended at once."""
    left = start(work)
    assert asyncio.iscoroutine(left)
    return left


class Clock:
    """A clock that only work moves on. `longest`: the most that has been worked while no other task ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.seen = self.longest = 0.0
        monkeypatch.setattr("kafka_reassign_rpc.support.turns._clock", lambda: self.now)

    async def beside(self, work: Awaitable[Any]) -> None:
        self.seen = self.now
        watch = asyncio.create_task(self._watch())
        try:
            await work
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        while True:
            self.longest = max(self.longest, self.now - self.seen)
            self.seen = self.now
            await asyncio.sleep(0)


STEP_S = SHORT_S / 5


async def test_sv_6_calls_of_one_request_that_do_not_wait_work_no_longer_together_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    async def call(_item: int) -> None:
        clock.now += STEP_S

    await clock.beside(map_bounded(call, range(5_000)))
    assert 0 < clock.longest <= TURN_S + 65 * STEP_S, "each of 64 calls may have begun"


@pytest.mark.parametrize("count", [1, 3, 20])
async def test_sv_6_hundreds_that_waited_for_the_same_hold_up_the_loop_no_longer_than_a_few(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A round of the controller ends the wait of hundreds of requests at the same moment."""
    clock = Clock(monkeypatch)
    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ended: list[int] = []

    async def request(number: int) -> None:
        await asyncio.shield(decided)
        for _ in range(count):
            clock.now += STEP_S
            await rest()
        ended.append(number)

    tasks = []
    for number in range(300):
        left = start(request(number))
        assert left is not None
        tasks.append(asyncio.ensure_future(left))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(decided.set_result, None)
    await clock.beside(asyncio.gather(*tasks))
    assert sorted(ended) == list(range(300))
    assert 0 < clock.longest <= 2 * SHORT_S + TURN_S + STEP_S


async def test_sv_6_many_short_pieces_of_work_are_long_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short request for each of a thousand brokers."""
    clock = Clock(monkeypatch)
    turn = Turn()

    def short() -> Generator[None, None, None]:
        clock.now += STEP_S
        yield

    await clock.beside(asyncio.gather(*(in_turns(short(), turn=turn) for _ in range(1_000))))
    assert 0 < clock.longest <= SHORT_S + TURN_S


async def test_sv_6_work_with_the_turn_goes_on_while_others_end_their_waits_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    loop = asyncio.get_running_loop()

    async def waiting() -> None:
        while True:
            ended = loop.create_future()
            loop.call_soon(ended.set_result, None)
            await ended
            clock.now += 2 * SHORT_S
            await rest()

    def long() -> Generator[None, None, None]:
        for _ in range(100):
            clock.now += STEP_S
            yield

    endless = [asyncio.create_task(begun(waiting())) for _ in range(5)]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await in_turns(long())
    for one in endless:
        one.cancel()
    await asyncio.wait(endless)


async def test_sv_6_an_error_that_work_waited_for_is_freed_with_it() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("because")

    async def work() -> str:
        try:
            await fails()
        except ValueError as error:
            return str(error)
        return ""

    gc.collect()
    gc.disable()
    try:
        assert await begun(work()) == "because"
        assert not [one for one in gc.get_objects() if isinstance(one, ValueError) and one.args == ("because",)]
    finally:
        gc.enable()


async def of_a_callback(work: Callable[[], Coroutine[Any, Any, T]]) -> Any:
    """What `start` returns where no task runs, as where a connection has received a frame."""
    loop = asyncio.get_running_loop()
    found = loop.create_future()
    loop.call_soon(lambda: found.set_result(start(work())))
    return await found


async def test_sv_6_short_work_ends_at_once_however_often_it_might_rest() -> None:
    async def short() -> str:
        for _ in range(3):
            await rest()
        return await in_turns(steps("short", 3, []))

    assert await of_a_callback(short) == "short"


async def test_sv_6_work_rests_when_its_time_is_over_however_deep_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    async def deep(levels: int) -> int:
        if levels:
            return await deep(levels - 1)
        for _ in range(1_000):
            clock.now += STEP_S
            await rest()
        return 1

    await clock.beside(begun(deep(20)))
    assert clock.now == pytest.approx(1_000 * STEP_S)
    assert 0 < clock.longest <= TURN_S + STEP_S + SHORT_S


async def test_sv_6_plain_steps_within_a_request_have_its_turn_and_wait_for_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a second turn, those that have the first would wait for each other."""
    clock = Clock(monkeypatch)

    def long() -> Generator[None, None, int]:
        for _ in range(100):
            clock.now += STEP_S
            yield
        return 7

    async def request() -> int:
        return await in_turns(long()) + await in_turns(long(), turn=Turn())

    async with asyncio.timeout(60):
        await clock.beside(asyncio.gather(*(begun(request()) for _ in range(10))))
    assert clock.now == pytest.approx(2_000 * STEP_S)
    assert 0 < clock.longest <= 2 * (TURN_S + SHORT_S)


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "working"])
async def test_sv_6_a_cancellation_reaches_the_work_wherever_it_is(
    monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.SHORT_S", 0)
    seen: list[str] = []

    async def work() -> None:
        try:
            while True:
                await (asyncio.sleep(60) if waits else rest())
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            seen.append("ended")
            raise

    tasks = [asyncio.create_task(begun(work())) for _ in range(3)]
    await asyncio.sleep(0.01)
    for one in tasks:
        one.cancel()
    await asyncio.wait(tasks)
    assert all(one.cancelled() for one in tasks)
    assert seen == ["ended"] * 3


async def test_sv_6_timeouts_and_task_groups_work_in_what_begins_before_its_task() -> None:
    async def too_long() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.sleep(60)
        except TimeoutError:
            return "over"
        return ""

    async def grouped() -> str:
        async def fails() -> None:
            raise ValueError("because")

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
                await asyncio.sleep(60)
        except ExceptionGroup:
            return "failed"
        return ""

    for work, end in ((too_long, "over"), (grouped, "failed")):
        left = await of_a_callback(work)
        task = asyncio.create_task(left)
        async with asyncio.timeout(60):
            assert await task == end
        assert task.cancelling() == 0


async def test_sv_6_work_that_rests_too_often_is_given_up() -> None:
    ended = []

    async def work(rests: int) -> int:
        try:
            for _ in range(rests):
                await rest()
            return rests
        finally:
            ended.append(rests)

    assert at_once(work(3), 5) == 3
    assert at_once(work(5), 5) is None
    assert ended == [3, 5]
