"""A real migration to KRaft (KIP-866), with our server in control: it waits forever for what the check names."""

import asyncio
import json
import re

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import address_of, metadata
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.stock.kraft import MigratingController
from tests.waiting import eventually

from .mixed_cluster import OUTLIVES_PAUSES, PARTITION_BYTES, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(600)]

KRAFT = 3000
WAITS = re.compile(rb"Still waiting for ZK brokers .* found in metadata to register with KRaft")
DONE = re.compile(rb"Completed migration of metadata from ZooKeeper to KRaft")


async def blockers(connect: str) -> tuple[int, dict[str, str]]:
    """The exit code of the check, and what keeps the cluster from its migration, by the subject."""
    ended = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", connect])
    found = json.loads(ended.out)["findings"]
    return ended.code, {one["subject"]: one["text"] for one in found if one["level"] == "UNSAFE"}


async def cluster_id(zk: ZooKeeper) -> str:
    return str(json.loads((await zk.get(znode_paths.CLUSTER_ID))[0])["id"])


def records(bootstrap: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "log_level": 0})
    try:
        first, last = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        return int(last - first)
    finally:
        consumer.close()


async def test_mg_1_a_migration_that_hangs_goes_on_when_what_the_check_names_is_cured(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("to_kraft")
    async with behind_our_server(directory, [1, 2, 3]) as mixed:
        connect = mixed.cluster.connect
        await mixed.create("safe", {0: (1, 2), 1: (2, 1)})
        await mixed.create("lost", {0: (1, 3)})
        assert await blockers(connect) == (0, {})
        await mixed.stock.brokers[3].stop()
        code, found = await blockers(connect)
        assert (code, set(found)) == (1, {"lost-replicas"})
        assert "1 replica is on 3" in found["lost-replicas"]
        assert "lost-0" in found["lost-replicas"]

        kraft = MigratingController(KRAFT, connect, await cluster_id(mixed.zk), directory / "kraft")
        try:
            await kraft.start()
            for broker in (1, 2):
                await mixed.stock.brokers[broker].stop()
                mixed.stock.brokers[broker].properties |= kraft.of_brokers
                await mixed.stock.brokers[broker].start()
            await kraft.wait_for_line(WAITS)
            await mixed.cluster.controlled_by("a")
            code, found = await blockers(connect)
            assert (code, set(found)) == (1, {"lost-replicas"}), "that the quorum waits is no blocker"

            await mixed.cluster.servers["a"].kill()
            await mixed.cluster.server("b", *OUTLIVES_PAUSES)
            await mixed.cluster.controlled_by("b")  # a quorum that waits keeps no server from an election
            host, port = mixed.cluster.address("b")
            words = ["--bootstrap-server", f"{host}:{port}", "move", "lost", "-p", "0:1,2", "--watch"]
            moved = await output_of(KAFKA_REASSIGN, words)
            assert moved.code == 0, moved.err
            await kraft.wait_for_line(DONE, 120)
            owner = json.loads((await mixed.zk.get(znode_paths.CONTROLLER))[0])
            assert owner["brokerid"] == KRAFT

            async def is_shown() -> bool:
                brokers = [mixed.stock.brokers[broker] for broker in (1, 2)]
                shown = [await metadata(address_of(broker.address), "safe", "lost") for broker in brokers]
                codes = [part.error_code for answer in shown for topic in answer.topics for part in topic.partitions]
                return codes == [0] * 6

            await eventually(is_shown, within=60)
            assert await asyncio.to_thread(records, mixed.stock.bootstrap, "lost") == PARTITION_BYTES // 5_000
        finally:
            await kraft.kill()
