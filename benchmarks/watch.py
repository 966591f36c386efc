"""What `watch` costs a cluster: requests, bytes, request time of brokers and their CPU.

    of stock Kafka in KRaft mode: two brokers, with moves that a throttle keeps in flight. Rounds with and without a
    `watch` follow one another, after one of each that does not count.

    200 simulated brokers under a server of ours, with moves that copy nearly nothing: requests and bytes alone.

Requests and bytes are counted at watch. Request time is what the brokers' quota metrics say of watch, in per cent of
one of their threads. CPU time is that of the brokers' processes, from /proc (Linux).
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import request_time, tables, watch_page
from benchmarks.cluster import Cluster, controlling, cpu_seconds, spread
from benchmarks.held_moves import held_moves
from benchmarks.request_time import Jmx
from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.polling_pace import Traffic, counted
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.watch.served_http import ClusterWatch, ServedWatch
from tests.stock.kraft import VERSION, KRaftNode
from tests.waiting import eventually

MOVES, QUICK_MOVES = (10, 1_000, 5_000, 10_000), (10,)
WINDOW_S, QUICK_WINDOW_S = 15.0, 5.0
ROUNDS, QUICK_ROUNDS = 3, 1
BROKERS, QUICK_BROKERS = 200, 12
MOVES_OF_MANY = (10, 1_000, 10_000)
CLIENT_ID = "kafka-reassign-watch"
SETTLES_S = 5.0
SIZE, BANDWIDTH = 10**12, 1_000_000
SEEN_WITHIN_S = 300.0


class Costs(NamedTuple):
    """A window with watch: what it asked, and per cent of a core that the brokers used."""

    traffic: Traffic
    cpu: float


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    """Run the benchmark; returns its tables."""
    window, rounds = (QUICK_WINDOW_S, QUICK_ROUNDS) if quick else (WINDOW_S, ROUNDS)
    rows, pages = [], []
    for moves in QUICK_MOVES if quick else MOVES:
        jmx = Jmx()
        async with held_moves(directory / f"watch-{moves}", moves, jmx.options) as nodes:
            rows.append(await _row(nodes, jmx, moves, window, rounds))
            print(f"  watch: {rows[-1]}", flush=True)
            async with _watching(f"127.0.0.1:{nodes[0].port}", moves) as (_, address):
                pages.append(await watch_page.measured(address, moves, directory / f"profile-{moves}"))
            print(f"  watch: {pages[-1]}", flush=True)
    of_stock = tables.show(
        f"What watch costs two brokers of stock Kafka {VERSION}",
        ("moves in flight", "requests", "bytes", "request time", "at most", "brokers' CPU alone", "with watch"),
        rows,
        [f"{rounds} rounds of {window:.0f} s with and without watch in turns, after one of each that does not count"],
    )
    of_page = tables.show(
        f"The page of watch in Chromium, {watch_page.WATCHED_MS / 1000:.0f} s", watch_page.HEAD, pages
    )
    brokers = QUICK_BROKERS if quick else BROKERS
    rows = [
        await _of_many(zookeeper, directory, brokers, moves, window) for moves in MOVES_OF_MANY[: 1 if quick else None]
    ]
    return (
        of_stock
        + of_page
        + tables.show(
            f"What watch asks {brokers} simulated brokers",
            ("moves in flight", "requests", "bytes", "of one broker"),
            rows,
        )
    )


@asynccontextmanager
async def _watching(bootstrap: str, moves: int) -> AsyncIterator[tuple[Traffic, str]]:
    """A watch that sees so many moves: what it has asked so far, and the address of its page."""
    with counted() as traffic:
        watch = ClusterWatch({"bootstrap_servers": [bootstrap], "client_id": CLIENT_ID}, None, full=True)
        async with ServedWatch([watch], ("127.0.0.1", 0), HttpSecurity(), page=True) as served:

            def are_seen() -> bool:
                totals = watch.status().document.totals
                return totals is not None and totals.in_flight > 0.9 * moves

            await eventually(are_seen, within=SEEN_WITHIN_S)
            await asyncio.sleep(SETTLES_S)
            yield traffic, served.address


async def _row(nodes: list[KRaftNode], jmx: Jmx, moves: int, window: float, rounds: int) -> tuple[str, ...]:
    bootstrap = f"127.0.0.1:{nodes[0].port}"
    await request_time.keep(bootstrap)
    alone: list[float] = []
    with_watch: list[Costs] = []
    shares: list[float] = []
    for _ in range(1 + rounds):
        await asyncio.sleep(SETTLES_S)
        alone.append((await _window(nodes, Traffic(), window)).cpu)
        async with _watching(bootstrap, moves) as (traffic, _):
            with_watch.append(await _window(nodes, traffic, window))
            shares.append(await jmx.request_time(CLIENT_ID))
    requests, size = (
        tables.middle([getattr(one.traffic, name) / window for one in with_watch[1:]]) for name in ("requests", "bytes")
    )
    return (
        f"{moves:,}",
        f"{requests:.1f} /s",
        f"{(size or 0) / 1000:.1f} kB/s",
        f"{tables.middle(shares[1:]):.2f} %",
        f"{max(shares[1:]):.2f} %",
        f"{tables.middle(alone[1:]):.1f} %",
        f"{tables.middle([one.cpu for one in with_watch[1:]]):.1f} %",
    )


async def _window(nodes: list[KRaftNode], traffic: Traffic, window: float) -> Costs:
    requests, size = traffic.requests, traffic.bytes
    begun, used = time.perf_counter(), sum(cpu_seconds(node.pid) for node in nodes)
    await asyncio.sleep(window)
    cpu = 100 * (sum(cpu_seconds(node.pid) for node in nodes) - used) / (time.perf_counter() - begun)
    meanwhile = Traffic()
    meanwhile.requests, meanwhile.bytes = traffic.requests - requests, traffic.bytes - size
    return Costs(meanwhile, cpu)


async def _of_many(zookeeper: str, directory: Path, brokers: int, moves: int, window: float) -> tuple[str, ...]:
    """Of a move three brokers know: each of them is asked for the sizes of 3 / `brokers` of the moves."""
    ids = tuple(range(1, brokers + 1))
    topics = spread(moves, max(1, moves // 500), "many")

    def place(partition: int, replicas: int) -> list[int]:
        return [ids[(partition + one) % brokers] for one in range(replicas)]

    async with Cluster(zookeeper, f"watch-{moves}", directory, bandwidth=BANDWIDTH, brokers=ids) as cluster:
        server = await cluster.server()
        await controlling(server.address)
        await cluster.create(server.address, topics, 2, SIZE, place=place)
        bootstrap = "{}:{}".format(*server.address)
        async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
            targets = {
                TopicPartition(topic, index): [*place(index, 1), *place(index + 2, 1)]
                for topic, partitions in topics.items()
                for index in range(partitions)
            }
            for some in pieces([*targets], 1_000):
                await client.alter_partition_reassignments({name: targets[name] for name in some})
        async with _watching(bootstrap, moves) as (traffic, _):
            requests, size = traffic.requests, traffic.bytes
            await asyncio.sleep(window)
            requests, size = traffic.requests - requests, traffic.bytes - size
    each = requests / window
    return f"{moves:,}", f"{each:.1f} /s", f"{size / window / 1000:.1f} kB/s", f"{each / brokers:.2f} /s"
