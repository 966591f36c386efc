"""The same scenarios on stock Kafka 3.9.1 and on our cluster: the transcripts differ only as intended.

Ours runs live. Stock Kafka runs beside it where tests marked `more` do more, and must do what is recorded of it;
elsewhere the recording speaks for it. A gate, for which `make test` has tried all on ours, has a third in turn.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests import first_failures
from tests.effort import in_turn
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import Recordings, runs_live

from .clusters import ComparedCluster, Ours, StockKafka
from .comparing import compare, unexpected
from .differences import WANTED, wanted
from .runner import FAILED, Transcript, run, run_again
from .scenarios import SCENARIOS

RECORDED = Recordings(Path(__file__).with_name("recorded"))


First = list[dict[str, Transcript]]
"""For each cluster: what it did in each scenario."""


class Transcripts:
    """What the clusters have done: all scenarios are run before the first test looks."""

    def __init__(self, clusters: Sequence[ComparedCluster], first: First) -> None:
        self._clusters = clusters
        self._first = first

    async def make(self, names: Sequence[str]) -> None:
        if not self._first:
            self._first += await asyncio.gather(*(run(cluster, names) for cluster in self._clusters))

    async def of(self, scenario: str, attempt: int) -> dict[str, Transcript]:
        """The transcripts of a scenario by cluster; a second attempt at a test runs the scenario once more."""
        if attempt > 1:
            found: Sequence[Transcript] = await asyncio.gather(*(run_again(one, scenario) for one in self._clusters))
        else:
            found = [transcripts[scenario] for transcripts in self._first]
        return {cluster.name: transcript for cluster, transcript in zip(self._clusters, found, strict=True)}


pytestmark = [pytest.mark.more, pytest.mark.timeout(900), *([pytest.mark.stock] if runs_live() else [])]


@pytest.fixture(scope="session")
def first() -> First:
    """Outlives a second attempt: its new clusters run one scenario, and not all of them, which takes minutes."""
    return []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def transcripts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, first: First
) -> AsyncIterator[Transcripts]:
    """The transcripts of the scenarios that this run of pytest has selected."""
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
        transcripts = Transcripts(clusters, first)
        await transcripts.make(names)
        yield transcripts


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", in_turn(SCENARIOS, 3))
async def test_the_same_happens_as_on_stock_kafka(
    scenario: str, transcripts: Transcripts, request: pytest.FixtureRequest
) -> None:
    found = await transcripts.of(scenario, first_failures.attempt(request.node))
    ours = found["ours"]
    failures = [f"{name}: {value}" for name, steps in found.items() for label, value in steps if label == FAILED]
    assert not failures, "\n".join(failures)
    if live := found.get("stock"):
        RECORDED.check(scenario, live)
    assert not (problems := unexpected(compare(RECORDED.get(scenario), ours), wanted(scenario))), "\n".join(problems)


def test_every_scenario_has_been_recorded_on_stock_kafka() -> None:
    assert RECORDED.names() == SCENARIOS.keys()


def test_every_wanted_difference_belongs_to_a_scenario() -> None:
    assert {difference.scenario for difference in WANTED} <= SCENARIOS.keys()
    assert all(difference.why for difference in WANTED)
