"""One stock cluster and one of ours for all clients; what was made on them stays until the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.interop.worlds import Ours, Stock, World
from tests.stock.jars import BROKER_VERSION, require

Worlds = list[World]


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """Stock first, then ours; both ready."""
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("clients")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        worlds: Worlds = [
            Stock(f"{zookeeper.address}/stock", directory / "stock"),
            Ours(f"{zookeeper.address}/ours", directory / "ours"),
        ]
        for world in worlds:
            stack.push_async_callback(world.end)
        await asyncio.gather(*(world.start() for world in worlds))
        yield worlds
