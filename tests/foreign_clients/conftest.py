"""One cluster of ours, shared by the tests of all clients, and a stock one where stock Kafka runs live. Topics stay."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.interop.clusters import ComparedCluster, Ours, StockKafka
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import runs_live

Clusters = list[ComparedCluster]


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    """Our cluster, and after it the stock one where stock Kafka runs live; all are ready."""
    directory = tmp_path_factory.mktemp("clients")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        clusters: Clusters = [Ours(f"{zookeeper.address}/ours", directory / "ours")]
        if runs_live():
            require(BROKER_VERSION)
            clusters.append(StockKafka(f"{zookeeper.address}/stock", directory / "stock"))
        for cluster in clusters:
            stack.push_async_callback(cluster.end)
        await asyncio.gather(*(cluster.start() for cluster in clusters))
        yield clusters
