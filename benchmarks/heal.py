"""The repair after the loss of a broker: when it is queued, how long it takes, what it moves, the balance after it.

The failure interval is short, but long enough for two steps: the controller handles the lost replicas, and it plans the
repair (in the second half of the interval, or in its last 30 s). A client sends an empty List every 2 ms, which
measures how others are served: from the kill to the last move in the queue, and from there to the end. Thirty brokers,
ZooKeeper and that client share two cores with the server, so they cause some of its waits.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.client import Pings, until_nothing_moves
from benchmarks.cluster import Cluster, spread
from benchmarks.tables import duration, show
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

BROKERS = 30
LOST = 30
"""The last broker. The other replicas of its partitions are spread over all other brokers, evenly to within one."""
PARTITIONS = 30_000
QUICK_PARTITIONS = 1_500
PER_TOPIC = 1_500
BYTES = 2_000_000
THROTTLE = 5_000_000
"""Bytes/s that each broker may receive for the repair."""
INTERVAL_MS, QUICK_INTERVAL_MS = 20_000, 3_000
BOUND_S = 1_200.0
HEAD = (
    "replicas lost", "queued after the interval", "CPU for that", "whole after it", "bytes / bandwidth", "over that",
    "moved / least", "imbalance after", "ping worst, until queued", "until whole",
)  # fmt: skip


class Repair(NamedTuple):
    """Seconds since the end of the interval, and bytes.

    `cpu` is the server's CPU seconds until the repair was queued.
    """

    queued: float
    cpu: float
    whole: float
    moved: int
    imbalance: float
    pings: tuple[float, float]


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    partitions = QUICK_PARTITIONS if quick else PARTITIONS
    others = [broker for broker in range(1, BROKERS + 1) if broker != LOST]
    async with Cluster(zookeeper, "heal", directory, brokers=others) as cluster:
        interval = (QUICK_INTERVAL_MS if quick else INTERVAL_MS) / 1000
        found = await _one(cluster, spread(partitions, partitions // PER_TOPIC, "t"), interval)
    least = partitions * BYTES
    ideal = least / (len(others) * THROTTLE)
    row = [
        f"{partitions:,}", duration(found.queued), duration(found.cpu), duration(found.whole), duration(ideal),
        f"{100 * (found.whole / ideal - 1):+.0f} %", f"{found.moved / least:.3f}", f"{100 * found.imbalance:.1f} %",
        *map(duration, found.pings),
    ]  # fmt: skip
    return show(
        f"heal: one of {BROKERS} brokers is killed; {BYTES:,} bytes in each replica, {THROTTLE:,} bytes/s for a broker,"
        f" healed after {interval:.0f} s",
        HEAD,
        [row],
        ["no peer: stock Kafka has no self-healing; the least possible is what it is held against"],
    )


async def _one(cluster: Cluster, topics: Mapping[str, int], interval: float) -> Repair:
    settings = ["--failure-interval-ms", str(int(1000 * interval)), "--self-healing-throttle", str(THROTTLE)]
    server = await cluster.server(1000, *settings)
    lost = await cluster.more_brokers(LOST)
    await cluster.create(server.address, topics, 2, BYTES, place=_place)
    async with ZooKeeper(cluster.zookeeper) as zk:
        before = await _replicas(zk, topics)
        with Pings(server.address) as until_queued:
            await lost.kill()
            while not (names := await zk.children(znode_paths.FAILED_BROKERS)):
                await asyncio.sleep(0.01)
            noticed = json.loads((await zk.get(f"{znode_paths.FAILED_BROKERS}/{names[0]}"))[0])["timestamp"]
            end = noticed / 1000 + interval
            await asyncio.sleep(max(0.0, end - time.time()))
            cpu = server.cpu_seconds()
            while await zk.children(znode_paths.FAILED_BROKERS):  # the same commit deletes it
                await asyncio.sleep(0.01)
            cpu = server.cpu_seconds() - cpu
        with Pings(server.address) as until_whole:
            queued = await _scheduled(server.address)
            await _nothing_left(zk, server.address)
            whole = time.time()
        after = await _replicas(zk, topics)
    added = [set(after[name]) - set(before[name]) for name in before]
    held = Counter(broker for replicas in after.values() for broker in replicas)
    mean = sum(held.values()) / (BROKERS - 1)
    return Repair(
        queued - end,
        cpu,
        whole - end,
        BYTES * sum(map(len, added)),
        max(abs(held[broker] - mean) for broker in range(1, BROKERS + 1) if broker != LOST) / mean,
        (until_queued.result.worst, until_whole.result.worst),
    )


def _place(index: int, _replicas: int) -> list[int]:
    return [1 + index % (BROKERS - 1), LOST]


async def _replicas(zk: ZooKeeper, topics: Mapping[str, int]) -> dict[tuple[str, str], list[int]]:
    found = {}
    for topic in topics:
        partitions = json.loads((await zk.get(znode_paths.topic(topic)))[0])["partitions"]
        found.update({(topic, index): replicas for index, replicas in partitions.items()})
    return found


async def _scheduled(address: tuple[str, int]) -> float:
    """The time, by the server's events, at which the whole repair was queued."""
    client = await RpcClient.open(*address, "benchmark", 60.0)
    try:
        seq = 0
        while True:
            request = AskDocumentRequest(document="event_log", body=json.dumps({"from_seq": seq}).encode())
            answer: Any = await client.call(AskDocumentRequest, request, 0)
            page = json.loads(answer.body)
            for event in page["events"]:
                if event["event"] == catalogue.HEAL_SCHEDULED:
                    return float(event["at"] / 1000)
            seq = page["next_seq"]
            if not page["events"]:
                await asyncio.sleep(0.05)
    finally:
        client.close()


async def _nothing_left(zk: ZooKeeper, address: tuple[str, int]) -> None:
    """Wait until the queue is empty, and only then list: repeated Lists of all waiting moves would be a load
    themselves.
    """
    async with asyncio.timeout(BOUND_S):
        while await zk.exists(znode_paths.REASSIGN_QUEUE) is not None:
            await asyncio.sleep(0.2)
    await asyncio.to_thread(until_nothing_moves, address, BOUND_S)
