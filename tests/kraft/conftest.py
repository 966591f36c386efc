from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kraft.service import Service, service_of
from tests.kraft.stock_cluster import StockCluster


@pytest.fixture(scope="package")
def stock_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockCluster]:
    """Its nodes are bound to no event loop. It ends before the tests
    of another room: a node that idles costs a second of CPU in half a minute."""
    made = StockCluster(tmp_path_factory.mktemp("kraft"))
    with made.running():
        yield made


@pytest_asyncio.fixture
async def cluster(stock_cluster: StockCluster) -> AsyncIterator[StockCluster]:
    """All its brokers live, and nothing moves."""
    yield stock_cluster
    async with stock_cluster.client() as client:
        await client.cancel_partition_reassignments(await client.list_partition_reassignments())


@pytest_asyncio.fixture
async def service(cluster: StockCluster, tmp_path: Path) -> AsyncIterator[Service]:
    async with service_of(cluster, tmp_path) as made:
        yield made
