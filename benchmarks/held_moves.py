"""Moves on stock Kafka in KRaft mode that stay in flight: a throttle lets hardly anything of them through."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.support.slices import pieces
from tests.jvm import QUICK
from tests.stock.kraft import KRaftNode, kraft_cluster

PER_TOPIC = 500
RECORDS, RECORD_BYTES, LEAST_RECORDS = 4_000, 8_000, 2
"""In all, and in each partition: more than the throttle lets through, which is one fetch in some ten seconds."""
ONE_FETCH = {"replica.fetch.response.max.bytes": "16384"}
JVM = ("-Xms256m", "-Xmx1g", *QUICK)
AT_ONCE = 1_000
"""Partitions that one request creates or moves."""


@asynccontextmanager
async def held_moves(directory: Path, moves: int, jvm: Sequence[str] = ()) -> AsyncIterator[list[KRaftNode]]:
    """Brokers 1 and 2, of which the first leads partitions that move to the second. `jvm`: further options of the
    first."""
    nodes = kraft_cluster(directory, per_node={2: ONE_FETCH}, jvm=JVM)
    nodes[0].options = jvm
    try:
        await asyncio.gather(*(node.start() for node in nodes))
        await _hold(f"127.0.0.1:{nodes[0].port}", moves)
        yield nodes
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))


def topics_of(moves: int) -> Mapping[str, int]:
    """Partitions of each topic."""
    return {f"held-{number}": min(PER_TOPIC, moves - first) for number, first in enumerate(range(0, moves, PER_TOPIC))}


async def _hold(bootstrap: str, moves: int) -> None:
    topics = topics_of(moves)
    names = [TopicPartition(topic, index) for topic, partitions in topics.items() for index in range(partitions)]
    targets = {name: [2] for name in names}
    await asyncio.to_thread(_fill, bootstrap, topics)
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        held = throttle_configs.all_moves({}, targets, {name: [1] for name in names})
        assert not any((await client.throttle_moves(held, 1)).values())
        for some in pieces(names, AT_ONCE):
            await client.alter_partition_reassignments({name: [2] for name in some})


def _fill(bootstrap: str, topics: Mapping[str, int]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        for some in pieces([*topics.items()], max(1, AT_ONCE // PER_TOPIC)):
            made = {topic: {"assignments": {index: [1] for index in range(size)}} for topic, size in some}
            admin.create_topics(made, wait_for_metadata=True)
    finally:
        admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 8_192, "linger.ms": 0, "log_level": 0})
    names = [(topic, index) for topic, size in topics.items() for index in range(size)]
    for _ in range(max(LEAST_RECORDS, RECORDS // len(names))):
        for topic, index in names:
            producer.produce(topic, bytes(RECORD_BYTES), partition=index)
            producer.poll(0)
    assert not producer.flush(600)
