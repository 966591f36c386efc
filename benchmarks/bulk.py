"""One Alter of many partitions: the time until its answer, and until every partition has moved."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Pings, Wire, until_nothing_moves
from benchmarks.cluster import Cluster, controlling, spread
from benchmarks.tables import duration, middle, ratio, show

REPLICAS = 3
BYTES = 10_000
"""Size of each partition. It is small, since this benchmark measures control, not copying."""
SIZES = (1_000, 4_000, 10_000)
SPREAD = 100
ROUNDS = 3
STOCK_BOUND_S = 300.0
STOCK_ENOUGH_S = 20.0
"""If a round of stock Kafka takes longer, there is no second one."""
PAUSE_S = 3.0
"""Pause between rounds, so that brokers delete the replicas that the last round has removed."""
HEAD = (
    "Alter", "answered", "stock", "ratio", "all moved", "stock", "ratio", "longest wait of others", "stock",
)  # fmt: skip


class Side(NamedTuple):
    """Seconds of each round; `bound` is the limit that a round exceeded, if any."""

    answered: list[float]
    moved: list[float]
    worst: list[float]
    bound: float | None = None


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    sizes = SIZES[:1] if quick else SIZES
    bound = 60.0 if quick else STOCK_BOUND_S
    rows = []
    for size in sizes:
        for topics in (1, SPREAD):
            name = f"bulk-{size}-{topics}"
            async with Cluster(zookeeper, name, directory) as cluster:
                ours, stock = await _both(cluster, spread(size, topics, "t"), bound)
            of = "one topic" if topics == 1 else f"{topics} topics"
            rows.append((f"{size:,} partitions of {of}", *_cells(ours, stock)))
            print(f"  {name}: {rows[-1][1:]}", flush=True)
    return show(
        f"bulk: one Alter, {REPLICAS} replicas, one of them moves (medians of {ROUNDS})",
        HEAD,
        rows,
        ["longest wait of others: the slowest of small requests sent every 2 ms until the Alter was answered"],
    )


async def _both(cluster: Cluster, topics: Mapping[str, int], bound: float) -> tuple[Side, Side]:
    server = await cluster.server()
    await cluster.create(server.address, topics, REPLICAS, BYTES)
    ours = await asyncio.to_thread(measure, server.address, topics, bound, enough=bound)
    await server.stop()
    stock = await cluster.stock()
    await controlling(stock.where)
    theirs = await asyncio.to_thread(measure, stock.where, topics, bound, enough=STOCK_ENOUGH_S)
    return ours, theirs


def measure(address: Address, topics: Mapping[str, int], bound: float, *, enough: float, rounds: int = ROUNDS) -> Side:
    """Moves all partitions of the topics and back again. Ends early once a round took `enough` seconds."""
    side = Side([], [], [])
    place = frames.alter(topics, REPLICAS), frames.alter(topics, REPLICAS, back=True)
    for number in range(rounds):
        try:
            with Wire(address, bound) as wire:
                with Pings(address) as pings:
                    begun = time.perf_counter()
                    answer = wire.ask(place[number % 2])
                    answered = time.perf_counter() - begun
                until_nothing_moves(address, bound)
                moved = time.perf_counter() - begun
        except TimeoutError:
            return side._replace(bound=bound)
        if frames.accepted(answer) != sum(topics.values()):
            raise RuntimeError("the Alter did not take all partitions")
        side.answered.append(answered)
        side.moved.append(moved)
        side.worst.append(pings.result.worst)
        if moved > enough:
            break
        time.sleep(PAUSE_S)
    return side


def _cells(ours: Side, stock: Side) -> list[str]:
    cells = []
    for mine, theirs in ((ours.answered, stock.answered), (ours.moved, stock.moved)):
        late = f"not within {stock.bound:.0f} s" if stock.bound else "-"
        cells += [
            duration(middle(mine), f"not within {ours.bound} s"),
            duration(middle(theirs), late),
            ratio(middle(theirs), middle(mine), stock.bound),
        ]
    worst = middle(stock.worst)
    return [*cells, duration(middle(ours.worst)), duration(worst)]
