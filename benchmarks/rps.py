"""Small requests (empty Lists) on one connection, by depth: alone, and beside an Alter of 10,000 partitions."""

import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks import frames
from benchmarks.client import Address, Latencies, Wire, small_requests, until_nothing_moves
from benchmarks.cluster import Cluster, spread
from benchmarks.tables import duration, show
from benchmarks.turns import PAUSE_S, Turns, create, warm_up

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
        await create(cluster, topics, REPLICAS, BYTES)
        ours, theirs = await Turns(stock_first=True).take(cluster, partial(_measure, topics=topics, seconds=seconds))
    rows = [[name, *_cells(ours[name]), *_cells(theirs[name]), _faster(theirs[name], ours[name])] for name in ours]
    return show(
        f"rps: List of nothing on one connection, the client on the same cores (the middle of {ROUNDS} rounds)",
        HEAD,
        rows,
        [
            f"beside an Alter: from its sending to its answer, at most {BESIDE_BOUND_S:.0f} s; stock Kafka begins,",
            "and who does not answer an Alter in that time has no further round beside one",
        ],
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
    warm_up(address, topics, REPLICAS)
    small_requests(address, 16, lambda passed: passed < WARM_UP_S)
    for depth in DEPTHS:
        found[f"depth {depth}"] = _middle(
            [small_requests(address, depth, lambda passed: passed < seconds) for _ in range(ROUNDS)]
        )
    place = frames.alter(topics, REPLICAS), frames.alter(topics, REPLICAS, back=True)
    away = given_up = False
    for depth in DEPTHS:
        rounds: list[Latencies] = []
        while len(rounds) < ROUNDS and not given_up:
            latencies, answered = _beside(address, depth, place[away])
            rounds.append(latencies)
            away, given_up = not away, not answered
            until_nothing_moves(address, 600)
            time.sleep(PAUSE_S)
        found[f"depth {depth}, beside an Alter of {PARTITIONS:,}"] = _middle(rounds) if rounds else None
    return found


def _middle(rounds: list[Latencies]) -> Latencies:
    """The round with the median throughput."""
    return sorted(rounds, key=lambda one: one.per_second)[len(rounds) // 2]


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
