"""One Alter of many partitions: the time until its answer, and until every partition has moved."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Pings, Wire, until_nothing_moves
from benchmarks.cluster import Cluster, spread
from benchmarks.tables import duration, middle, ratio, show
from benchmarks.turns import PAUSE_S, Turns, create, warm_up

REPLICAS = 3
BYTES = 10_000
"""Size of each partition: small, since this benchmark measures control, not copying."""
SIZES = (1_000, 4_000, 10_000)
SPREAD = 100
ROUNDS = 3
BOUND_S = 300.0
"""Seconds for one round, for either of them."""
HEAD = (
    "Alter", "answered", "stock", "ratio", "all moved", "stock", "ratio", "longest wait of others", "stock",
)  # fmt: skip


class Round(NamedTuple):
    """Seconds until the last answer, seconds until no partition moves, and the longest wait of other clients."""

    answered: float
    moved: float
    worst: float


class Side(NamedTuple):
    """Seconds of each round; `bound` is the limit that a round exceeded, if any."""

    answered: list[float]
    moved: list[float]
    worst: list[float]
    bound: float | None = None

    def add(self, measured: Round) -> None:
        for values, seconds in zip((self.answered, self.moved, self.worst), measured, strict=True):
            values.append(seconds)


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    sizes = SIZES[:1] if quick else SIZES
    rows: list[tuple[str, ...]] = []
    for size in sizes:
        for topics in (1, SPREAD):
            name = f"bulk-{size}-{topics}"
            spread_over = spread(size, topics, "t")
            turns = Turns(stock_first=len(rows) % 2 == 1)
            async with Cluster(zookeeper, name, directory) as cluster:
                await create(cluster, spread_over, REPLICAS, BYTES)
                ours, stock = await turns.take(cluster, partial(measure, topics=spread_over))
            of = "one topic" if topics == 1 else f"{topics} topics"
            rows.append((f"{size:,} partitions of {of}", *_cells(ours, stock)))
            print(f"  {name}: {rows[-1][1:]}", flush=True)
    return show(
        f"bulk: one Alter, {REPLICAS} replicas, one of them moves",
        HEAD,
        rows,
        [
            f"medians; (n): their number of rounds; each round within {BOUND_S:.0f} s, after an uncounted one",
            "this server begins in the first row, stock Kafka in the second, and so on",
            "longest wait of others: the slowest of small requests sent every 2 ms until the Alter was answered",
        ],
    )


def measure(address: Address, topics: Mapping[str, int], rounds: int = ROUNDS) -> Side:
    """Moves all partitions away and back, in turn, until a round takes too long."""
    warm_up(address, topics, REPLICAS)
    side = Side([], [], [])
    place = frames.alter(topics, REPLICAS), frames.alter(topics, REPLICAS, back=True)
    for number in range(rounds):
        try:
            side.add(one_round(address, [place[number % 2]], sum(topics.values()), BOUND_S))
        except TimeoutError:
            return side._replace(bound=BOUND_S)
        time.sleep(PAUSE_S)
    return side


def one_round(address: Address, alters: Sequence[bytes], partitions: int, bound: float) -> Round:
    """Sends these Alters one after the other. Raises TimeoutError after `bound` seconds."""
    with Wire(address, bound) as wire:
        with Pings(address) as pings:
            begun = time.perf_counter()
            answers = [wire.ask(alter) for alter in alters]
            answered = time.perf_counter() - begun
        until_nothing_moves(address, bound)
        moved = time.perf_counter() - begun
    if sum(map(frames.accepted, answers)) != partitions:
        raise RuntimeError("the Alters did not take all partitions")
    return Round(answered, moved, pings.result.worst)


def _cells(ours: Side, stock: Side) -> list[str]:
    cells = []
    for mine, theirs in ((ours.answered, stock.answered), (ours.moved, stock.moved)):
        cells += [
            median_of(mine, ours.bound),
            median_of(theirs, stock.bound),
            ratio(middle(theirs), middle(mine), stock.bound),
        ]
    return [*cells, median_of(ours.worst), median_of(stock.worst)]


def median_of(values: list[float], bound: float | None = None) -> str:
    """The median, with the number of rounds in brackets."""
    return f"{duration(middle(values), '-' if bound is None else f'not within {bound:.0f} s')} ({len(values)})"
