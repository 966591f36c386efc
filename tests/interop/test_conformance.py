"""The same scenarios on stock Kafka 3.9.1 and on us: the transcripts must say the same (differences.py).

Ours runs live. Stock Kafka runs live beside it in CI (and with STOCK_LIVE=1), and must do what is recorded of it;
elsewhere the recording speaks for it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import Recordings, runs_live

from .comparing import compare, unexpected
from .differences import WANTED, wanted
from .runner import FAILED, Transcript, run
from .scenarios import SCENARIOS
from .worlds import Ours, Stock, World

Transcripts = dict[str, dict[str, Transcript]]

RECORDED = Recordings(Path(__file__).with_name("recorded"))

pytestmark = pytest.mark.timeout(900)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def transcripts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Transcripts]:
    """The transcripts of every scenario that this run of pytest has chosen, by world and scenario."""
    if runs_live():
        require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("conformance")
    chosen = {item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")}
    names = [name for name in SCENARIOS if name in chosen]
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        worlds: list[World] = [Ours(f"{zookeeper.address}/ours", directory / "ours")]
        if runs_live():
            worlds.append(Stock(f"{zookeeper.address}/stock", directory / "stock"))
        for world in worlds:
            stack.push_async_callback(world.end)
        await asyncio.gather(*(world.start() for world in worlds))
        results = await asyncio.gather(*(run(world, names) for world in worlds))
        yield {world.name: result for world, result in zip(worlds, results, strict=True)}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_same_happens_as_on_stock_kafka(scenario: str, transcripts: Transcripts) -> None:
    ours = transcripts["ours"][scenario]
    failures = [
        f"{name}: {value}"
        for name, all_of in transcripts.items()
        for label, value in all_of[scenario]
        if label == FAILED
    ]
    assert not failures, "\n".join(failures)
    if live := transcripts.get("stock"):
        RECORDED.check(scenario, live[scenario])
    assert not (problems := unexpected(compare(RECORDED.get(scenario), ours), wanted(scenario))), "\n".join(problems)


def test_every_scenario_has_been_recorded_on_stock_kafka() -> None:
    assert RECORDED.names() == SCENARIOS.keys()


def test_every_wanted_difference_belongs_to_a_scenario() -> None:
    assert {difference.scenario for difference in WANTED} <= SCENARIOS.keys()
    assert all(difference.why for difference in WANTED)
