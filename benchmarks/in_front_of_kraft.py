"""Moves of a cluster in KRaft mode: by way of the service in front of it, and by an Alter that goes to the cluster. And
how soon another server takes over.

Three brokers, which copy nothing: what is measured is control. Both ways take turns on the same topics, and each round
begins with the other one, on a connection that has had an answer before. Durable: the answer to an Alter for the queue.
CPU time, which other work on the machine changes least, is that of the server, from a request until nothing moves.
"""

import asyncio
import itertools
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median

from benchmarks import frames
from benchmarks.client import Address, Wire, until_nothing_moves
from benchmarks.cluster import START_S, controlling, cpu_seconds, until_shown
from benchmarks.stock_brokers import BROKERS, JVM, REPLICAS, SETTINGS, away, ended_after, home, where
from benchmarks.tables import duration, show
from tests.stock.kraft import KRaftNode, kraft_cluster, start_all
from tests.stock.process import LoggedProcess

SIZES = (1_000, 9_000)
ROUNDS = 5
BOUND_S = 300.0
PAUSE_S = 7.0
"""Seconds between rounds: brokers delete the replicas that the last one has removed, and the service, which looks at
everything every five seconds, has seen what it was not told.
"""
LEAD_S = 4.0
ONE_AT_A_TIME = ("--partition-reassignments-max-per-cluster", "1")
_READY = re.compile(rb"^ready bootstrap=([^:\s]+):(\d+)", re.MULTILINE)


class Service(LoggedProcess):
    """A server in front of the cluster, started by its command."""

    def __init__(self, directory: Path, bootstrap: str, server_id: int, *options: str) -> None:
        super().__init__(directory / f"server-{server_id}.log")
        self._options = (
            *("--bootstrap-server", bootstrap, "--listeners", "PLAINTEXT://127.0.0.1:0"),
            *("--broker-id", str(server_id), "--data-dir", str(directory)),
            *("--state-log-lead-ms", str(round(LEAD_S * 1_000)), *options),
        )
        self.address: Address = ("", 0)

    async def start(self) -> None:
        self.launch([sys.executable, "-m", "kafka_reassign_rpc.cli.main", "serve", *self._options])
        ready = await self.wait_for_line(_READY, START_S)
        self.address = ready[1].decode(), int(ready[2])


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    folder = directory / "kraft"
    settings = {key: value for key, value in SETTINGS.items() if not key.startswith("zookeeper.")}
    nodes = kraft_cluster(folder, BROKERS, dict.fromkeys(BROKERS, settings), jvm=JVM)
    bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    others = range(1_001, 1_003 if quick else 1_002 + ROUNDS)
    servers = [Service(folder, bootstrap, 1_000), *(Service(folder, bootstrap, one, *ONE_AT_A_TIME) for one in others)]
    rows: list[list[str]] = []
    took: list[float] = []
    async with ended_after(*servers, *nodes):
        await start_all(nodes)
        await servers[0].start()
        await controlling(servers[0].address)
        sizes = SIZES[:1] if quick else SIZES
        for size in sizes:
            rows.append(await asyncio.to_thread(_measured, servers[0], nodes, size, quick=quick))
            print(f"  kraft: {rows[-1]}, load {os.getloadavg()[0]:.1f}", flush=True)
        await servers[0].kill()
        for leader, next_one in itertools.pairwise(servers[1:]):
            took.append(await _take_over(leader, next_one, _topics(sizes) if not took else {}))
            print(f"  kraft: take-over {duration(took[-1])}, load {os.getloadavg()[0]:.1f}", flush=True)
    taken = show(
        f"kraft: take-over with {sum(sizes):,} moves that wait, L = {LEAD_S:g} s",
        ("what", "median", "longest", "times"),
        [["kill -9 until the next server answers", duration(median(took)), duration(max(took)), str(len(took))]],
    )
    return taken + show(
        f"kraft: one Alter of a cluster in KRaft mode, {REPLICAS} replicas, one of them moves",
        HEAD,
        rows,
        [f"medians of {ROUNDS} rounds after an uncounted one; x: over an Alter at the cluster in the same run"],
    )


