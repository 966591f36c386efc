"""Runs scenarios: first, at the same time, those that may run next to others; then the others one by one."""

import asyncio
import traceback
from collections.abc import Iterable
from typing import Any

from .clusters import BROKERS, ComparedCluster
from .scenarios import SCENARIOS, Scenario
from .session import Session

AT_ONCE = 12
FAILED = "failed"

Transcript = list[tuple[str, Any]]


async def run(cluster: ComparedCluster, names: Iterable[str]) -> dict[str, Transcript]:
    """The transcript of each scenario on this cluster. The transcript of a failed scenario ends with its traceback."""
    chosen = [SCENARIOS[name] for name in names]
    places = asyncio.Semaphore(AT_ONCE)

    async def placed(scenario: Scenario) -> Transcript:
        async with places:
            return await _run_one(cluster, scenario)

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
            transcripts[scenario.name] = await _run_one(cluster, scenario)
    return transcripts


async def run_again(cluster: ComparedCluster, name: str) -> Transcript:
    """The transcript of a second run of a scenario, which gets topics of its own."""
    await asyncio.gather(*(cluster.restart(broker) for broker in sorted({*BROKERS} - cluster.live)))
    return await _run_one(cluster, SCENARIOS[name], "-again")


async def _run_one(cluster: ComparedCluster, scenario: Scenario, suffix: str = "") -> Transcript:
    session = Session(cluster, scenario.name + suffix)
    try:
        async with asyncio.timeout(240):
            await scenario.steps(session)
    except Exception:
        session.note(FAILED, traceback.format_exc(limit=-3))
    return session.transcript
