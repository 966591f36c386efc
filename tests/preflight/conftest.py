"""Clusters of processes for the check and the status; the one with brokers serves all tests of a module."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster
from tests.processes import processes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Three simulated brokers with a topic; server `a` (1000) is the controller."""
    directory: Path = tmp_path_factory.mktemp("preflight")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path("/kafka")
        connect = f"{zookeeper.address}/kafka"
        zk = await stack.enter_async_context(ZooKeeper(connect))
        cluster = Cluster(await stack.enter_async_context(processes(directory)), zk, connect, directory)
        await cluster.server("a")
        await cluster.fleet("1,2,3", "t:6:2:1000000", bandwidth=10_000)  # moves take minutes
        yield cluster
