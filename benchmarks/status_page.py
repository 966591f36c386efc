"""CPU that the status page costs a server with a hundred thousand moves in flight, and the wait of its other clients.

    nobody looks     the controller only samples brokers at its usual interval
    N viewers        N browsers, each with a stream of events and requests for moves, brokers and events every four
                     seconds; two of them sort the moves in another way

The moves never end (brokers copy a few bytes a second). The CPU time is that of the server's process, from /proc
(Linux). A ping every 2 ms measures how other clients are served.
"""

import asyncio
import time
from pathlib import Path

import aiohttp

from benchmarks import tables
from benchmarks.client import Latencies, Pings
from benchmarks.cluster import Cluster, Server, controlling, spread, start_moves

MOVES = 100_000
QUICK_MOVES = 2_000
WINDOW_S = 60.0
QUICK_WINDOW_S = 10.0
PER_TOPIC = 1_000
SIZE = 10**12
BANDWIDTH = 1_000_000
VIEWERS = (0, 1, 10)
TABLES_S = 4.0
"""The same interval as in the page's script."""
OPTIONS = ("--metrics-listener", "127.0.0.1:0", "--status-page", "full", "--zookeeper-session-timeout-ms", "60000")
"""The session timeout is long, because a hundred thousand moves keep the machine busy."""


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its table."""
    moves, window = (QUICK_MOVES, QUICK_WINDOW_S) if quick else (MOVES, WINDOW_S)
    topics = spread(moves, max(1, moves // PER_TOPIC), "page")
    rows = []
    async with Cluster(zookeeper, "page", directory, bandwidth=BANDWIDTH) as cluster:
        server = await cluster.server(1000, *OPTIONS)
        await controlling(server.address)
        await cluster.create(server.address, topics, 2, SIZE)
        await start_moves(server.address, topics, 2)
        await asyncio.sleep(window / 2)  # until the work that the start causes is over
        for viewers in VIEWERS:
            rows.append(await _row(server, viewers, window))
            print(f"  page: {rows[-1]}", flush=True)
    return tables.show(
        f"Status page with {moves:,} moves in flight, {window:.0f} s each",
        ("viewers", "server CPU", "moves answered in", "listed", "ping p99", "ping worst"),
        rows,
    )


async def _row(server: Server, viewers: int, window: float) -> tuple[str, ...]:
    took: list[float] = []
    listed: list[int] = []
    with Pings(server.address, every=0.02) as pings:
        begun, used = time.perf_counter(), server.cpu_seconds()
        async with aiohttp.ClientSession(f"http://{server.page}") as session:
            looking = [asyncio.create_task(_look(session, number, took, listed)) for number in range(viewers)]
            await asyncio.sleep(window)
            for one in looking:
                one.cancel()
            await asyncio.gather(*looking, return_exceptions=True)
        share = (server.cpu_seconds() - used) / (time.perf_counter() - begun)
    result: Latencies = pings.result
    return (
        str(viewers),
        f"{100 * share:.1f} %",
        tables.duration(tables.middle(took)) if took else "-",
        f"{max(listed):,}" if listed else "-",
        tables.duration(result.percentile(99)),
        tables.duration(result.worst),
    )


async def _look(session: aiohttp.ClientSession, number: int, took: list[float], listed: list[int]) -> None:
    await asyncio.gather(_stream(session), _tables(session, number, took, listed))


async def _stream(session: aiohttp.ClientSession) -> None:
    while True:
        async with session.get("/api/v1/stream") as answer:
            async for _ in answer.content:
                pass


async def _tables(session: aiohttp.ClientSession, number: int, took: list[float], listed: list[int]) -> None:
    sort = "left" if number % 5 == 1 else "topic"
    while True:
        began = time.perf_counter()
        async with session.get("/api/v1/moves", params={"sort": sort}) as answer:
            listed.append((await answer.json())["count"])
        took.append(time.perf_counter() - began)
        for name in ("brokers", "events"):
            async with session.get(f"/api/v1/{name}") as answer:
                await answer.read()
        await asyncio.sleep(max(0.0, began + TABLES_S - time.perf_counter()))
