"""Fixtures: a proxy in front of the shared ZooKeeper, clients through it, and servers for one test alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.zookeeper.proxy import Proxy


@pytest_asyncio.fixture
async def proxy(zookeeper: EmbeddedZooKeeper) -> AsyncIterator[Proxy]:
    async with Proxy(zookeeper.address) as one:
        yield one


@pytest_asyncio.fixture
async def through_proxy(proxy: Proxy, zk_connect: str) -> AsyncIterator[ZooKeeper]:
    """A client whose every connection goes through the proxy; session timeout 3 s."""
    client = ZooKeeper(proxy.address + "/" + zk_connect.partition("/")[2], session_timeout_ms=3000)
    await client.start()
    yield client
    proxy.heal()
    await client.close()


@pytest_asyncio.fixture
async def own_zookeeper(tmp_data: Path) -> AsyncIterator[EmbeddedZooKeeper]:
    """A ZooKeeper that the test may kill."""
    async with EmbeddedZooKeeper(tmp_data, heap_mb=128) as server:
        yield server
