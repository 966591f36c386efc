"""One Alter on three real brokers, under three controllers: this server, stock Kafka in ZooKeeper mode, and KRaft.

Each controller gets three fresh brokers, which run alone on the machine. The brokers are stock Kafka 3.9.1 with one
settings file for all. KRaft, which the tests have in version 4.1, brings brokers of its own version with the same
settings. Its controller shares a process with a broker, as the controller of ZooKeeper mode does.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.bulk import Side, median_of, one_round
from benchmarks.client import Address, Wire
from benchmarks.cluster import SERVER_ID, SESSION_MS, Server, controlling, until_shown
from benchmarks.tables import show
from benchmarks.turns import PAUSE_S
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.stock.cluster import StockBroker
from tests.stock.kraft import kraft_cluster
from tests.stock.process import LoggedProcess

BROKERS = (1, 2, 3)
REPLICAS = 2
ROWS = ((1, 1_000), (200, 5), (1, 4_000), (100, 90))
"""(topics, partitions of each)"""
ROUNDS = 3
BOUND_S = 300.0
JVM = ("-Xms512m", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:-UsePerfData")
SETTINGS = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "background.threads": "10",
    "replica.fetch.wait.max.ms": "500",
    "replica.fetch.max.bytes": "1048576",
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "socket.request.max.bytes": str(100 << 20),
}
HEAD = (
    "Alter", "answered", "ZooKeeper mode", "KRaft 4.1", "all moved", "ZooKeeper mode", "KRaft 4.1",
    "longest wait of others", "ZooKeeper mode", "KRaft 4.1",
)  # fmt: skip


class Controlled(NamedTuple):
    """A running cluster: the address of its controller, and its brokers."""

    controller: Address
    brokers: tuple[Address, ...]


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    rows: list[list[str]] = []
    for topics, partitions in ROWS[:1] if quick else ROWS:
        name = f"stock-{topics}x{partitions}"
        spread_over = {f"t-{number}": partitions for number in range(topics)}
        kinds = list(enumerate((_ours, _zookeeper_mode, _kraft)))
        turn = len(rows) % len(kinds)
        sides: dict[int, Side] = {}
        for kind, cluster in (*kinds[turn:], *kinds[:turn]):
            async with cluster(f"{zookeeper}/{name}-{kind}", directory / f"{name}-{kind}") as controlled:
                sides[kind] = await asyncio.to_thread(_measure, controlled, spread_over)
            print(f"  {name}, {cluster.__name__.strip('_')}: {_cells(sides[kind])}", flush=True)
        columns = zip(*(_cells(sides[kind]) for kind, _ in kinds), strict=True)
        rows.append([f"{topics:,} x {partitions:,} partitions", *(cell for column in columns for cell in column)])
    return show(
        f"stock: one Alter on three stock brokers, {REPLICAS} replicas, one of them moves",
        HEAD,
        rows,
        [
            f"medians; (n): their number of rounds; each round within {BOUND_S:.0f} s, after an uncounted one",
            "each row begins with another controller: this server, ZooKeeper mode, KRaft, and so on",
        ],
    )


def home(partition: int, replicas: int) -> list[int]:
    return [BROKERS[(partition + at) % len(BROKERS)] for at in range(replicas)]


def away(partition: int) -> list[int]:
    return [BROKERS[partition % len(BROKERS)], BROKERS[(partition + REPLICAS) % len(BROKERS)]]


def _measure(cluster: Controlled, topics: Mapping[str, int]) -> Side:
    """Create the topics, move everything away and back once uncounted, then measure."""
    for topic, partitions in topics.items():
        with Wire(cluster.controller, BOUND_S) as wire:
            if failed := frames.created(wire.ask(frames.create(topic, partitions, REPLICAS, home))):
                raise RuntimeError(f"not created: {failed}")
    for broker in cluster.brokers:
        until_shown(broker, topics, BOUND_S)
    place = (frames.alter_to(topics, away), frames.alter_to(topics, lambda index: home(index, REPLICAS)))
    side = Side([], [], [])
    for number in range(2 + ROUNDS):
        try:
            measured = one_round(cluster.controller, [place[number % 2]], sum(topics.values()), BOUND_S)
        except TimeoutError:
            return side._replace(bound=BOUND_S)
        if number >= 2:
            side.add(measured)
        time.sleep(PAUSE_S)
    return side


def _cells(side: Side) -> list[str]:
    return [median_of(side.answered, side.bound), median_of(side.moved, side.bound), median_of(side.worst)]


class _Broker(StockBroker):
    jvm = JVM


@asynccontextmanager
async def ended_after(*processes: LoggedProcess) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for process in processes:
            await process.kill()


def _brokers(zookeeper: str, directory: Path) -> list[_Broker]:
    return [_Broker(broker, zookeeper, directory / str(broker), SETTINGS) for broker in BROKERS]


def where(port: int) -> Address:
    return "127.0.0.1", port


@asynccontextmanager
async def _ours(zookeeper: str, directory: Path) -> AsyncIterator[Controlled]:
    brokers = _brokers(zookeeper, directory)
    server = Server(zookeeper, SERVER_ID, directory)
    async with ZooKeeper(zookeeper) as zk:
        await zk.ensure_path("/")
    async with ended_after(server, *brokers):
        await server.start()
        await controlling(server.address)
        await asyncio.gather(*(broker.start() for broker in brokers))
        yield Controlled(server.address, tuple(where(broker.port) for broker in brokers))


@asynccontextmanager
async def _zookeeper_mode(zookeeper: str, directory: Path) -> AsyncIterator[Controlled]:
    brokers = _brokers(zookeeper, directory)
    async with ended_after(*brokers):
        first, *others = brokers
        await first.start()
        await controlling(where(first.port))
        await asyncio.gather(*(broker.start() for broker in others))
        yield Controlled(where(first.port), tuple(where(broker.port) for broker in brokers))


@asynccontextmanager
async def _kraft(_: str, directory: Path) -> AsyncIterator[Controlled]:
    settings = {key: value for key, value in SETTINGS.items() if not key.startswith("zookeeper.")}
    nodes = kraft_cluster(directory, BROKERS, dict.fromkeys(BROKERS, settings), jvm=JVM)
    async with ended_after(*nodes):
        await asyncio.gather(*(node.start() for node in nodes))
        addresses = tuple(where(node.port) for node in nodes)
        yield Controlled(addresses[0], addresses)
