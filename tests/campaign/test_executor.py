"""Steps of a lane come one after the other, lanes run at the same time, and a step that fails ends the campaign."""

import asyncio
from typing import Any, cast

import pytest

from tests.waiting import eventually

from .executor import CALM, Executor, Peace, StepFailed
from .site import Site
from .steps import BROKERS, KINDS, ONE_ACK, SERVERS, TOPIC, Step

SITE = cast(Site, None)


class Recorded:
    """Steps that say what they do, and wait for each other where the test says so."""

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


async def test_sv_4_nothing_is_harmed_during_a_step_that_needs_calm_and_what_harms_waits_for_its_end() -> None:
    peace, began = Peace(), []
    ends = {name: asyncio.Event() for name in ("kill", "edit", "cut", "move")}

    async def run(name: str, step: Step) -> None:
        async with peace.of(step):
            began.append(name)
            await ends[name].wait()

    assert {name for name, kind in KINDS.items() if kind.lane == ONE_ACK} == CALM
    async with asyncio.TaskGroup() as group:
        for name, lane, kind in (
            ("kill", BROKERS, "kill_broker"),
            ("edit", ONE_ACK, "edit_replicas"),
            ("cut", SERVERS, "cut_server"),
            ("move", TOPIC, "move"),
        ):
            group.create_task(run(name, Step(0.0, lane, kind)))
            await asyncio.sleep(0)
        await eventually(lambda: began == ["kill", "move"])
        ends["kill"].set()
        await eventually(lambda: began == ["kill", "move", "edit"])
        ends["edit"].set()
        await eventually(lambda: began == ["kill", "move", "edit", "cut"])
        for end in ends.values():
            end.set()
