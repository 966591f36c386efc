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
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from statistics import median

from benchmarks import frames
from benchmarks.client import Address, Wire, until_nothing_moves
from benchmarks.cluster import START_S, controlling, cpu_seconds, until_shown
from benchmarks.state_log import followed
from benchmarks.stock_brokers import BROKERS, JVM, REPLICAS, SETTINGS, away, ended_after, home, where
from benchmarks.tables import duration, show
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.kraft.kraft_process import RANKS
from kafka_reassign_rpc.kraft.round_records import RoundRecord, Waiting, encode
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.tasks import end
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
MANY = 100_000
NO_SERVER = "2999@127.0.0.1:1"
FIRST_BY_RANK = 1_101
"""The id of a server that claims first, as all with the same remainder."""
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
        await servers[-1].kill()
        many = MANY // 10 if quick else MANY
        from_log = [one async for one in _from_log(bootstrap, folder, many, 1 if quick else ROUNDS)]
    taken = show(
        f"kraft: take-over, L = {LEAD_S:g} s",
        ("moves that wait", "median", "longest", "times"),
        [
            [f"{waiting:,}", duration(median(times)), duration(max(times)), str(len(times))]
            for waiting, times in ((sum(sizes), took), (many, from_log))
        ],
        [
            "from the end of the leader (kill -9 in the first row) until the next server answers",
            f"{many:,}: in the state log, of partitions that no broker has",
        ],
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


async def _from_log(bootstrap: str, folder: Path, many: int, rounds: int) -> AsyncIterator[float]:
    """Three brokers on one machine cannot have so many partitions. The leader only writes the log; its moves wait for
    topics that nobody has, which the next server finds out by its looks, later.
    """
    move = WaitingMove(MoveTerms((1, 2), route=QUEUE))
    names = [(f"none-{number // 1_000}", number % 1_000) for number in range(many)]
    records = [
        RoundRecord(at=0, server=NO_SERVER),
        *(RoundRecord(at=0, waiting=[Waiting(0, *name, move) for name in some]) for some in pieces(names, 1_000)),
    ]
    async with StateLog(client_settings({"bootstrap_servers": bootstrap}), server=NO_SERVER) as log:
        following = asyncio.create_task(followed(log))
        for number in range(rounds):
            await log.claim()
            await log.snapshot([encode(record) for record in records])
            leading = asyncio.create_task(log.keep())
            next_one = Service(folder, bootstrap, FIRST_BY_RANK + RANKS * number, *ONE_AT_A_TIME)
            async with ended_after(next_one):
                await next_one.start()  # it has read the log up to a sign of life
                await end(leading)
                begun = time.perf_counter()
                await controlling(next_one.address)
                yield time.perf_counter() - begun
                print(f"  kraft: take-over of {many:,}, load {os.getloadavg()[0]:.1f}", flush=True)
        await end(following)


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
