"""What `watch` costs a cluster of stock Kafka in KRaft mode: requests, bytes, and CPU of its brokers.

    nobody watches   the two brokers alone, with moves that a throttle keeps in flight
    watch            the same with one `watch`

The moves copy nearly nothing, so that what is measured is watching. Requests and bytes are counted at watch, CPU time
is that of the brokers' processes, from /proc (Linux).
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.cluster import cpu_seconds
from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.node_connections import NodeConnection
from kafka_reassign_rpc.server.http_security import HttpSecurity
from kafka_reassign_rpc.watch.cluster_watch import ClusterWatch
from kafka_reassign_rpc.watch.served import ServedWatch
from tests.stock.kraft import VERSION, KRaftNode, kraft_cluster

MOVES = (10, 1_000)
QUICK_MOVES = (10,)
WINDOW_S, QUICK_WINDOW_S = 30.0, 5.0
RECORDS = 4_000
"""Of 8 kB, in all. Little of it comes through: one fetch in some ten seconds, of `ONE_FETCH`."""
ONE_FETCH = {"replica.fetch.response.max.bytes": "16384"}
SETTLES_S = 10.0


class Counted:
    def __init__(self) -> None:
        self.requests = self.bytes = 0


@contextmanager
def counting() -> Iterator[Counted]:
    """Count what this process asks nodes of, and what they answer."""
    found, call = Counted(), NodeConnection.call

    async def counted(self: NodeConnection, request_class: Any, body: bytes, version: int) -> bytes:
        answer = await call(self, request_class, body, version)
        found.requests += 1
        found.bytes += len(body) + len(answer)
        return answer

    NodeConnection.call = counted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        NodeConnection.call = call  # type: ignore[method-assign]


async def run(_: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    window = QUICK_WINDOW_S if quick else WINDOW_S
    rows = []
    for moves in QUICK_MOVES if quick else MOVES:
        nodes = kraft_cluster(directory / f"watch-{moves}", per_node={2: ONE_FETCH})
        try:
            await asyncio.gather(*(node.start() for node in nodes))
            rows += await _rows(nodes, moves, window)
        finally:
            await asyncio.gather(*(node.kill() for node in nodes))
    return tables.show(
        f"What watch costs two brokers of stock Kafka {VERSION}, {window:.0f} s each",
        ("moves in flight", "requests of watch", "bytes of watch", "brokers' CPU alone", "with watch"),
        rows,
    )


async def _rows(nodes: list[KRaftNode], moves: int, window: float) -> list[tuple[str, ...]]:
    bootstrap = f"127.0.0.1:{nodes[0].port}"
    targets = {TopicPartition("watched", index): [2] for index in range(moves)}
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        await asyncio.to_thread(_fill, bootstrap, moves)
        held = throttle_configs.all_moves({}, targets, {name: [1] for name in targets})
        assert not any((await client.throttle_moves(held, 1)).values())
        await client.alter_partition_reassignments(targets)
        await asyncio.sleep(min(SETTLES_S, window))
        alone = await _cpu(nodes, window)
        with counting() as counted:
            watch = ClusterWatch({"bootstrap_servers": [bootstrap]}, None)
            async with ServedWatch([watch], ("127.0.0.1", 0), HttpSecurity(), page=False):
                await asyncio.sleep(min(SETTLES_S, window))
                totals = watch.status().document.totals
                assert totals is not None, "the cluster is not seen"
                assert totals.in_flight > 0.9 * moves, totals
                requests, size = counted.requests, counted.bytes
                watched = await _cpu(nodes, window)
                requests, size = counted.requests - requests, counted.bytes - size
    row = f"{requests / window:.1f} /s", f"{size / window / 1000:.1f} kB/s", f"{alone:.1f} %", f"{watched:.1f} %"
    return [(f"{moves:,}", *row)]


async def _cpu(nodes: list[KRaftNode], window: float) -> float:
    """Per cent of a core, of all nodes together."""
    begun, used = time.perf_counter(), sum(cpu_seconds(node.pid) for node in nodes)
    await asyncio.sleep(window)
    return 100 * (sum(cpu_seconds(node.pid) for node in nodes) - used) / (time.perf_counter() - begun)


def _fill(bootstrap: str, partitions: int) -> None:
    """A topic on broker 1 with a little in each partition, more than the throttle lets through."""
    from confluent_kafka import Producer
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.create_topics(
            {"watched": {"assignments": {index: [1] for index in range(partitions)}}}, wait_for_metadata=True
        )
    finally:
        admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 8_192, "linger.ms": 0, "log_level": 0})
    for index in range(partitions):
        for _ in range(RECORDS // partitions):
            producer.produce("watched", bytes(8_000), partition=index)
        producer.poll(0)
    assert not producer.flush(60)
