"""`in_turns`: the work of requests, of which there may be any number, in turns of a few milliseconds."""

import asyncio
from collections.abc import Generator

import pytest

from kafka_reassign_rpc.support import slice_timer
from kafka_reassign_rpc.support.slice_timer import in_turns


def steps(name: str, count: int, seen: list[str]) -> Generator[None, None, str]:
    for _ in range(count):
        seen.append(name)
        yield
    return name


async def test_sv_6_work_of_many_requests_has_one_turn_between_two_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn is one step here. In each iteration of the loop one request has a turn, and all have as many."""
    monkeypatch.setattr(slice_timer, "YIELD_AFTER_S", 0)
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
    monkeypatch.setattr(slice_timer, "YIELD_AFTER_S", 0)
    seen: list[str] = []
    endless = [asyncio.create_task(in_turns(steps("a", 10**9, seen))) for _ in range(3)]
    await asyncio.sleep(0.01)
    for one in endless:
        one.cancel()
    await asyncio.wait(endless)
    assert await in_turns(steps("b", 3, seen)) == "b"
