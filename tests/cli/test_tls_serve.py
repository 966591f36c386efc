"""`serve` with TLS, as a process: real clients of other makers, what they are answered, and no secret anywhere."""

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import PASSWORD, Authority, Issued
from tests.faults.cluster import alter_request
from tests.processes import Process, Processes
from tests.raw_client import Client
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

LISTENERS = "EXTERNAL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"
ADVERTISED = "PLAINTEXT://127.0.0.1:0,EXTERNAL://localhost:0"


class TlsServer:
    """A server with the listeners PLAINTEXT and EXTERNAL (SSL, with certificates of clients)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = Authority("CN=ca")
        self.alice = self.ca.issue("CN=alice,OU=ops,O=Acme\\, Inc.")
        self.process: Process
        self.port = 0
        self.bootstrap = ""
        self.endpoints: Sequence[Endpoint] = ()

    @property
    def trust(self) -> dict[str, str]:
        return self.ca.pem_truststore(self.folder / "ca.pem")

    def client_properties(self, own: Issued | None = None) -> dict[str, str]:
        return {**self.trust, **(own or self.alice).pkcs12_keystore(self.folder / "alice.p12")}

    def client_context(self, own: Issued | None = None) -> ssl.SSLContext:
        return TlsConfig.of(self.client_properties(own)).load_client().context

    async def start(self, commands: Processes, zk_connect: str, *arguments: str) -> None:
        properties = {
            "zookeeper.connect": zk_connect,
            "broker.id": "1",
            "listeners": "EXTERNAL://:1",
            "listener.security.protocol.map": "EXTERNAL:SSL,PLAINTEXT:PLAINTEXT",
            "ssl.client.auth": "required",
            **self.trust,
            **{
                f"listener.name.external.{name}": value
                for name, value in self.ca.issue("CN=server").pkcs12_keystore(self.folder / "server.p12").items()
            },
        }
        path = self.folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        self.process = await commands.start(
            "serve", "serve", "--kafka-config", str(path), "--listeners", LISTENERS, "--advertised-listeners",
            ADVERTISED, "--data-dir", str(self.folder / "data"), "--log-level", "DEBUG", *arguments,
        )  # fmt: skip
        self.bootstrap = self.process.ready_value("bootstrap")
        self.port = int(self.bootstrap.rpartition(":")[2])
        async with ZooKeeper(zk_connect) as zk:
            owner = await controller_election.owner(zk)
            assert owner is not None
            self.endpoints = owner.endpoints

    async def connect(self, *, tls: bool = True) -> Client:
        if tls:
            reader, writer = await asyncio.open_connection("localhost", self.port, ssl=self.client_context())
        else:
            (plain,) = (one.port for one in self.endpoints if one.listener == "PLAINTEXT")
            reader, writer = await asyncio.open_connection("127.0.0.1", plain)
        return Client(reader, writer)

    def events(self) -> list[Any]:
        """What the event log has."""
        files = sorted((self.folder / "data").glob("events-*/*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest_asyncio.fixture
async def server(tmp_path: Path, commands: Processes, zk_connect: str) -> TlsServer:
    made = TlsServer(tmp_path)
    await made.start(commands, zk_connect)
    return made


def no_secret_in(text: str) -> bool:
    return PASSWORD not in text and "PRIVATE KEY" not in text


async def test_sv_5_clients_of_each_listener_get_its_addresses(server: TlsServer, zk_connect: str) -> None:
    """Of this server, and of brokers whose listeners have the same name or the same protocol."""
    brokers = {
        1: [Endpoint("PLAINTEXT", "PLAINTEXT", "b1", 1), Endpoint("EXTERNAL", "SSL", "b1", 2)],
        2: [Endpoint("PLAINTEXT", "PLAINTEXT", "b2", 1), Endpoint("SECURE", "SSL", "b2", 2)],
        3: [Endpoint("PLAINTEXT", "PLAINTEXT", "b3", 1)],
    }
    async with ZooKeeper(zk_connect) as zk:
        for broker, endpoints in brokers.items():
            await zk.create(znode_paths.broker(broker), encode_broker(endpoints, 1), ephemeral=True)
        for tls, ports in ((True, {1: 2, 2: 2, 3: 1}), (False, {1: 1, 2: 1, 3: 1})):
            own = ("localhost", server.port) if tls else next(
                (one.host, one.port) for one in server.endpoints if one.listener == "PLAINTEXT"
            )  # fmt: skip
            wanted = {1000: own, **{broker: (f"b{broker}", port) for broker, port in ports.items()}}
            client = await server.connect(tls=tls)

            async def nodes(client: Client = client) -> dict[int, tuple[str, int]]:
                answer = await client.call(MetadataRequest(topics=[]), 8)
                return {one.node_id: (one.host, one.port) for one in answer.brokers}

            async def seen(wanted: Mapping[int, tuple[str, int]] = wanted) -> bool:
                return await nodes() == wanted

            await eventually(seen)
            described = await client.call(DescribeClusterRequest(include_cluster_authorized_operations=False), 0)
            assert {one.broker_id: (one.host, one.port) for one in described.brokers} == wanted
            await client.close()


async def test_sv_5_kafka_python_and_librdkafka_work_by_mutual_tls_and_events_name_them(server: TlsServer) -> None:
    def by_kafka_python() -> None:
        admin = KafkaAdminClient(
            bootstrap_servers=server.bootstrap, security_protocol="SSL", ssl_context=server.client_context()
        )
        try:
            assert admin.describe_cluster()["controller_id"] == 1000
        finally:
            admin.close()

    def by_librdkafka() -> None:
        admin = AdminClient(
            {
                "bootstrap.servers": server.bootstrap,
                "security.protocol": "SSL",
                "ssl.ca.pem": server.ca.own.certificates_pem,
                "ssl.certificate.pem": server.alice.certificates_pem,
                "ssl.key.pem": server.alice.key_pem(),
                "log_level": 0,
            }
        )
        assert admin.list_topics(timeout=30).controller_id == 1000
        (future,) = admin.create_topics([NewTopic("t", 1, 1)], request_timeout=30).values()
        with pytest.raises(KafkaException):
            future.result()  # there are no brokers

    await asyncio.to_thread(by_kafka_python)
    await asyncio.to_thread(by_librdkafka)
    client = await server.connect()
    answer = await client.call(alter_request({("t", 0): (1, 2)}), 0)
    assert answer.responses[0].partitions[0].error_code
    await client.close()
    await eventually(lambda: [one for one in server.events() if one["event"] == "move.refused"])
    (refused,) = (one for one in server.events() if one["event"] == "move.refused")
    assert refused["principal"] == "User:CN=alice,OU=ops,O=Acme\\, Inc."
    assert (refused["listener"], refused["address"]) == ("EXTERNAL", "127.0.0.1")


async def test_sv_5_secrets_show_nowhere(server: TlsServer, tmp_path: Path) -> None:
    await (await server.connect()).close()
    stranger = Authority("CN=ca").issue("CN=alice").pkcs12_keystore(tmp_path / "stranger.p12")
    context = TlsConfig.of({**stranger, **server.trust}).load_client().context
    reader, writer = await asyncio.open_connection("localhost", server.port, ssl=context)
    with suppress(ssl.SSLError, ConnectionError):
        assert await reader.read() == b""
    writer.close()
    process = Path("/proc") / str(server.process.pid)
    shown = [(process / name).read_text() for name in ("cmdline", "environ")]
    assert await server.process.stop() == 0
    assert "closed without TLS: the client's certificate" in server.process.log
    shown += [server.process.log, json.dumps(server.events()), (await server.process.rest_of_output()).decode()]
    assert all(map(no_secret_in, shown))
    assert "Traceback" not in server.process.log


@pytest.mark.gate
@pytest.mark.stock
async def test_sv_5_the_stock_tool_works_by_mutual_tls_and_not_without(server: TlsServer) -> None:
    require(BROKER_VERSION)
    good = {"security.protocol": "SSL", **server.client_properties()}
    stranger = Authority("CN=ca").issue("CN=alice").pkcs12_keystore(server.folder / "stranger.p12")
    with Tools(BROKER_VERSION) as tools:

        async def run(properties: Mapping[str, str]) -> Output:
            path = server.folder / "client.properties"
            lines = "".join(f"{name}={value}\n" for name, value in properties.items())
            path.write_text(lines + "default.api.timeout.ms=8000\nrequest.timeout.ms=4000\n")
            return await tools.run(
                "reassign-partitions", "--bootstrap-server", server.bootstrap, "--command-config", str(path), "--list"
            )  # fmt: skip

        listed = await run(good)
        assert (listed.code, listed.lines) == (0, ["No partition reassignments found."])
        for bad in (
            {**good, **stranger},
            {"security.protocol": "PLAINTEXT"},
            {"security.protocol": "SSL", **server.trust},
        ):
            assert (await run(bad)).code != 0
