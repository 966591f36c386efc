"""Fleets as processes of their own: killed, frozen and restarted under a stock controller."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.processes import ended
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Tools

pytestmark = pytest.mark.stock

SIZE = 3 << 20


class Cluster:
    """A stock broker as the controller; fleets are processes."""

    def __init__(self, zk: ZooKeeper, stock: StockCluster, tools: Tools, directory: Path) -> None:
        self.stock = stock
        self._zk = zk
        self._tools = tools
        self._directory = directory

    @asynccontextmanager
    async def fleet(self, ids: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Simulated brokers in a process that has reported that it is ready."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kafka_reassign_rpc.cli.main", "fleet", "--broker-ids", ids),
            *("--zookeeper-connect", self._zk.connect, "--data-dir", str(self._directory / "fleet")),
            *("--replica-lag-time-max-ms", "2000", "--session-timeout-ms", "6000", "--log-level", "WARNING"),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(60):
                assert await process.stdout.readline() == f"ready brokers={ids}\n".encode()
            yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
            await ended(process)

    async def tool(self, name: str, *args: str) -> str:
        output = await self._tools.run(name, "--bootstrap-server", self.stock.bootstrap, *args)
        assert output.code == 0, output
        return output.out

    async def isr(self) -> set[int]:
        """The ISR in ZooKeeper: a tool might ask the frozen broker."""
        state, _ = await self._zk.get("/brokers/topics/t/partitions/0/state")
        return set(json.loads(state)["isr"])

    async def until_isr(self, *members: int) -> None:
        async with asyncio.timeout(40):
            while True:
                with suppress(NoNode):  # the topic is not there yet
                    if await self.isr() == set(members):
                        return
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture
async def cluster(zk_connect: str, zk: ZooKeeper, tmp_path: Path) -> AsyncIterator[Cluster]:
    require(BROKER_VERSION)
    stock = StockCluster(zk_connect, tmp_path / "stock", (100,))
    await zk.ensure_path("/simulated_fleet")
    await zk.create("/simulated_fleet/t", b"%d" % SIZE)
    try:
        await stock.start()
        with Tools(BROKER_VERSION) as tools:
            yield Cluster(zk, stock, tools, tmp_path)
    finally:
        await stock.kill()


@pytest.mark.gate  # tests/interop freezes one in each run
async def test_sv_3_a_frozen_follower_leaves_the_isr_and_comes_back_when_it_is_thawed(cluster: Cluster) -> None:
    async with cluster.fleet("1"), cluster.fleet("2") as frozen:
        await cluster.tool("topics", "--create", "--topic", "t", "--replica-assignment", "1:2")
        await cluster.until_isr(1, 2)
        frozen.send_signal(signal.SIGSTOP)
        await cluster.until_isr(1)
        frozen.send_signal(signal.SIGCONT)
        await cluster.until_isr(1, 2)


@pytest.mark.gate
async def test_sv_3_a_broker_killed_with_9_and_started_again_keeps_its_bytes(cluster: Cluster) -> None:
    async with cluster.fleet("1"):
        async with cluster.fleet("2") as killed:
            await cluster.tool("topics", "--create", "--topic", "t", "--replica-assignment", "2:1")
            await cluster.until_isr(1, 2)
            killed.kill()
            await cluster.until_isr(1)
        async with cluster.fleet("2") as stopped:
            await cluster.until_isr(1, 2)
            shown = await cluster.tool("log-dirs", "--describe", "--broker-list", "1,2")
            assert shown.count(f'"size":{SIZE},') == 2
            stopped.terminate()
            async with asyncio.timeout(20):
                assert await stopped.wait() == 0
        assert await cluster.isr() == {1}
