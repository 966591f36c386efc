"""Clusters of processes for the check and the status; the one with brokers serves all tests of a module."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster, simulated_cluster


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Three simulated brokers with a topic; server `a` (1000) is the controller."""
    async with simulated_cluster(tmp_path_factory.mktemp("preflight")) as cluster:
        yield cluster


@pytest_asyncio.fixture(loop_scope="module")
async def apart(zk_connect: str) -> AsyncIterator[ZooKeeper]:
    """An empty chroot."""
    async with ZooKeeper(zk_connect) as zk:
        yield zk
