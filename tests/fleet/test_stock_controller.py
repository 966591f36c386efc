"""The controller of a stock Kafka 3.9.1 broker drives the fleet by the stock tools: the fleet behaves as real brokers
do.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.fleet import Fleet, FleetConfig, SeedTopic
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Tools

pytestmark = [pytest.mark.gate, pytest.mark.stock]

MIB = 1 << 20
STOCK = 100


class Cluster:
    """Stock broker 100 as the controller, simulated brokers 1 to 3, and the tools."""

    def __init__(self, stock: StockCluster, fleet: Fleet, tools: Tools, directory: Path) -> None:
        self.stock = stock
        self.fleet = fleet
        self._tools = tools
        self._directory = directory

    async def tool(self, name: str, *args: str, bootstrap: str | None = None) -> str:
        output = await self._tools.run(name, "--bootstrap-server", bootstrap or self.stock.bootstrap, *args)
        assert output.code == 0, output
        return output.out

    async def reassign(self, action: str, moves: dict[int, list[int]], *args: str) -> str:
        path = self._directory / "moves.json"
        partitions = [{"topic": "t", "partition": index, "replicas": to} for index, to in moves.items()]
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return await self.tool("reassign-partitions", "--reassignment-json-file", str(path), f"--{action}", *args)

    async def until_moved(self, moves: dict[int, list[int]]) -> None:
        async with asyncio.timeout(60):
            while "in progress" in (found := await self.reassign("verify", moves)):
                await asyncio.sleep(0.2)
        assert found.count("is completed.") == len(moves), found

    async def sizes(self) -> dict[int, dict[str, int]]:
        """By broker: sizes of its replicas, as kafka-log-dirs shows them."""
        out = await self.tool("log-dirs", "--describe", "--broker-list", "1,2,3")
        found = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
        return {
            broker["broker"]: {
                partition["partition"]: partition["size"]
                for directory in broker["logDirs"]
                for partition in directory["partitions"]
            }
            for broker in found["brokers"]
        }

    async def until_sizes(self, wanted: dict[int, dict[str, int]]) -> None:
        found: Any = None
        try:
            async with asyncio.timeout(30):
                while (found := await self.sizes()) != wanted:
                    await asyncio.sleep(0.2)
        except TimeoutError:
            assert found == wanted


@pytest_asyncio.fixture
async def cluster(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    require(BROKER_VERSION)
    stock = StockCluster(zk_connect, tmp_path / "stock", (STOCK,))
    try:
        await stock.start()
        config = FleetConfig(
            zookeeper_connect=zk_connect, broker_ids=(1, 2, 3), bandwidth=20 * MIB, data_dir=tmp_path / "fleet"
        )
        with Tools(BROKER_VERSION) as tools:
            async with Fleet(config) as fleet:
                await fleet.ready()
                yield Cluster(stock, fleet, tools, tmp_path)
    finally:
        await stock.kill()


async def test_455_4_a_stock_controller_creates_moves_and_deletes_on_the_fleet(cluster: Cluster, zk: ZooKeeper) -> None:
    await zk.ensure_path("/simulated_fleet")
    await zk.create("/simulated_fleet/t", b"%d" % (10 * MIB))
    await cluster.tool("topics", "--create", "--topic", "t", "--replica-assignment", "1:2,2:3")
    full = 10 * MIB
    await cluster.until_sizes({1: {"t-0": full}, 2: {"t-0": full, "t-1": full}, 3: {"t-1": full}})

    moves = {0: [3, 2], 1: [1, 2, 3]}
    await cluster.reassign("execute", moves)
    await cluster.until_moved(moves)
    await cluster.until_sizes({1: {"t-1": full}, 2: {"t-0": full, "t-1": full}, 3: {"t-0": full, "t-1": full}})
    described = await cluster.tool("topics", "--describe", "--topic", "t", bootstrap=cluster.fleet.bootstrap)
    assert "Leader: 3\tReplicas: 3,2\t" in described

    await cluster.reassign("execute", {0: [1]}, "--throttle", "1000")
    assert "in progress" in await cluster.reassign("verify", {0: [1]})
    await cluster.reassign("execute", {0: [1]}, "--additional", "--throttle", str(100 * MIB))
    await cluster.until_moved({0: [1]})
    await cluster.until_sizes({1: {"t-0": full, "t-1": full}, 2: {"t-1": full}, 3: {"t-1": full}})

    await cluster.tool("topics", "--delete", "--topic", "t")
    await cluster.until_sizes({1: {}, 2: {}, 3: {}})


async def test_sv_4_a_simulated_broker_that_stops_and_comes_back_is_led_by_a_stock_controller(
    cluster: Cluster,
) -> None:
    await cluster.tool("topics", "--create", "--topic", "t", "--replica-assignment", "1:2,2:1")
    await cluster.fleet.stop_broker(1)
    described = await cluster.tool("topics", "--describe", "--topic", "t")
    assert described.count("Leader: 2") == 2
    assert described.count("Isr: 2\t") == 2
    await cluster.fleet.start_broker(1)
    await cluster.fleet.ready()
    async with asyncio.timeout(30):
        while (found := await cluster.tool("topics", "--describe", "--topic", "t")).count("Isr: 2,1\t") != 2:
            await asyncio.sleep(0.2)
    assert found.count("Leader: 2") == 2


async def test_topics_asked_for_are_created_by_a_stock_controller(cluster: Cluster, zk_connect: str) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(4, 5), topics=(SeedTopic("seeded", 8, 2, 5 * MIB),))
    async with Fleet(config) as more:
        await more.ready()
        described = await cluster.tool("topics", "--describe", "--topic", "seeded")
        assert "PartitionCount: 8\tReplicationFactor: 2" in described
        async with asyncio.timeout(30):
            while not (held := [s for sizes in (await cluster.sizes()).values() for s in sizes.values()]):
                await asyncio.sleep(0.2)
        assert set(held) == {5 * MIB}