HEAD = ("partitions", "durable", "answered", "at the cluster", "x", "all moved", "at the cluster", "x", "CPU time")


def _topics(sizes: Iterable[int]) -> dict[str, int]:
    return {f"t-{size}": size for size in sizes}


async def _take_over(leader: Service, next_one: Service, waiting: Mapping[str, int]) -> float:
    """Seconds from the kill of the leader, which gets moves of these topics first: they wait."""
    for server in (leader, next_one):
        if server.address == ("", 0):
            await server.start()
    await controlling(leader.address)
    if waiting:
        with Wire(leader.address, BOUND_S) as wire:
            alter = frames.alter_to(waiting, lambda index: home(index, REPLICAS)[::-1], queue=True)
            frames.accepted(await asyncio.to_thread(wire.ask, alter))
    await leader.kill()
    begun = time.perf_counter()
    await controlling(next_one.address)
    return time.perf_counter() - begun


class _Way:
    """What rounds took: until the answer, until the cluster moved nothing, and of the server's CPU."""

    def __init__(self) -> None:
        self.answered: list[float] = []
        self.moved: list[float] = []
        self.cpu: list[float] = []


def _measured(server: Service, nodes: list[KRaftNode], size: int, *, quick: bool) -> list[str]:
    front, brokers, topics = server.address, [where(node.port) for node in nodes], _topics([size])
    with Wire(brokers[0], BOUND_S) as wire:
        for topic in topics:
            if failed := frames.created(wire.ask(frames.create(topic, size, REPLICAS, home))):
                raise RuntimeError(f"not created: {failed}")
    for broker in brokers:
        until_shown(broker, topics, BOUND_S)
    targets = itertools.cycle((away, lambda index: home(index, REPLICAS)))
    ours, theirs = _Way(), _Way()
    durable = []
    for number in range(1 if quick else 1 + ROUNDS):
        for way in (ours, theirs) if number % 2 else (theirs, ours):
            at = front if way is ours else brokers[0]
            time.sleep(PAUSE_S)
            before = cpu_seconds(server.pid)
            answered, ended = _round(at, brokers[0], frames.alter_to(topics, next(targets)), size)
            if number or quick:
                way.answered.append(answered)
                way.moved.append(ended)
                way.cpu.append(cpu_seconds(server.pid) - before)
        time.sleep(PAUSE_S)
        with _connected(front) as wire:
            alter = frames.alter_to(topics, next(targets), queue=True)
            begun = time.perf_counter()
            frames.accepted(wire.ask(alter))
        if number or quick:
            durable.append(time.perf_counter() - begun)
        time.sleep(1)  # it has begun by then
        until_nothing_moves(brokers[0], BOUND_S)
    return [
        f"{size:,}",
        duration(median(durable)),
        *_cells(ours.answered, theirs.answered),
        *_cells(ours.moved, theirs.moved),
        duration(median(ours.cpu)),
    ]


def _cells(ours: list[float], theirs: list[float]) -> list[str]:
    mine, other = median(ours), median(theirs)
    return [duration(mine), duration(other), f"{mine / other:.2f}"]


def _connected(at: Address) -> Wire:
    """As clients are that know the cluster: the server has asked a broker what this one may do."""
    wire = Wire(at, BOUND_S)
    wire.ask(frames.LIST_NOTHING)
    return wire


def _round(at: Address, cluster: Address, alter: bytes, size: int) -> tuple[float, float]:
    with _connected(at) as wire:
        begun = time.perf_counter()
        answer = wire.ask(alter)
        answered = time.perf_counter() - begun
        until_nothing_moves(cluster, BOUND_S)
        moved = time.perf_counter() - begun
    if frames.accepted(answer) != size:
        raise RuntimeError("the Alter did not take all partitions")
    return answered, moved
