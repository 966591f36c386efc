"""One cluster of ours for all clients, and where stock Kafka runs live one of its own; what was made on them stays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.interop.worlds import Ours, Stock, World
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import runs_live

Worlds = list[World]


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """Ours, and stock after it where it runs live; both ready."""
    directory = tmp_path_factory.mktemp("clients")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        worlds: Worlds = [Ours(f"{zookeeper.address}/ours", directory / "ours")]
        if runs_live():
            require(BROKER_VERSION)
            worlds.append(Stock(f"{zookeeper.address}/stock", directory / "stock"))
        for world in worlds:
            stack.push_async_callback(world.end)
        await asyncio.gather(*(world.start() for world in worlds))
        yield worlds
