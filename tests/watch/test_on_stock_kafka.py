"""Watch on stock Kafka: brokers 3.9.1 in ZooKeeper mode, and 4.1.0 in KRaft mode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.kraft import VERSION, kraft_cluster, start_all
from tests.waiting import eventually
from tests.watch.watching import watching

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(600)]

MOVED, BACK = TopicPartition("moved", 0), TopicPartition("back", 0)
RECORDS, RECORD_BYTES = 100, 5_000


@asynccontextmanager
async def stock(version: str, directory: Path) -> AsyncIterator[str]:
    """Brokers 1 and 2; gives their addresses."""
    require(version)
    if version == VERSION:
        nodes = kraft_cluster(directory)
        try:
            await start_all(nodes)
            yield ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        finally:
            await asyncio.gather(*(node.kill() for node in nodes))
        return
    async with EmbeddedZooKeeper(directory / "zookeeper") as zookeeper:
        cluster = StockCluster(f"{zookeeper.address}/stock", directory, ids=(1, 2))
        try:
            await cluster.start()
            yield cluster.bootstrap
        finally:
            await cluster.kill()


def fill(bootstrap: str) -> None:
    """Topics on broker 1 with small batches: a throttle of 1 B/s lets little more than the first through."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        topics = {name.topic: {"assignments": {0: [1]}} for name in (MOVED, BACK)}
        admin.create_topics(topics, wait_for_metadata=True)
    finally:
        admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 8_192, "linger.ms": 0, "log_level": 0})
    for name in (MOVED, BACK):
        for _ in range(RECORDS):
            producer.produce(name.topic, bytes(RECORD_BYTES), partition=0)
    assert not producer.flush(60)


@pytest.mark.parametrize("version", [BROKER_VERSION, VERSION])
async def test_kr_1_moves_on_stock_kafka_are_seen_with_bytes_throttles_and_ends(version: str, tmp_path: Path) -> None:
    async with (
        stock(version, tmp_path / "nodes") as bootstrap,
        AsyncReassignmentClient(bootstrap_servers=bootstrap) as client,
    ):
        await asyncio.to_thread(fill, bootstrap)
        targets = {MOVED: [2], BACK: [2]}
        moves = throttle_configs.all_moves({}, targets, {MOVED: [1], BACK: [1]})
        assert not any((await client.throttle_moves(moves, 1)).values())
        async with watching(bootstrap, tmp_path / "events") as watch:
            await eventually(lambda: watch.watcher.answers)
            await client.alter_partition_reassignments(targets)

            async def measured() -> bool:
                found = await watch.moves()
                return len(found) == 2 and all(one["bytes_total"] and one["copied"] for one in found.values())

            await eventually(measured)
            one = (await watch.moves())["moved-0"]
            assert (one["original"], one["target"], one["adding"], one["leader"]) == ([1], [2], [2], 1)
            assert one["bytes_total"] > RECORDS * RECORD_BYTES > one["bytes_copied"]
            status = await watch.document("status")
            assert (status["role"], status["brokers_live"], status["enabled"], status["caps"]) == (
                "watch",
                2,
                None,
                None,
            )
            assert status["controller"]["id"] == 1 or version != VERSION, "the one that has the role of a controller"
            assert status["controller"]["id"] in (1, 2)

            async def throttles_are_seen() -> bool:
                brokers = (await watch.document("brokers"))["brokers"]
                assert all(one["throttles_known"] for one in brokers)
                return [one["throttle_in"] and one["throttle_in"]["rate"] for one in brokers] == [1, 1]

            await eventually(throttles_are_seen)
            await client.alter_partition_reassignments({BACK: None})
            await client.change_configs(throttle_configs.no_broker_throttles([1, 2]))

            async def ended() -> bool:
                return {("move.completed", "moved"), ("move.cancelled", "back")} <= set(await watch.events())

            await eventually(ended)
            assert not await watch.moves()
            assert await client.list_partition_reassignments() == {}
