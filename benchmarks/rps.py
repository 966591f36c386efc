"""Small requests (empty Lists) on one connection, by depth: alone, and beside an Alter of many partitions.

Alone, this server and a stock broker run side by side (`pairs`), without and with quotas and ACLs (`protection`).
Beside an Alter, one of them controls a fleet at a time (`turns`), with quotas and ACLs.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Latencies, Wire, small_requests, until_nothing_moves
from benchmarks.cluster import Cluster, cpu_seconds, spread
from benchmarks.pairs import Node, alternating, pair
from benchmarks.protection import PROPERTIES, protect
from benchmarks.tables import duration, show
from benchmarks.turns import PAUSE_S, Turns, create, warm_up
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

TOPICS = 10
REPLICAS = 3
BYTES = 10_000
FIGURES = ("requests/s", "p50", "p99", "longest", "CPU")
HEAD = ("", *FIGURES, f"stock {FIGURES[0]}", *FIGURES[1:], "ratio")
PROTECTED = "with quotas and ACLs"

MANY = 1_000
"""A ratio above this means only that nothing was answered."""


class Sizes(NamedTuple):
    """How much is measured.

    warm_up  seconds
    seconds  of a round alone
    bound    seconds to measure a server that works on an Alter; stock Kafka may answer nothing at all meanwhile
    """

    depths: tuple[int, ...]
    beside: tuple[int, ...]
    warm_up: float
    seconds: float
    rounds: int
    rounds_beside: int
    partitions: int
    bound: float


FULL = Sizes((1, 16, 64), (1, 16, 64), 3.0, 3.0, 5, 3, 10_000, 20.0)
QUICK = Sizes((1, 16, 64), (64,), 1.0, 0.5, 1, 1, 100, 5.0)


class Measured(NamedTuple):
    """`cpu`: of the server's process, in seconds for each request; None where it does other work, too."""

    latencies: Latencies
    cpu: float | None = None

    @property
    def per_second(self) -> float:
        return self.latencies.per_second


Results = dict[str, Measured | None]
"""None: not measured, because nothing was answered at the depth before."""


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    sizes = QUICK if quick else FULL
    rows = [
        *await _alone(zookeeper, directory / "rps-open", sizes, protected=False),
        *await _alone(zookeeper, directory / "rps-protected", sizes, protected=True),
    ]
    topics = spread(sizes.partitions, TOPICS, "t")
    async with Cluster(zookeeper, "rps", directory, protected=True) as cluster:
        await create(cluster, topics, REPLICAS, BYTES)
        measure = partial(_all_beside, topics=topics, sizes=sizes, warm=not quick)
        ours, theirs = await Turns(stock_first=True).take(cluster, measure)
    rows += [[name, *_cells(ours[name]), *_cells(theirs[name]), _faster(theirs[name], ours[name])] for name in ours]
    return show(
        "rps: List of nothing on one connection, the client on the same cores",
        HEAD,
        rows,
        [
            f"the middle of {sizes.rounds} rounds of {sizes.seconds:g} s that alternate; the ratio: of each to the one",
            f"beside it. Beside an Alter, the middle of {sizes.rounds_beside}: from its sending to its answer, at most",
            f"{sizes.bound:g} s; stock Kafka begins, and has no further round where it is not done by then.",
            "CPU: of the server's process, for each request",
        ],
    )


async def _alone(zookeeper: str, home: Path, sizes: Sizes, *, protected: bool) -> list[list[str]]:
    properties = {"listeners": "PLAINTEXT://127.0.0.1:0", **(PROPERTIES if protected else {})}
    rows = []
    async with pair(zookeeper, home, properties, protect if protected else _nothing) as nodes:
        for node in nodes:
            await asyncio.to_thread(_small_requests, node, 16, sizes.warm_up)
        for depth in sizes.depths:
            measure = partial(_small_requests, depth=depth, seconds=sizes.seconds)
            rounds = await asyncio.to_thread(alternating, measure, nodes, sizes.rounds)
            ours, theirs = ([both[which] for both in rounds] for which in (0, 1))
            ratio = median(one.per_second / other.per_second for one, other in rounds)
            name = f"depth {depth}, {PROTECTED}" if protected else f"depth {depth}"
            print(f"  {name}: {[f'{one.per_second:,.0f}' for one in (*ours, *theirs)]}", flush=True)
            rows.append([name, *_cells(_middle(ours)), *_cells(_middle(theirs)), f"{ratio:.1f}x"])
    return rows


async def _nothing(_zk: ZooKeeper) -> None:
    pass


def _small_requests(node: Node, depth: int, seconds: float) -> Measured:
    before = cpu_seconds(node.pid)
    found = small_requests(node.at["PLAINTEXT"], depth, lambda passed: passed < seconds)
    return Measured(found, (cpu_seconds(node.pid) - before) / len(found.of_each))


def _cells(found: Measured | None) -> list[str]:
    if found is None:
        return ["-"] * len(FIGURES)
    latencies = found.latencies
    return [
        f"{latencies.per_second:,.0f}",
        duration(latencies.percentile(50)),
        duration(latencies.percentile(99)),
        duration(latencies.worst),
        duration(found.cpu),
    ]


def _faster(stock: Measured | None, ours: Measured | None) -> str:
    if ours is None or stock is None:
        return "-"
    times = ours.per_second / stock.per_second
    return f"{times:.1f}x" if times < MANY else f">{MANY:,}x"


def _all_beside(address: Address, topics: Mapping[str, int], sizes: Sizes, *, warm: bool) -> Results:
    found: Results = {}
    if warm:
        warm_up(address, topics, REPLICAS)
    small_requests(address, 16, lambda passed: passed < sizes.warm_up)
    place = frames.alter(topics, REPLICAS), frames.alter(topics, REPLICAS, back=True)
    away = given_up = False
    for depth in sizes.beside:
        rounds: list[Measured] = []
        while len(rounds) < sizes.rounds_beside and not given_up:
            latencies, answered = _beside(address, depth, place[away], sizes.bound)
            rounds.append(Measured(latencies))
            away, given_up = not away, not answered
            until_nothing_moves(address, 600)
            if warm:
                time.sleep(PAUSE_S)
        name = f"depth {depth}, {PROTECTED}, beside an Alter of {sizes.partitions:,}"
        found[name] = _middle(rounds) if rounds else None
    return found


def _middle(rounds: list[Measured]) -> Measured:
    """The round with the median throughput."""
    return sorted(rounds, key=lambda one: one.per_second)[len(rounds) // 2]


def _beside(address: Address, depth: int, alter: bytes, bound: float) -> tuple[Latencies, bool]:
    """Latencies of small requests during an Alter, and whether the Alter was answered."""
    answered = threading.Event()

    def ask() -> None:
        try:
            with Wire(address, bound) as wire:
                frames.accepted(wire.ask(alter))
        except TimeoutError:
            return
        answered.set()

    client = threading.Thread(target=ask)
    client.start()
    found = small_requests(address, depth, lambda passed: not answered.is_set() and passed < bound, timeout=bound)
    client.join()
    return found, answered.is_set()
