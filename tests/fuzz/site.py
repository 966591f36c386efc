"""The processes of a fuzz: ZooKeeper, simulated brokers, the server under test; and honest clients beside them."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Address, Cluster, address_of
from tests.fuzz.messages import BROKERS
from tests.http_client import get
from tests.processes import Process, processes
from tests.waiting import eventually

BROKER_IDS = ",".join(map(str, BROKERS))
STEADY = ("steady", 0)
TOPICS = ("steady:3:2:1000", "fuzz-0:2:2:1000")
WITHIN_S = 120.0
REAPED_BY_OTHERS = 255
"""What asyncio says of a process whose exit code somebody else has taken."""


class Site:
    """One server and what it needs.

    pages   where the server has its pages for monitoring
    """

    def __init__(self, cluster: Cluster, server: Process) -> None:
        self.cluster = cluster
        self.server = server
        self.address = address_of(server.ready_value("bootstrap"))
        self.pages: Address = address_of(server.ready_value("metrics"))

    @property
    def zk(self) -> ZooKeeper:
        return self.cluster.zk

    def memory(self) -> int:
        """Bytes of the server's resident memory; 0 where it has ended."""
        with suppress(OSError):
            for line in Path(f"/proc/{self.server.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    async def connection_metrics(self) -> str:
        """The metrics of connections, a line each."""
        page = (await get("{}:{}".format(*self.pages), "/metrics")).body.decode()
        shown = ("kafka_reassign_connections", "process_open_fds")
        return "\n".join(line for line in page.splitlines() if line.startswith(shown))

    async def epoch(self) -> bytes:
        """Changes with each term of a controller."""
        return (await self.zk.get(znode_paths.CONTROLLER_EPOCH))[0]

    async def moves_a_partition(self) -> None:
        """Raises AssertionError where the server no longer does its work."""
        with suppress(Exception):
            await self.zk.delete(znode_paths.REASSIGN_CANCEL)
        one, two, three = BROKERS
        target = [two, three] if await self._replicas() != [two, three] else [three, one]

        async def moved() -> bool:
            codes = await self.cluster.alter("fuzzed", {STEADY: target})
            assert set(codes.values()) == {0}, codes
            return True

        await eventually(moved, within=WITHIN_S)
        await eventually(lambda: self._is_at(target), within=WITHIN_S)

    async def _is_at(self, target: Sequence[int]) -> bool:
        return await self._replicas() == target

    async def _replicas(self) -> list[int]:
        topic, index = STEADY
        data, _ = await self.zk.get(znode_paths.topic(topic))
        return list(json.loads(data)["partitions"][str(index)])


@asynccontextmanager
async def site(directory: Path, *options: str) -> AsyncIterator[Site]:
    """`options` of the server besides those that it needs here."""
    async with (
        EmbeddedZooKeeper(directory / "zookeeper", settings={"maxClientCnxns": "0"}) as zookeeper,
        ZooKeeper(zookeeper.address) as root,
    ):
        await root.ensure_path("/fuzz")
        connect = f"{zookeeper.address}/fuzz"
        async with ZooKeeper(connect) as zk, processes(directory) as group:
            cluster = Cluster(group, zk, connect, directory)
            await cluster.fleet(BROKER_IDS, *TOPICS, session_ms=18_000)
            server = await cluster.server(
                *(
                    "fuzzed",
                    "--metrics-listener",
                    "127.0.0.1:0",
                    "--status-page",
                    "full",
                    "--zookeeper-session-timeout-ms",
                    "18000",
                ),
                *options,
            )
            yield Site(cluster, server)


class Honest:
    """An honest client in its own process. See `tests.fuzz.honest`.

    longest   the longest wait for each kind of request, in seconds
    errors    what went wrong, by text
    reports   how many seconds it has told of
    """

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}
        self.errors: Counter[str] = Counter()
        self.count = self.late = self.reports = 0

    def take(self, line: bytes) -> None:
        """A line of the client's report."""
        report = json.loads(line)
        self.reports += 1
        self.count += report["count"]
        self.late += report["late"]
        self.errors.update(report["errors"])
        for kind, seconds in report["waits"].items():
            self.longest[kind] = max(self.longest.get(kind, 0.0), seconds)

    def __str__(self) -> str:
        waits = ", ".join(f"{kind} {seconds * 1000:.0f} ms" for kind, seconds in sorted(self.longest.items()))
        return f"{self.count} requests of an honest client, {self.late} waited for over 50 ms, longest waits: {waits}"


@asynccontextmanager
async def honest_client(site: Site) -> AsyncIterator[Honest]:
    """Asks until the end of the block."""
    places = ["{}:{}".format(*place) for place in (site.address, site.pages)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fuzz.honest", *places),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found, output = Honest(), process.stdout

    async def read() -> None:
        while line := await output.readline():
            found.take(line)

    reading = asyncio.create_task(read())
    await eventually(lambda: found.count, within=WITHIN_S)
    try:
        yield found
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(reading, WITHIN_S)
            code = await asyncio.wait_for(process.wait(), WITHIN_S)
        except TimeoutError:
            process.kill()
            code = await process.wait()
        if code not in (0, REAPED_BY_OTHERS):
            found.errors[f"the honest client ended with {code}"] += 1
