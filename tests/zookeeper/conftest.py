"""Fixtures: a proxy in front of the shared ZooKeeper, clients through it, and servers for one test alone.

No test waits for a session timeout, and none fails where a busy machine stands still for a while: sessions last a
minute, and `clock` moves what they take for the time.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic

import pytest
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
    """A client whose every connection goes through the proxy; session timeout 60 s."""
    client = ZooKeeper(proxy.address + "/" + zk_connect.partition("/")[2], session_timeout_ms=60_000)
    await client.start()
    yield client
    proxy.heal()
    await client.close()


class Clock:
    """What ZooKeeper sessions of this process take for the time: it stands still until it is moved."""

    def __init__(self) -> None:
        self.now = monotonic()

    def __call__(self) -> float:
        return self.now

    def move(self, zk: ZooKeeper, share: float) -> None:
        """By this share of the session's timeout. The session notices at once what that ends."""
        self.now += share * zk._session.timeout
        zk._session._tick()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in ("zookeeper_session", "tcp_connection"):
        monkeypatch.setattr(f"kafka_reassign_rpc.zookeeper.{module}.monotonic", made)
    return made


@pytest_asyncio.fixture
async def own_zookeeper(tmp_data: Path) -> AsyncIterator[EmbeddedZooKeeper]:
    """A ZooKeeper that the test may kill."""
    async with EmbeddedZooKeeper(tmp_data, heap_mb=128) as server:
        yield server
