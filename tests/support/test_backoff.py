"""Exponential backoff."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_reassign_rpc.support.backoff import Backoff, DelayedCall
from tests.waiting import eventually


def test_waits_double_up_to_the_longest_and_begin_again_after_a_success() -> None:
    backoff = Backoff(0.5, 3)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1, 2, 3, 3]
    backoff.reset()
    assert backoff.next_s() == 0.5


async def test_after_the_longest_wait_every_wait_is_the_longest() -> None:
    backoff = Backoff(0.001, 0.002)
    await backoff.sleep(longest=True)
    assert backoff.next_s() == pytest.approx(0.002)


async def test_requests_until_a_call_are_one_and_those_after_it_another() -> None:
    calls: list[bool] = []
    delayed = DelayedCall(lambda: calls.append(delayed._timer is not None), 0.001, 0.002)
    for count in (1, 2):
        delayed.request()
        delayed.request()
        assert delayed._timer is not None
        await eventually(lambda count=count: len(calls) == count)  # type: ignore[misc]
    assert calls == [False, False]


async def test_a_call_that_is_cancelled_is_not_made_and_may_be_requested_again() -> None:
    calls: list[int] = []
    delayed = DelayedCall(lambda: calls.append(1), 0, 0)
    delayed.request()
    delayed.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not calls
    assert delayed._timer is None
    delayed.request()
    await eventually(lambda: calls)


async def test_the_wait_before_a_call_grows_and_begins_again_after_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    later = loop.call_later

    def call_later(wait: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        waits.append(wait)
        return later(0, call)

    monkeypatch.setattr(loop, "call_later", call_later)
    delayed = DelayedCall(lambda: None, 1, 3)
    for is_new in (False, False, False, True):
        if is_new:
            delayed.reset()
        delayed.request()
        while delayed._timer is not None:
            await asyncio.sleep(0)
    assert waits == [1, 2, 3, 1]
