"""Clients that take one node's API versions for those of the whole cluster, on a stock broker under our server."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster, address_of, metadata
from tests.foreign_clients.brought import platformatic, python_with
from tests.processes import processes
from tests.raw_client import connected
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.asyncio(loop_scope="module")]

DRIVER = Path(__file__).parents[1] / "foreign_clients" / "kafka_python_driver.py"
OURS = 1000
OF_CONTROLLERS = {4, 5, 6, 58}
"""LeaderAndIsr, StopReplica, UpdateMetadata, Envelope: no client sends them."""
TO_CONTROLLER = {7, 19, 20, 37, 43, 45, 46, 56, 57, 67}
"""Clients send these to the controller alone, which serves them in full."""


class Site(NamedTuple):
    """Bootstrap addresses of the stock broker, and of our server, which is the controller."""

    broker: str
    server: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("whole-cluster")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        group = await stack.enter_async_context(processes(directory))
        cluster = Cluster(group, zk, zookeeper.address, directory)
        await cluster.server("ours")
        brokers = StockCluster(zookeeper.address, directory, [1])
        stack.push_async_callback(brokers.kill)
        await brokers.start()
        host, port = cluster.address("ours")

        async def is_ready() -> bool:  # a client that learns of no broker at first never asks again
            shown = await metadata(address_of(brokers.bootstrap))
            return shown.controller_id == OURS and {one.node_id for one in shown.brokers} == {1, OURS}

        await eventually(is_ready, within=120)
        admin = AdminClient({"bootstrap.servers": brokers.bootstrap, "log_level": 0})
        new = NewTopic("t", num_partitions=1, replication_factor=1)
        await asyncio.to_thread(admin.create_topics([new], operation_timeout=30)["t"].result, 60)
        yield Site(brokers.bootstrap, f"{host}:{port}")


def commit(bootstrap: str, group: str) -> None:
    """The group has an offset, and no member."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition("t", 0, 7)], asynchronous=False)
    consumer.close()


async def printed(*command: str, cwd: Path | None = None) -> list[Sequence[object]]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3000:]
    found: list[Sequence[object]] = json.loads(out)
    return found


@pytest.mark.parametrize("bootstrap", ["broker", "server"])
@pytest.mark.parametrize("client", ["kafka-python==2.0.2", "kafka-python-ng==2.2.3", "kafka-python==2.2.15"])
async def test_hm_4_old_kafka_pythons_read_and_delete_groups(site: Site, client: str, bootstrap: str) -> None:
    python = await asyncio.to_thread(python_with, client)
    group = f"{client}-{bootstrap}"
    await asyncio.to_thread(commit, site.broker, group)
    assert await printed(str(python), str(DRIVER), getattr(site, bootstrap), group) == [["t", 0, 7]]


@pytest.mark.parametrize("bootstrap", ["broker", "server"])
async def test_hm_4_platformatic_kafka_reads_and_deletes_groups(site: Site, bootstrap: str) -> None:
    folder = await asyncio.to_thread(platformatic)
    group = f"platformatic-{bootstrap}"
    await asyncio.to_thread(commit, site.broker, group)
    command = ("node", "driver.mjs", getattr(site, bootstrap), group)
    assert await printed(*command, cwd=folder) == [["t", 0, 7]]


async def test_hm_4_the_server_announces_what_the_stock_broker_announces(site: Site) -> None:
    async def announced(address: str) -> dict[int, tuple[int, int]]:
        async with connected(address_of(address)) as client:
            keys = (await client.call(ApiVersionsRequest(version=0), 0)).api_keys
        return {one.api_key: (one.min_version, one.max_version) for one in keys}

    stock = await announced(site.broker)

    wanted = {key: found for key, found in stock.items() if key not in OF_CONTROLLERS | TO_CONTROLLER}

    async def unlike() -> dict[int, object]:
        ours = await announced(site.server)
        return {key: (found, ours.get(key)) for key, found in wanted.items() if ours.get(key) != found}

    async def is_known() -> bool:
        return not await unlike()

    with suppress(AssertionError):
        await eventually(is_known, within=30)
    assert await unlike() == {}
    assert (await announced(site.server)).keys() | {56, 67} >= TO_CONTROLLER
