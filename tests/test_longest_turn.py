"""How turns of the event loop are measured: by a clock that the test moves."""

import asyncio
import time

import pytest

from tests import longest_turn
from tests.longest_turn import NO_LONGER_THAN_S, TRIES, LongTurn, tries

SHORT_S, LONG_S = NO_LONGER_THAN_S / 2, NO_LONGER_THAN_S * 2


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "thread_time", lambda: self.now)


async def works(clock: Clock, seconds: float) -> None:
    for measured in tries():
        clock.now += 5 * LONG_S  # before it, and behind it
        async with measured:
            clock.now += seconds
        clock.now += 5 * LONG_S


async def test_work_that_never_waits_is_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    await works(clock, SHORT_S)
    told = ", ".join([f"{LONG_S:.4f}"] * TRIES)
    with pytest.raises(LongTurn, match=f"took {told} s of CPU, the limit is 0.0200 s"):
        await works(clock, LONG_S)


async def test_only_the_longest_turn_counts_and_the_first_good_try_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, disturbances = Clock(monkeypatch), [LONG_S, LONG_S]
    for measured in tries():
        async with measured:
            for _ in range(10):
                clock.now += SHORT_S
                await asyncio.sleep(0)
            if disturbances:
                clock.now += disturbances.pop()
    assert not disturbances


async def test_a_slow_machine_has_a_higher_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, tried = Clock(monkeypatch), 0
    monkeypatch.setattr(longest_turn, "usual_work", lambda: 3 * longest_turn.USUAL_S)
    for measured in tries():
        tried += 1
        async with measured:
            clock.now += LONG_S
    assert tried == 1
