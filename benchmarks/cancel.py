"""Cancels all moves in flight: RPC moves by one request, batch moves by the znode of KIP-236."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks import frames
from benchmarks.client import Address, Pings, Wire
from benchmarks.cluster import Cluster, controlling, spread
from benchmarks.listing import BANDWIDTH, BYTES, put_in_flight
from benchmarks.tables import duration, middle, ratio, show
from benchmarks.turns import PAUSE_S, Turns, create
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

REPLICAS = 3
SIZES = (1_000, 10_000)
PER_TOPIC = 100
ROUNDS = 3
BOUND_S = 300.0
HEAD = (
    "in flight", "cancel answered", "longest wait of others", "stock", "ratio", "taken up from the znode",
    "cancelled by the znode",
)  # fmt: skip


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    rows: list[list[str]] = []
    for size in SIZES[:1] if quick else SIZES:
        async with Cluster(zookeeper, f"cancel-{size}", directory, bandwidth=BANDWIDTH) as cluster:
            turns = Turns(stock_first=len(rows) % 2 == 1)
            rows.append(await _one(cluster, spread(size, size // PER_TOPIC, "t"), turns))
            print(f"  cancel: {rows[-1]}", flush=True)
    return show(
        f"cancel: all moves in flight at once, {PER_TOPIC} partitions in each topic (medians of {ROUNDS})",
        HEAD,
        rows,
        [
            "each after one uncounted round; this server begins in the first row, stock Kafka in the second",
            "by the znode: from the creation of /admin/reassign_partitions until all its entries move,",
            "and from the creation of /admin/cancel_reassignment_in_progress until both znodes are gone",
        ],
    )


async def _one(cluster: Cluster, topics: Mapping[str, int], turns: Turns) -> list[str]:
    await create(cluster, topics, REPLICAS, BYTES)
    (ours, worst), (theirs, _) = await turns.take(cluster, partial(measure, topics=topics))
    taken, rolled_back = await _rounds_by_znode(cluster, topics)
    return [
        f"{sum(topics.values()):,}", duration(middle(ours)), duration(middle(worst)), duration(middle(theirs)),
        ratio(middle(theirs), middle(ours)), duration(middle(taken)), duration(middle(rolled_back)),
    ]  # fmt: skip


def measure(address: Address, topics: Mapping[str, int]) -> tuple[list[float], list[float]]:
    """Seconds until a cancel of all moves is answered, and the longest wait of other clients in that time."""
    size = sum(topics.values())
    start, cancel = frames.alter(topics, REPLICAS), frames.cancel(topics)
    answered, worst = [], []
    for _ in range(1 + ROUNDS):
        put_in_flight(address, start, size)
        time.sleep(PAUSE_S)  # the controller still propagates to brokers
        with Wire(address, BOUND_S) as wire, Pings(address) as pings:
            begun = time.perf_counter()
            answer = wire.ask(cancel)
            answered.append(time.perf_counter() - begun)
        worst.append(pings.result.worst)
        if frames.accepted(answer) != size:
            raise RuntimeError("the cancel did not take all partitions")
        time.sleep(PAUSE_S)
    return answered[1:], worst[1:]


async def _rounds_by_znode(cluster: Cluster, topics: Mapping[str, int]) -> tuple[list[float], list[float]]:
    server = await cluster.server()
    await controlling(server.address)
    taken, rolled_back = [], []
    async with ZooKeeper(cluster.zookeeper) as zk:
        for _ in range(ROUNDS):
            up, back = await _by_znode(zk, topics)
            taken.append(up)
            rolled_back.append(back)
            await asyncio.sleep(PAUSE_S)
    await server.stop()
    return taken, rolled_back


async def _by_znode(zk: ZooKeeper, topics: Mapping[str, int]) -> tuple[float, float]:
    entries = [
        {"topic": name, "partition": index, "replicas": frames.away(index, REPLICAS)}
        for name, count in topics.items()
        for index in range(count)
    ]
    data = json.dumps({"version": 1, "partitions": entries}, separators=(",", ":")).encode()
    begun = time.perf_counter()
    await zk.create(znode_paths.REASSIGN_PARTITIONS, data)
    await _until(lambda held: held is not None and held.count(b"original_replicas") == len(entries), zk)
    taken_up = time.perf_counter() - begun
    await asyncio.sleep(PAUSE_S)
    begun = time.perf_counter()
    await zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    await _until(lambda held: held is None, zk)
    while await zk.exists(znode_paths.CANCEL_IN_PROGRESS) is not None:
        await asyncio.sleep(0.01)
    return taken_up, time.perf_counter() - begun


async def _until(holds: Callable[[bytes | None], bool], zk: ZooKeeper) -> None:
    while True:
        (found,) = await zk.multi_get([znode_paths.REASSIGN_PARTITIONS])
        if holds(None if found is None else found[0]):
            return
        await asyncio.sleep(0.05)
