"""Secured listeners beside those of a stock broker 3.9.1: new connections by TLS and SCRAM, small requests over TLS.

Both nodes run throughout with the same properties, each the controller of an empty cluster of its own; one of them is
measured at a time, and rounds alternate in who begins, after one that does not count.

python -m benchmarks secured [--quick]
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Latencies, Wire, small_requests
from benchmarks.cluster import SERVER_ID, STOCK_ID, Server, Stock, controlling
from benchmarks.scram_wire import Credentials, log_in
from benchmarks.tables import duration, show
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.scram_credentials import credential_text
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.stock.process import LoggedProcess

ROUNDS, SECONDS = 3, 4.0
WARM_UP_S = 5.0
QUICK_S = 0.5
CLIENTS = 8
"""Threads that connect, one connection at a time each."""
DEPTHS = (1, 16, 64)
BEGINNINGS = ("TLS", "TLS, client certificate", "SCRAM-SHA-512", "TLS and SCRAM-SHA-512")
LISTENERS = {"PLAINTEXT": "PLAINTEXT", "TLS": "SSL", "MTLS": "SSL", "SASL": "SASL_PLAINTEXT", "SASLTLS": "SASL_SSL"}
HEAD = ("", "per second", "p50", "p99", "stock per second", "p50", "p99", "ratio")
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Node(NamedTuple):
    """Where a node listens, by listener."""

    at: dict[str, Address]


class Client(NamedTuple):
    """What clients need: contexts of TLS without and with a certificate, and a user's credentials."""

    trusting: ssl.SSLContext
    certified: ssl.SSLContext
    user: Credentials

    def connect(self, listener: str, address: Address, timeout: float = 60.0) -> Wire:
        """A connection that is ready for requests."""
        tls = {"TLS": self.trusting, "SASLTLS": self.trusting, "MTLS": self.certified}.get(listener)
        wire = Wire(address, timeout, tls)
        if listener.startswith("SASL"):
            log_in(wire, self.user)
        return wire


Measure = Callable[[Node, float], Latencies]


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    seconds = QUICK_S if quick else SECONDS
    home = directory / "secured"
    home.mkdir()
    ca = Authority("CN=ca")
    client = _client(ca, home)
    measures: dict[str, Measure] = {
        f"connections: {name}": partial(_connections, client, listener)
        for name, listener in zip(BEGINNINGS, ("TLS", "MTLS", "SASL", "SASLTLS"), strict=True)
    }
    for depth in DEPTHS:
        measures[f"requests over TLS, {depth} in flight"] = partial(_requests, client, depth)
    async with _nodes(zookeeper, home, ca, client.user) as (ours, stock):
        rows = [
            await asyncio.to_thread(_row, name, measure, ours, stock, seconds) for name, measure in measures.items()
        ]
    return show(
        "secured: new connections with their first answer, and List of nothing on one connection over TLS",
        HEAD,
        rows,
        [
            f"the middle of {ROUNDS} rounds of {seconds:g} s; {CLIENTS} clients connect at a time; TLS 1.3, P-256,",
            "no resumption; this server begins 250 handshakes per second at most, on purpose",
        ],
    )


def _client(ca: Authority, home: Path) -> Client:
    trusted = ca.pem_truststore(home / "trust.pem")["ssl.truststore.location"]
    own = ca.issue("CN=alice").pem_keystore(home / "alice.pem")["ssl.keystore.location"]
    contexts = [ssl.create_default_context(cafile=trusted) for _ in range(2)]
    for context in contexts:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    contexts[1].load_cert_chain(own)
    trusting, certified = contexts
    return Client(trusting, certified, Credentials("alice", "alice secret", b"salt of alice", 4096))


def _properties(ca: Authority, home: Path) -> dict[str, str]:
    return {
        **ca.issue("CN=node").pem_keystore(home / "node.pem"),
        **ca.pem_truststore(home / "trust.pem"),
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.mtls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "listener.name.sasltls.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    }


@asynccontextmanager
async def _nodes(zookeeper: str, home: Path, ca: Authority, user: Credentials) -> AsyncIterator[tuple[Node, Node]]:
    """This server and a stock broker, each a controller. The end of the block ends both."""
    properties = _properties(ca, home)
    file = home / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    value = credential_text("sha512", user.iterations, user.salt, user.salted)
    document = json.dumps({"version": 1, "config": {"SCRAM-SHA-512": value}}).encode()
    async with AsyncExitStack() as stack:
        chroots = [f"{zookeeper}/secured-{name}" for name in ("ours", "stock")]
        zks = [await stack.enter_async_context(ZooKeeper(chroot)) for chroot in chroots]
        for zk in zks:
            await zk.ensure_path(znode_paths.config_type("users"))
            await zk.create(znode_paths.config(f"users/{user.name}"), document)
        listeners = ("--kafka-config", str(file), "--listeners", properties["listeners"])
        server = Server(chroots[0], SERVER_ID, home, *listeners)
        broker = Stock(chroots[1], home, properties)
        stack.push_async_callback(_killed, (server, broker))
        await server.start()
        await broker.start()
        owner = await controller_election.owner(zks[0])
        assert owner is not None
        registered = json.loads((await zks[1].get(znode_paths.broker(STOCK_ID)))[0])["endpoints"]
        ours = Node({one.listener: (one.host, one.port) for one in owner.endpoints})
        stock = Node({text.partition("://")[0]: ("127.0.0.1", int(text.rpartition(":")[2])) for text in registered})
        for node in (ours, stock):
            await controlling(node.at["PLAINTEXT"])
        yield ours, stock


async def _killed(processes: Iterable[LoggedProcess]) -> None:
    for process in processes:
        await process.kill()


def _row(name: str, measure: Measure, ours: Node, stock: Node, seconds: float) -> list[str]:
    found: dict[int, list[Latencies]] = {0: [], 1: []}
    for number in range(ROUNDS + 1):
        for which in (number % 2, 1 - number % 2):
            latencies = measure((ours, stock)[which], seconds if number else min(seconds, WARM_UP_S))
            if number:
                found[which].append(latencies)
    middles = [sorted(rounds, key=lambda one: one.per_second)[len(rounds) // 2] for rounds in found.values()]
    print(f"  {name}: {[f'{one.per_second:,.0f}' for rounds in found.values() for one in rounds]}", flush=True)
    cells = [
        text
        for one in middles
        for text in (f"{one.per_second:,.0f}", duration(one.percentile(50)), duration(one.percentile(99)))
    ]
    return [name, *cells, f"{middles[0].per_second / middles[1].per_second:.2f}x"]


def _connections(client: Client, listener: str, node: Node, seconds: float) -> Latencies:
    """Connections of several clients, from their begin to the answer to their first request."""
    done: list[float] = []
    begun = time.perf_counter()

    def connect() -> None:
        while (at := time.perf_counter()) < begun + seconds:
            with client.connect(listener, node.at[listener]) as wire:
                wire.ask(frames.LIST_NOTHING)
            done.append(time.perf_counter() - at)

    threads = [threading.Thread(target=connect) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Latencies(done, time.perf_counter() - begun)


def _requests(client: Client, depth: int, node: Node, seconds: float) -> Latencies:
    connect = partial(client.connect, "TLS")
    return small_requests(node.at["TLS"], depth, lambda passed: passed < seconds, connect=connect)
