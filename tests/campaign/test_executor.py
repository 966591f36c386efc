"""Steps of a lane come one after the other, lanes run beside each other, and a step that fails ends the campaign."""

import asyncio
from typing import Any, cast

import pytest

from .executor import Executor, StepFailed
from .site import Site
from .steps import Step

SITE = cast(Site, None)


class Recorded:
    """Steps that say what they do, and wait for each other where they are told to."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.lines: list[str] = []
        self.both = asyncio.Barrier(2)

    async def note(self, site: Site, name: str) -> str:
        self.began.append(name)
        return "noted"

    async def meet(self, site: Site, name: str) -> str:
        self.began.append(name)
        await self.both.wait()
        return "met"

    async def fail(self, site: Site) -> str:
        raise AssertionError("it did not come about")

    async def run(self, *steps: Step) -> Executor:
        functions: dict[str, Any] = {"note": self.note, "meet": self.meet, "fail": self.fail}
        executor = Executor(SITE, self.lines.append, functions)
        await executor.run(steps)
        return executor


async def test_sv_4_steps_of_a_lane_keep_their_order_and_lanes_do_not_wait_for_each_other() -> None:
    recorded = Recorded()
    executor = await recorded.run(
        Step(0.0, "one", "meet", {"name": "a"}),
        Step(0.0, "one", "note", {"name": "b"}),
        Step(0.1, "two", "meet", {"name": "c"}),
    )
    assert recorded.began == ["a", "c", "b"]
    assert executor.done == {"meet": 2, "note": 1}
    assert [line for line in recorded.lines if "met" in line or "noted" in line] == recorded.lines
    assert len(recorded.lines) == 3


async def test_sv_4_a_step_that_cannot_be_carried_out_ends_the_campaign_and_is_named() -> None:
    recorded = Recorded()
    with pytest.raises(StepFailed, match=r"fail: AssertionError\('it did not come about'\)"):
        await recorded.run(Step(0.0, "one", "fail"), Step(100.0, "two", "note", {"name": "never"}))
    assert recorded.began == []
    assert "FAILED" in recorded.lines[0]
