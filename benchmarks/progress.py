"""CPU that the progress of moves costs: the server's share of a core with many moves in flight.

    at rest     the server does not sample brokers (interval 0), and no client watches
    sampling    the server samples brokers every five seconds
    watched     in addition, `kafka-reassign watch` lists all moves, and asks how far they are, once a second

The moves never end (brokers copy a few bytes a second), so every sample has news of each move. The CPU time is that of
the server's process, from /proc (Linux). A ping every 2 ms measures how other clients are served.
"""

import asyncio
import time
from pathlib import Path

from benchmarks import frames, tables
from benchmarks.client import Address, Latencies, Pings, Wire
from benchmarks.cluster import Cluster, Server, controlling, spread, start_moves

MOVES = 10_000
QUICK_MOVES = 1_000
WINDOW_S = 30.0
QUICK_WINDOW_S = 10.0
TOPICS = 50
SIZE = 10**12
BANDWIDTH = 1_000_000
OFF = ("--reassignment-progress-interval-ms", "0")


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    moves, window = (QUICK_MOVES, QUICK_WINDOW_S) if quick else (MOVES, WINDOW_S)
    topics = spread(moves, TOPICS, "progress")
    rows = []
    async with Cluster(zookeeper, "progress", directory, bandwidth=BANDWIDTH) as cluster:
        server = await cluster.server(1000, *OFF)
        await controlling(server.address)
        await cluster.create(server.address, topics, 3, SIZE)
        await start_moves(server.address, topics, 3)
        rows.append(await _row("at rest", server, window, watched=False))
        await server.stop()
        server = await cluster.server(1001)
        await controlling(server.address)
        rows.append(await _row("sampling", server, window, watched=False))
        rows.append(await _row("watched", server, window, watched=True))
    head = ("", "server CPU", "moves in flight", "known", "ping p99", "ping worst")
    return tables.show(f"Progress of {moves:,} moves in flight, {window:.0f} s each", head, rows)


async def _row(name: str, server: Server, window: float, *, watched: bool) -> tuple[str, ...]:
    await asyncio.sleep(window / 3)  # until the work that the start causes is over
    cpu, describe, known = await asyncio.to_thread(_measure, server, window, watched=watched)
    pings = await asyncio.to_thread(_pings, server, window / 2, watched=watched)
    return (
        name,
        f"{100 * cpu:.1f} %",
        tables.duration(tables.middle(describe)),
        f"{known:,}" if watched else "-",
        tables.duration(pings.percentile(99)),
        tables.duration(pings.worst),
    )


def _measure(server: Server, window: float, *, watched: bool) -> tuple[float, list[float], int]:
    """The share of a core, the seconds of each answer, and the number of moves with figures in the last."""
    describe: list[float] = []
    answer = b""
    with Wire(server.address, 60) as wire:
        begun, used = time.perf_counter(), server.cpu_seconds()
        while (left := begun + window - time.perf_counter()) > 0:
            refreshed = time.perf_counter()
            if watched:
                answer = _refresh(wire, describe)
            time.sleep(max(0.0, min(left, refreshed + 1.0 - time.perf_counter())))
        share = (server.cpu_seconds() - used) / (time.perf_counter() - begun)
    return share, describe, frames.with_figures(answer) if answer else 0


def _pings(server: Server, window: float, *, watched: bool) -> Latencies:
    address: Address = server.address
    with Pings(address) as pings, Wire(address, 60) as wire:
        end = time.perf_counter() + window
        while time.perf_counter() < end:
            if watched:
                _refresh(wire, [])
            time.sleep(1.0)
    return pings.result


def _refresh(wire: Wire, describe: list[float]) -> bytes:
    """The requests that `kafka-reassign watch` sends each second."""
    wire.ask(frames.LIST_ALL)
    asked = time.perf_counter()
    answer = wire.ask(frames.MOVES_IN_FLIGHT)
    describe.append(time.perf_counter() - asked)
    return answer
