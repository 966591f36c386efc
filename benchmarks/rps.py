"""Small requests (empty Lists) on one connection, by depth: alone, and beside an Alter of 10,000 partitions."""

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks import frames
from benchmarks.client import Address, Latencies, Wire, small_requests, until_nothing_moves
from benchmarks.cluster import Cluster, controlling, spread
from benchmarks.tables import duration, show

DEPTHS = (1, 16, 64)
PARTITIONS = 10_000
TOPICS = 10
REPLICAS = 3
BYTES = 10_000
ALONE_S = 3.0
ROUNDS = 3
WARM_UP_S = 3.0
BESIDE_BOUND_S = 20.0
"""Seconds to measure a server that works on an Alter; stock Kafka may answer nothing at all meanwhile."""
HEAD = ("", "requests/s", "p50", "p99", "longest", "stock requests/s", "p50", "p99", "longest", "ratio")

MANY = 1_000
"""A ratio above this means only that nothing was answered."""

Results = dict[str, Latencies | None]
"""None: not measured, because nothing was answered at the depth before."""


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    topics = spread(PARTITIONS, TOPICS, "t")
    seconds = 1.0 if quick else ALONE_S
    async with Cluster(zookeeper, "rps", directory) as cluster:
        server = await cluster.server()
        await cluster.create(server.address, topics, REPLICAS, BYTES)
        ours = await asyncio.to_thread(_measure, server.address, topics, seconds)
        await server.stop()
        stock = await cluster.stock()
        await controlling(stock.where)
        theirs = await asyncio.to_thread(_measure, stock.where, topics, seconds)
    rows = [[name, *_cells(ours[name]), *_cells(theirs[name]), _faster(theirs[name], ours[name])] for name in ours]
    return show(
        f"rps: List of nothing on one connection, the client on the same cores (alone: the middle of {ROUNDS} rounds)",
        HEAD,
        rows,
        [f"beside an Alter: from its sending to its answer, at most {BESIDE_BOUND_S:.0f} s; stock does one round"],
    )


def _cells(found: Latencies | None) -> list[str]:
    if found is None:
        return ["-"] * 4
    return [
        f"{found.per_second:,.0f}",
        duration(found.percentile(50)),
        duration(found.percentile(99)),
        duration(found.worst),
    ]


def _faster(stock: Latencies | None, ours: Latencies | None) -> str:
    if ours is None or stock is None:
        return "-"
    times = ours.per_second / stock.per_second
    return f"{times:.1f}x" if times < MANY else f">{MANY:,}x"


def _measure(address: Address, topics: Mapping[str, int], seconds: float) -> Results:
    found: Results = {}
    small_requests(address, 16, lambda passed: passed < WARM_UP_S)
    for depth in DEPTHS:
        rounds = [small_requests(address, depth, lambda passed: passed < seconds) for _ in range(ROUNDS)]
        found[f"depth {depth}"] = sorted(rounds, key=lambda one: one.per_second)[ROUNDS // 2]
    place = frames.alter(topics, REPLICAS), frames.alter(topics, REPLICAS, back=True)
    given_up = False
    for number, depth in enumerate(DEPTHS):
        name = f"depth {depth}, beside an Alter of {PARTITIONS:,}"
        if given_up:
            found[name] = None
            continue
        found[name], ended = _beside(address, depth, place[number % 2])
        given_up = not ended
        if ended:
            until_nothing_moves(address, 600)
            time.sleep(3)
    return found


def _beside(address: Address, depth: int, alter: bytes) -> tuple[Latencies, bool]:
    """Latencies of small requests during an Alter, and whether the Alter was answered."""
    answered = threading.Event()

    def ask() -> None:
        try:
            with Wire(address, BESIDE_BOUND_S) as wire:
                frames.accepted(wire.ask(alter))
        except TimeoutError:
            return
        answered.set()

    client = threading.Thread(target=ask)
    client.start()
    bound = BESIDE_BOUND_S
    found = small_requests(address, depth, lambda passed: not answered.is_set() and passed < bound, timeout=bound)
    client.join()
    return found, answered.is_set()
