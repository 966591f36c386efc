"""The same scenarios on stock Kafka 3.9.1 and on our cluster: the transcripts differ only as intended.

Ours runs live. Stock Kafka runs beside it in CI (and with STOCK_LIVE=1), and must do what is recorded of it;
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

from .clusters import ComparedCluster, Ours, StockKafka
from .comparing import compare, unexpected
from .differences import WANTED, wanted
from .runner import FAILED, Transcript, run
from .scenarios import SCENARIOS

Transcripts = dict[str, dict[str, Transcript]]

RECORDED = Recordings(Path(__file__).with_name("recorded"))

pytestmark = pytest.mark.timeout(900)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def transcripts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Transcripts]:
    """The transcripts of the scenarios that this run of pytest has selected, by cluster and scenario."""
    if runs_live():
        require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("conformance")
    chosen = {item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")}
    names = [name for name in SCENARIOS if name in chosen]
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        clusters: list[ComparedCluster] = [Ours(f"{zookeeper.address}/ours", directory / "ours")]
        if runs_live():
            clusters.append(StockKafka(f"{zookeeper.address}/stock", directory / "stock"))
        for cluster in clusters:
            stack.push_async_callback(cluster.end)
        await asyncio.gather(*(cluster.start() for cluster in clusters))
        results = await asyncio.gather(*(run(cluster, names) for cluster in clusters))
        yield {cluster.name: result for cluster, result in zip(clusters, results, strict=True)}


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
