"""How background tasks are ended."""

import asyncio

import pytest

from kafka_reassign_rpc.support.tasks import end


async def slow_to_end(begun: asyncio.Event, may_end: asyncio.Event) -> None:
    try:
        begun.set()
        await asyncio.Event().wait()
    finally:
        await may_end.wait()


async def test_tasks_are_over_when_end_returns() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    may_end.set()
    tasks = [asyncio.create_task(slow_to_end(begun, may_end)) for _ in range(2)]
    await begun.wait()
    await end(*tasks)
    assert all(task.cancelled() for task in tasks)
    await end()


async def test_a_task_that_is_cancelled_while_it_ends_another_is_cancelled() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(slow_to_end(begun, may_end))
    await begun.wait()
    ending = asyncio.create_task(end(task))
    while not task.cancelling():
        await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    may_end.set()
    await asyncio.wait([task])


async def test_what_a_task_failed_with_is_raised_when_it_is_ended() -> None:
    async def fails() -> None:
        raise ValueError("nonsense")

    task = asyncio.create_task(fails())
    await asyncio.wait([task])
    with pytest.raises(ValueError, match="nonsense"):
        await end(task)
