"""A cluster of processes for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster
from tests.processes import processes


@pytest_asyncio.fixture
async def cluster(zk: ZooKeeper, zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with processes(tmp_path) as group:
        yield Cluster(group, zk, zk_connect, tmp_path)
