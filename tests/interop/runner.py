"""Runs scenarios: those that may run beside others all at once, then those that want the cluster to themselves."""

import asyncio
import traceback
from collections.abc import Iterable
from typing import Any

from .scenarios import SCENARIOS, Scenario
from .session import Session
from .worlds import World

AT_ONCE = 12
FAILED = "failed"

Transcript = list[tuple[str, Any]]


async def run(world: World, names: Iterable[str]) -> dict[str, Transcript]:
    """The transcript of each scenario on this world. One that fails ends with its traceback."""
    chosen = [SCENARIOS[name] for name in names]
    places = asyncio.Semaphore(AT_ONCE)

    async def placed(scenario: Scenario) -> Transcript:
        async with places:
            return await _play(world, scenario)

    beside = [scenario for scenario in chosen if not scenario.alone]
    transcripts = dict(
        zip(
            (scenario.name for scenario in beside),
            await asyncio.gather(*(placed(scenario) for scenario in beside)),
            strict=True,
        )
    )
    for scenario in chosen:
        if scenario.alone:
            transcripts[scenario.name] = await _play(world, scenario)
    return transcripts


async def _play(world: World, scenario: Scenario) -> Transcript:
    session = Session(world, scenario.name)
    try:
        async with asyncio.timeout(90):
            await scenario.play(session)
    except Exception:
        session.note(FAILED, traceback.format_exc(limit=-3))
    return session.transcript
