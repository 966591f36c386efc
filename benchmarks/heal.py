"""A broker is lost: how soon its repair is queued, how long it takes, what it moves, how even things are after it."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cluster import Cluster, spread
from benchmarks.tables import duration, show
from kafka_reassign_rpc.brokers.rpc import RpcClient
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentEventsRequest, ListPartitionReassignmentsRequest
from kafka_reassign_rpc.zookeeper import paths
from kafka_reassign_rpc.zookeeper.session import ZooKeeper

BROKERS = 30
LOST = 30
"""The last one: all others hold its partitions' other replica, each as many as any other."""
PARTITIONS = 29_000
QUICK_PARTITIONS = 1_450
PER_TOPIC = 1_450
BYTES = 2_000_000
THROTTLE = 5_000_000
"""Bytes/s that each broker may take in for the repair."""
INTERVAL_MS = 3_000
BOUND_S = 1_200.0
HEAD = (
    "replicas lost", "queued after the interval", "whole after it", "bytes / bandwidth", "over that", "moved / least",
    "imbalance after",
)  # fmt: skip


class Repair(NamedTuple):
    """Seconds from the end of the interval; bytes."""

    queued: float
    whole: float
    moved: int
    imbalance: float


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    partitions = QUICK_PARTITIONS if quick else PARTITIONS
    others = [broker for broker in range(1, BROKERS + 1) if broker != LOST]
    async with Cluster(zookeeper, "heal", directory, brokers=others) as cluster:
        found = await _one(cluster, spread(partitions, partitions // PER_TOPIC, "t"))
    least = partitions * BYTES
    ideal = least / (len(others) * THROTTLE)
    row = [
        f"{partitions:,}", duration(found.queued), duration(found.whole), duration(ideal),
        f"{100 * (found.whole / ideal - 1):+.0f} %", f"{found.moved / least:.3f}", f"{100 * found.imbalance:.1f} %",
    ]  # fmt: skip
    return show(
        f"heal: one of {BROKERS} brokers is killed; {BYTES:,} bytes in each replica, {THROTTLE:,} bytes/s for a broker",
        HEAD,
        [row],
        ["no peer: stock Kafka has no self-healing; the least possible is what it is held against"],
    )


async def _one(cluster: Cluster, topics: Mapping[str, int]) -> Repair:
    settings = ["--failure-interval-ms", str(INTERVAL_MS), "--self-healing-throttle", str(THROTTLE)]
    server = await cluster.server(1000, *settings)
    lost = await cluster.more_brokers(LOST)
    await cluster.create(server.address, topics, 2, BYTES, place=_place)
    async with ZooKeeper(cluster.zookeeper) as zk:
        before = await _replicas(zk, topics)
        await lost.kill()
        while not (names := await zk.children(paths.FAILED_BROKERS)):
            await asyncio.sleep(0.01)
        noticed = json.loads((await zk.get(f"{paths.FAILED_BROKERS}/{names[0]}"))[0])["timestamp"]
        end = noticed / 1000 + INTERVAL_MS / 1000
        queued = await _scheduled(server.address)
        await _nothing_left(server.address)
        whole = time.time()
        after = await _replicas(zk, topics)
    added = [set(after[name]) - set(before[name]) for name in before]
    held = Counter(broker for replicas in after.values() for broker in replicas)
    mean = sum(held.values()) / (BROKERS - 1)
    return Repair(
        queued - end,
        whole - end,
        BYTES * sum(map(len, added)),
        max(abs(held[broker] - mean) for broker in range(1, BROKERS + 1) if broker != LOST) / mean,
    )


def _place(index: int, _replicas: int) -> list[int]:
    return [1 + index % (BROKERS - 1), LOST]


async def _replicas(zk: ZooKeeper, topics: Mapping[str, int]) -> dict[tuple[str, str], list[int]]:
    found = {}
    for topic in topics:
        partitions = json.loads((await zk.get(paths.topic(topic)))[0])["partitions"]
        found.update({(topic, index): replicas for index, replicas in partitions.items()})
    return found


async def _scheduled(address: tuple[str, int]) -> float:
    """When the server says that the whole repair had joined the queue."""
    client = await RpcClient.open(*address, "benchmark", 60.0)
    try:
        seq = 0
        while True:
            request = DescribeReassignmentEventsRequest(from_seq=seq, max_bytes=1_000_000)
            answer: Any = await client.call(DescribeReassignmentEventsRequest, request, 0)
            for event in map(json.loads, answer.events):
                if event["event"] == "heal.scheduled":
                    return float(event["at"] / 1000)
            seq = answer.next_seq
            if not answer.events:
                await asyncio.sleep(0.05)
    finally:
        client.close()


async def _nothing_left(address: tuple[str, int]) -> None:
    deadline = time.monotonic() + BOUND_S
    client = await RpcClient.open(*address, "benchmark", 60.0)
    request = ListPartitionReassignmentsRequest(timeout_ms=60_000, topics=None)
    try:
        while (await client.call(ListPartitionReassignmentsRequest, request, 0)).topics:
            if time.monotonic() > deadline:
                raise TimeoutError("the repair has not ended")
            await asyncio.sleep(0.2)
    finally:
        client.close()
