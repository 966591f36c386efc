"""The time from the loss of a controller to the first answer of the next one."""

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.client import Address, until_controller
from benchmarks.cluster import SERVER_ID, SESSION_MS, Cluster, Server, Stock, spread
from benchmarks.tables import duration, ratio, show

SIZES = (10_000, 100_000)
PER_TOPIC = 1_000
REPLICAS = 2
BYTES = 10_000
BOUND_S = 300.0
HAND_OVER_GOAL_S = 0.1
"""From the signal that stops a controller to the election of the next one."""
HEAD = (
    "partitions",
    "stopped, until the election",
    "goal",
    "stopped, since the signal",
    "killed, since the election",
    "killed, since the kill",
    "stock, since the election",
    "since the kill",
    "ratio",
    "replicas in the fleet's process",
    "its memory",
)


class Failover(NamedTuple):
    """Seconds until the next controller answers, since the end of the old one and since the election of the new one."""

    since_end: float
    since_election: float

    @property
    def until_election(self) -> float:
        """Seconds from the end of the old controller, or the signal that ends it, to the election of the new one."""
        return self.since_end - self.since_election


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    rows = []
    for size in SIZES[:1] if quick else SIZES:
        async with Cluster(zookeeper, f"failover-{size}", directory) as cluster:
            rows.append(await _one(cluster, size, with_stock=not quick))
            print(f"  failover: {rows[-1]}", flush=True)
    return show(
        "failover: a server stands by, the controller is stopped (SIGTERM) or killed (-9)",
        HEAD,
        rows,
        [f"sessions of {SESSION_MS / 1000:.0f} s: most of what passes since a kill; ratio: since the election"],
    )


async def _one(cluster: Cluster, size: int, *, with_stock: bool) -> list[str]:
    topics = spread(size, size // PER_TOPIC, "t")
    first = await cluster.server()
    await cluster.create(first.address, topics, REPLICAS, BYTES)
    second = await cluster.server(SERVER_ID + 1)
    stopped = await _measure(cluster, first, second.address, kill=False)
    third = await cluster.server(SERVER_ID + 2)
    await asyncio.sleep(5)
    killed = await since_kill(cluster, second, third.address)
    stock: Failover | None = None
    if with_stock:
        broker = await cluster.stock()
        await asyncio.sleep(5)
        stock = await _measure_stock(cluster, third, broker)
    theirs = None if stock is None else stock.since_election
    return [
        f"{size:,}",
        duration(stopped.until_election),
        duration(HAND_OVER_GOAL_S),
        duration(stopped.since_end),
        duration(killed.since_election),
        duration(killed.since_end),
        duration(theirs),
        duration(None if stock is None else stock.since_end),
        ratio(theirs, killed.since_election),
        f"{size * REPLICAS:,}",
        f"{cluster.fleet_megabytes():.0f} MB",
    ]


async def since_kill(cluster: Cluster, controller: Server, standby: Address) -> Failover:
    """Kill the controller; the time until the standby answers as the next one."""
    return await _measure(cluster, controller, standby, kill=True)


async def _measure_stock(cluster: Cluster, controller: Server, broker: Stock) -> Failover | None:
    try:
        return await since_kill(cluster, controller, broker.where)
    except TimeoutError:
        return None


async def _measure(cluster: Cluster, controller: Server, standby: Address, *, kill: bool) -> Failover:
    """All times are by the clock of one machine: this process reads it, and ZooKeeper stamps the creation of
    /controller.
    """
    waiting = asyncio.create_task(asyncio.to_thread(until_controller, standby, BOUND_S))
    await asyncio.sleep(0.5)
    ended = time.time()
    if kill:
        await controller.kill()
    else:
        await controller.stop()
    answered = await waiting
    elected = (await cluster.elected()).ctime / 1000
    return Failover(answered - ended, answered - elected)
