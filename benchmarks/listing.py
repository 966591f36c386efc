"""List with many moves in flight, all started by one Alter."""

import asyncio
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Pings, Wire
from benchmarks.cluster import Cluster, controlling, spread
from benchmarks.tables import duration, ratio, show

BYTES = 1 << 40
BANDWIDTH = 1_000_000
"""So slow that no move ends during the Lists."""
SIZES = ((10_000, 3), (100_000, 2))
"""(partitions, replicas of each)."""
PER_TOPIC = 1_000
LISTS = 21
STOCK_UP_TO = 10_000
STOCK_BOUND_S = 180.0
HEAD = ("in flight", "one Alter answered", "longest wait of others", "List, first", "List", "longest wait of others",
        "stock List", "ratio")  # fmt: skip


class Lists(NamedTuple):
    """All in seconds. `first` is the first List after every listed partition has changed."""

    first: float
    middle: float
    worst: float
    bytes: int


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    rows = []
    for size, replicas in SIZES[:1] if quick else SIZES:
        async with Cluster(zookeeper, f"list-{size}", directory, bandwidth=BANDWIDTH) as cluster:
            rows.append(await _one(cluster, size, replicas, with_stock=size <= STOCK_UP_TO and not quick))
            print(f"  list: {rows[-1]}", flush=True)
    return show(
        f"list: all moves in flight, {PER_TOPIC:,} partitions in each topic (medians of {LISTS})",
        HEAD,
        rows,
        [
            "longest wait of others: the slowest of small requests sent every 2 ms meanwhile",
            f"stock takes over with the moves in flight; given {STOCK_BOUND_S:.0f} s for it, up to {STOCK_UP_TO:,}",
        ],
    )


async def _one(cluster: Cluster, size: int, replicas: int, *, with_stock: bool) -> list[str]:
    topics = spread(size, size // PER_TOPIC, "t")
    server = await cluster.server()
    await cluster.create(server.address, topics, replicas, BYTES)
    await asyncio.sleep(1)
    took, worst = await asyncio.to_thread(put_in_flight, server.address, frames.alter(topics, replicas), size)
    await asyncio.sleep(10)  # the controller still propagates the moves to brokers, which must not count here
    ours = await asyncio.to_thread(measure, server.address)
    await server.stop()
    theirs = None
    if with_stock:
        stock = await cluster.stock()
        try:
            await controlling(stock.where, STOCK_BOUND_S)
            theirs = await asyncio.to_thread(measure, stock.where)
        except TimeoutError:
            pass
    their_time = theirs.middle if theirs else None
    return [
        f"{size:,}", duration(took), duration(worst), duration(ours.first), duration(ours.middle),
        duration(ours.worst), duration(their_time), ratio(their_time, ours.middle),
    ]  # fmt: skip


def put_in_flight(address: Address, frame: bytes, wanted: int) -> tuple[float, float]:
    """Send one Alter; returns the seconds until its answer and the longest wait of other clients meanwhile."""
    with Wire(address, 600) as wire, Pings(address) as pings:
        begun = time.perf_counter()
        answer = wire.ask(frame)
        took = time.perf_counter() - begun
    if frames.accepted(answer) != wanted:
        raise RuntimeError("the Alter did not take all partitions")
    return took, pings.result.worst


def measure(address: Address) -> Lists:
    took = []
    with Wire(address, 120) as wire, Pings(address) as pings:
        for _ in range(LISTS):
            begun = time.perf_counter()
            answer = wire.ask(frames.LIST_ALL)
            took.append(time.perf_counter() - begun)
            time.sleep(0.02)
    return Lists(took[0], median(took), pings.result.worst, len(answer))
