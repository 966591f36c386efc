"""What an operator does in front of a stock broker 3.9.1: look, take over, hand over. One broker serves all tests."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster, address_of, metadata
from tests.processes import processes
from tests.stock.cluster import StockBroker, StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.waiting import eventually

from .mixed_cluster import controller

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(200)]

BROKER = 1


class OneBroker:
    """A stock broker on a ZooKeeper of its own; `cluster` starts our servers there."""

    def __init__(self, broker: StockBroker, cluster: Cluster, directory: Path) -> None:
        self.broker = broker
        self.cluster = cluster
        self.directory = directory

    async def is_controlled_by(self, wanted: int) -> bool:
        """Whether `/controller` names it, and the broker as well."""
        shown = await metadata(address_of(self.broker.address))
        return await controller(self.cluster.zk) == wanted and shown.controller_id == wanted


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stock(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OneBroker]:
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("one-broker")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path("/kafka")
        connect = f"{zookeeper.address}/kafka"
        zk = await stack.enter_async_context(ZooKeeper(connect))
        brokers = StockCluster(connect, directory, [BROKER])
        stack.push_async_callback(brokers.kill)
        group = await stack.enter_async_context(processes(directory))
        await brokers.start()
        yield OneBroker(brokers.brokers[BROKER], Cluster(group, zk, connect, directory), directory)


async def test_sv_3_the_controllership_of_a_stock_broker_is_taken_as_the_setting_says_and_given_back(
    stock: OneBroker,
) -> None:
    cluster = stock.cluster
    before = await cluster.epoch()
    for name, takeover, server in (("never", "never", 1001), ("vacant", "vacant", 1002)):
        await cluster.server(name, "--controller-takeover", takeover, broker_id=server)
        assert (await metadata(cluster.address(name))).controller_id == BROKER
        assert await cluster.epoch() == before
    assert await cluster.servers["vacant"].stop() == 0

    await cluster.server("always", "--controller-takeover", "always")
    await eventually(lambda: stock.is_controlled_by(1000), within=60)
    assert await cluster.epoch() == before + 1
    await stock.broker.wait_for_line(re.compile(rb"\[Controller id=1\] Resigned"))
    assert await cluster.servers["always"].stop() == 0

    await eventually(lambda: stock.is_controlled_by(BROKER), within=60)
    assert await cluster.epoch() == before + 2
    assert (await metadata(cluster.address("never"))).controller_id == BROKER
    assert await cluster.servers["never"].stop() == 0
