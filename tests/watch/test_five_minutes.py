"""kr-1: the beginning of docs/watch.md, word for word, with a real KRaft cluster in the midst of an upgrade: one node
of Kafka 4.1, one of 4.3."""

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition, throttle_configs
from tests.docs.pages import DOCS, text_of
from tests.http_client import get
from tests.processes import processes
from tests.stock.jars import require
from tests.stock.kraft import kraft_cluster, start_all
from tests.stock.ports import kept_ports
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(300)]

OLDER, NEWER = "4.1.0", "4.3.1"
MOVED = TopicPartition("moved", 0)
RECORDS, RECORD_BYTES = 100, 5_000


@asynccontextmanager
async def mixed_cluster(folder: Path) -> AsyncIterator[str]:
    """Node 1 is the controller and of the older release, so that the cluster is at its level; gives its address."""
    for version in (OLDER, NEWER):
        require(version)
    older, newer = kraft_cluster(folder, version=OLDER)
    newer.version = NEWER
    try:
        await start_all([older, newer])
        yield f"127.0.0.1:{older.port}"
    finally:
        await asyncio.gather(older.kill(), newer.kill())


def fill(bootstrap: str) -> None:
    """A topic on broker 1, in small batches. Blocks."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.create_topics({MOVED.topic: {"assignments": {0: [1]}}}, wait_for_metadata=True)
    finally:
        admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 8_192, "log_level": 0})
    for _ in range(RECORDS):
        producer.produce(MOVED.topic, bytes(RECORD_BYTES), partition=0)
    assert not producer.flush(60)


async def test_kr_1_the_five_minutes_of_the_docs_show_a_move_between_brokers_of_two_releases(tmp_path: Path) -> None:
    page = text_of(DOCS / "watch.md").partition("## Five minutes on your KRaft cluster")[2]
    [typed] = re.findall(r"^kafka-reassign-rpc (watch .*)$", page, re.MULTILINE)
    [printed] = re.findall(r"^It prints `(ready [^`]*)`", page, re.MULTILINE)
    [port] = kept_ports(1)
    async with mixed_cluster(tmp_path / "nodes") as bootstrap, processes(tmp_path) as commands:
        await asyncio.to_thread(fill, bootstrap)
        words = shlex.split(typed.replace("broker1:9092", bootstrap))
        watch = await commands.start("watch", *words, "--metrics-listener", f"127.0.0.1:{port}")
        assert watch.ready_line == printed.replace("8090", str(port))

        async def document(name: str) -> Any:
            return json.loads((await get(f"127.0.0.1:{port}", f"/api/v1/{name}")).body)

        async def moves() -> Any:
            return (await document("moves")).get("moves")

        assert b"<title>Reassignments" in (await get(f"127.0.0.1:{port}", "/")).body
        async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
            changes = throttle_configs.all_moves({}, {MOVED: [2]}, {MOVED: [1]})
            assert not any((await client.throttle_moves(changes, 1)).values())
            assert not any((await client.alter_partition_reassignments({MOVED: [2]})).values())

            async def is_measured() -> Any:
                found = await moves()
                return found[0] if found and found[0]["bytes_copied"] else None

            one = await eventually(is_measured)
            assert (one["topic"], one["original"], one["target"], one["leader"]) == (MOVED.topic, [1], [2], 1)
            assert one["bytes_total"] > RECORDS * RECORD_BYTES > one["bytes_copied"]

            async def throttles() -> Any:
                brokers = (await document("brokers"))["brokers"]
                known = [one["throttle_in"] for one in brokers if one["throttles_known"]]
                assert None not in known, "unknown, until they were read after the move had begun"
                return brokers if len(known) == len(brokers) else None

            brokers = await eventually(throttles)
            assert [one["throttle_in"]["rate"] for one in brokers] == [1, 1]
            assert [one["cordoned"] for one in brokers] == [None, False], "Kafka 4.3 is the first that tells"
            assert (await document("status"))["problems"] == []
            assert not any((await client.change_configs(throttle_configs.no_broker_throttles([1, 2]))).values())

        async def is_over() -> bool:
            [one] = (await document(f"partitions?name={MOVED.topic}"))["partitions"]
            return (one["state"], one["replicas"], one["leader"]) == ("at_rest", [2], 2) and not await moves()

        await eventually(is_over)
        assert await watch.stop() == 0
