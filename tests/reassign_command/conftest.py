"""One server with five simulated brokers for all tests of the command. Each test creates its own topics."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.interop.clusters import Ours
from tests.reassign_command.run_command import Files


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def ours(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ours]:
    directory = tmp_path_factory.mktemp("reassign")
    async with EmbeddedZooKeeper(directory / "zookeeper") as zookeeper:
        world = Ours(f"{zookeeper.address}/ours", directory / "ours")
        try:
            await world.start()
            yield world
        finally:
            await world.end()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
