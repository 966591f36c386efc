"""One cluster of ours, shared by the tests of all clients, and a stock one where stock Kafka runs live. Then a stock
cluster in KRaft mode, with our service in front of it. Topics stay.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.interop.clusters import ComparedCluster, Ours, StockKafka
from tests.interop.kraft_clusters import InFront, StockKRaft
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.kraft import VERSION
from tests.stock.live import runs_live

Clusters = list[ComparedCluster]


@pytest_asyncio.fixture(
    scope="package", loop_scope="package", params=["zookeeper", pytest.param("kraft", marks=pytest.mark.gate)]
)
async def clusters(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    """Our cluster, and after it the stock one: in ZooKeeper mode where stock Kafka runs live. All are ready."""
    directory = tmp_path_factory.mktemp("clients")
    async with AsyncExitStack() as stack:
        if request.param == "kraft":
            require(VERSION)
            stock = StockKRaft(directory / "stock")
            ours = InFront(stock, directory / "ours")
            for one in (stock, ours):
                stack.push_async_callback(one.end)
                await one.start()
            yield [ours, stock]
            return
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        clusters: Clusters = [Ours(f"{zookeeper.address}/ours", directory / "ours")]
        if runs_live():
            require(BROKER_VERSION)
            clusters.append(StockKafka(f"{zookeeper.address}/stock", directory / "stock"))
        for cluster in clusters:
            stack.push_async_callback(cluster.end)
        await asyncio.gather(*(cluster.start() for cluster in clusters))
        yield clusters
