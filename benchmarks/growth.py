"""How this server grows from 10,000 to 200,000 partitions: failover, moves of everything, and memory."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.bulk import Round, one_round
from benchmarks.client import Address
from benchmarks.cluster import SERVER_ID, Cluster, spread
from benchmarks.failover import since_kill
from benchmarks.tables import duration, middle, show
from kafka_reassign_rpc.support.slices import pieces

SIZES = (10_000, 50_000, 100_000, 200_000)
PER_TOPIC = 1_000
PER_REQUEST = 10_000
WHOLE = 100_000
"""At this number of partitions, everything also moves in one request."""
REPLICAS = 3
BYTES = 10_000
ROUNDS = 3
BOUND_S = 900.0
HEAD = (
    "partitions", "failover", "of linear", "Alters answered", "of linear", "all moved", "of linear",
    "longest wait of others", "resident", "at most",
)  # fmt: skip


WHOLE_HEAD = ("", "answered", "goal", "all moved", "longest wait of others", "goal")
WHOLE_GOALS = ("5.00 s", "40.0 ms")


class Size(NamedTuple):
    """Medians in seconds, and the resident MiB of the server: after the failovers, and the highest."""

    partitions: int
    failover: float
    answered: float
    moved: float
    worst: float
    resident: float
    highest: float
    whole: tuple[Round, ...] = ()


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    sizes = []
    for partitions in SIZES[:1] if quick else SIZES:
        async with Cluster(zookeeper, f"growth-{partitions}", directory) as cluster:
            sizes.append(await _measure(cluster, spread(partitions, partitions // PER_TOPIC, "t"), partitions))
        print(f"  growth: {sizes[-1]}", flush=True)
    table = show(
        f"growth: {REPLICAS} replicas, one of them moves; everything moves in requests of {PER_REQUEST:,}",
        HEAD,
        [_row(size, sizes[0]) for size in sizes],
        [
            f"medians of {ROUNDS} rounds, of moves after an uncounted one; longest wait: the worst of all rounds",
            "failover: from the election to the first answer; of linear: over the first row times the partitions",
        ],
    )
    whole = [_whole_row(size) for size in sizes if size.whole]
    notes = ["medians, and the longest wait of all rounds"]
    return table + (show("one request for everything", WHOLE_HEAD, whole, notes) if whole else "")


async def _measure(cluster: Cluster, topics: Mapping[str, int], partitions: int) -> Size:
    controller = await cluster.server()
    await cluster.create(controller.address, topics, REPLICAS, BYTES)
    failovers = []
    for number in range(1, ROUNDS + 1):
        standby = await cluster.server(SERVER_ID + number)
        failovers.append((await since_kill(cluster, controller, standby.address)).since_election)
        controller = standby
        await cluster.shown(topics)
    resident = controller.mebibytes("VmRSS")
    rounds = await _rounds(controller.address, topics, PER_REQUEST)
    answered, moved = (middle([getattr(one, name) for one in rounds]) or 0.0 for name in ("answered", "moved"))
    worst = max(one.worst for one in rounds)
    highest = controller.mebibytes("VmHWM")
    whole = tuple(await _rounds(controller.address, topics, partitions)) if partitions == WHOLE else ()
    return Size(partitions, middle(failovers) or 0.0, answered, moved, worst, resident, highest, whole)


async def _rounds(address: Address, topics: Mapping[str, int], per_request: int) -> list[Round]:
    """An even number of rounds, so that every partition is back at its start. The first round does not count."""
    return [
        await asyncio.to_thread(_move_everything, address, topics, per_request, back=number % 2 == 1)
        for number in range(ROUNDS + 1)
    ][1:]


def _move_everything(address: Address, topics: Mapping[str, int], per_request: int, *, back: bool) -> Round:
    requests = [
        frames.alter({name: topics[name] for name in names}, REPLICAS, back=back)
        for names in pieces(list(topics), per_request // PER_TOPIC)
    ]
    return one_round(address, requests, sum(topics.values()), BOUND_S)


def _row(size: Size, first: Size) -> tuple[str, ...]:
    factor = size.partitions / first.partitions
    times = []
    for name in ("failover", "answered", "moved"):
        seconds: float = getattr(size, name)
        times += [duration(seconds), f"{seconds / (getattr(first, name) * factor):.2f}"]
    return (
        f"{size.partitions:,}",
        *times,
        duration(size.worst),
        f"{size.resident:.0f} MiB",
        f"{size.highest:.0f} MiB",
    )


def _whole_row(size: Size) -> tuple[str, ...]:
    answered, moved = (duration(middle([getattr(one, name) for one in size.whole])) for name in ("answered", "moved"))
    worst = duration(max(one.worst for one in size.whole))
    return (f"{size.partitions:,} partitions", answered, WHOLE_GOALS[0], moved, worst, WHOLE_GOALS[1])
