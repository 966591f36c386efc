"""The processes of a fuzz: ZooKeeper, simulated brokers, the server under test; and honest clients."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from joserfc.jwk import KeySet, RSAKey

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Address, Cluster, address_of
from tests.fuzz import tokens
from tests.fuzz.messages import BROKERS
from tests.http_client import get
from tests.processes import Process, processes
from tests.security.sasl_steps import HASHES, as_config, scram_credential
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

BROKER_IDS = ",".join(map(str, BROKERS))
STEADY = ("steady", 0)
TOPICS = ("steady:3:2:1000", "fuzz-0:2:2:1000")
SESSION_MS = 3_600_000
PROPERTIES = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(tokens.MECHANISMS),
    "listener.name.sasl.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required"
    f' user_{tokens.USER}="{tokens.PASSWORD}";',
    "connections.max.reauth.ms": str(SESSION_MS),
    "connection.failed.authentication.delay.ms": "10",
}
WITHIN_S = 120.0
REAPED_BY_OTHERS = 255
"""What asyncio says of a process whose exit code somebody else has taken."""


class Site:
    """One server and what it needs.

    pages     where the server has its pages for monitoring
    secured   a listener with SASL, on which sessions end after SESSION_MS
    """

    def __init__(self, cluster: Cluster, server: Process, secured: Address) -> None:
        self.cluster = cluster
        self.server = server
        self.address = address_of(server.ready_value("bootstrap"))
        self.pages: Address = address_of(server.ready_value("metrics"))
        self.secured = secured

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
        for disabling in (znode_paths.REASSIGN_CANCEL, znode_paths.SETTINGS):  # garbage in the latter disables, too
            with suppress(Exception):
                await delete_tree(self.zk, disabling)
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
            for name, password in (("alice", tokens.PASSWORD), ("bob", "bob-secret")):
                config = {one: as_config(scram_credential(one, password)) for one in HASHES}
                await zk.ensure_path(znode_paths.config_type("users"))
                await zk.create(
                    znode_paths.config(f"users/{name}"), json.dumps({"version": 1, "config": config}).encode()
                )
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
                *("--kafka-config", str(_secured(directory)), "--listeners", PROPERTIES["listeners"]),
                *options,
            )
            yield Site(cluster, server, await _address(zk, "SASL"))


def _secured(directory: Path) -> Path:
    """The properties of a server with SASL, and what they name."""
    jwks = directory / "jwks.json"
    jwks.write_text(json.dumps(KeySet([RSAKey.generate_key(2048, {"kid": "rsa"})]).as_dict(private=False)))
    (directory / "users.toml").write_text(f'bob = "{hashed_line("bob-secret", 4096)}"')
    more = {
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{jwks}",
        "listener.name.sasl.sasl.plain.users.file": str(directory / "users.toml"),
    }
    path = directory / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in (PROPERTIES | more).items()))
    return path


async def _address(zk: ZooKeeper, listener: str) -> Address:
    """Of the controller."""
    found: dict[str, Address] = {}

    async def is_known() -> bool:
        owner = await controller_election.owner(zk)
        found.update({one.listener: (one.host, one.port) for one in (owner.endpoints if owner else ())})
        return listener in found

    await eventually(is_known, within=WITHIN_S)
    return found[listener]


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
