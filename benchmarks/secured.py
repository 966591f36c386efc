"""Secured listeners beside those of a stock broker 3.9.1: new connections by TLS and SCRAM, small requests over TLS.

python -m benchmarks secured [--quick]
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import frames
from benchmarks.client import Address, Latencies, Wire, small_requests
from benchmarks.pairs import Node, alternating, pair
from benchmarks.scram_wire import Credentials, log_in
from benchmarks.tables import duration, show
from kafka_reassign_rpc.core.configs.scram_credentials import credential_text
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority

ROUNDS, SECONDS = 3, 4.0
QUICK_S = 0.5
CLIENTS = 8
"""Threads that connect; each opens one connection at a time."""
DEPTHS = (1, 16, 64)
BEGINNINGS = ("TLS", "TLS, client certificate", "SCRAM-SHA-512", "TLS and SCRAM-SHA-512")
LISTENERS = {"PLAINTEXT": "PLAINTEXT", "TLS": "SSL", "MTLS": "SSL", "SASL": "SASL_PLAINTEXT", "SASLTLS": "SASL_SSL"}
HEAD = ("", "per second", "p50", "p99", "stock per second", "p50", "p99", "ratio")
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Client(NamedTuple):
    """What a client needs: TLS contexts without and with a certificate, and a user's credentials."""

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
    files = directory / "secured-files"
    files.mkdir()
    ca = Authority("CN=ca")
    client = _client(ca, files)
    measures: dict[str, Measure] = {
        f"connections: {name}": partial(_connections, client, listener)
        for name, listener in zip(BEGINNINGS, ("TLS", "MTLS", "SASL", "SASLTLS"), strict=True)
    }
    for depth in DEPTHS:
        measures[f"requests over TLS, {depth} in flight"] = partial(_requests, client, depth)
    properties, prepare = _properties(ca, files), partial(_put_user, user=client.user)
    async with pair(zookeeper, directory / "secured", properties, prepare) as nodes:
        rows = [await asyncio.to_thread(_row, name, measure, nodes, seconds) for name, measure in measures.items()]
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


async def _put_user(zk: ZooKeeper, user: Credentials) -> None:
    value = credential_text("sha512", user.iterations, user.salt, user.salted)
    await zk.ensure_path(znode_paths.config_type("users"))
    await zk.create(
        znode_paths.config(f"users/{user.name}"),
        json.dumps({"version": 1, "config": {"SCRAM-SHA-512": value}}).encode(),
    )


def _row(name: str, measure: Measure, nodes: tuple[Node, Node], seconds: float) -> list[str]:
    rounds = alternating(lambda node: measure(node, seconds), nodes, ROUNDS)
    found = [[both[which] for both in rounds] for which in (0, 1)]
    middles = [sorted(of_one, key=lambda one: one.per_second)[len(of_one) // 2] for of_one in found]
    print(f"  {name}: {[f'{one.per_second:,.0f}' for of_one in found for one in of_one]}", flush=True)
    cells = [
        text
        for one in middles
        for text in (f"{one.per_second:,.0f}", duration(one.percentile(50)), duration(one.percentile(99)))
    ]
    return [name, *cells, f"{middles[0].per_second / middles[1].per_second:.2f}x"]


def _connections(client: Client, listener: str, node: Node, seconds: float) -> Latencies:
    """Seconds of each connection, from its start to the answer to its first request."""
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
