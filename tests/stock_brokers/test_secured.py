"""A secured stock cluster under our controller: mTLS among brokers, SASL_SSL for clients, ACLs, and a ZooKeeper that
knows its users and whose znodes only brokers may write. The server gets a broker's own server.properties.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient, NewTopic

from kafka_reassign_rpc.client import ReassignmentClient, client_configs
from kafka_reassign_rpc.core.scram_credentials import Upsertion, credential
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.embedded_zookeeper.java import QUICK_START
from kafka_reassign_rpc.embedded_zookeeper.zookeeper_process import free_ports
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.zookeeper_login import DIGEST_MODULE, zookeeper_login
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.znode_acls import secured as acl_of
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.processes import Process, Processes, processes
from tests.stock.cluster import JVM, StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Output
from tests.waiting import eventually

from .mixed_cluster import controller

pytestmark = [
    pytest.mark.stock,
    pytest.mark.stock_live,
    pytest.mark.asyncio(loop_scope="module"),
]

SECRET = "correct, horse=battery"
BROKERS = (1, 2)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
MINE, ALL_READ = AclEntry(31, "sasl", "kafka"), AclEntry(1, "world", "anyone")


class Secured:
    """The cluster, and the properties of its clients."""

    def __init__(self, directory: Path, stock: StockCluster, zk: ZooKeeper, group: Processes, ca: Authority) -> None:
        self.directory = directory
        self.stock = stock
        self.zk = zk
        self.ca = ca
        self._group = group
        self.trust = ca.pem_truststore(directory / "ca.pem")

    def login(self, mechanism: str, password: str = SECRET, **more: str) -> dict[str, str]:
        """The properties of the user admin, over SASL_SSL."""
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="admin" password="{password}";',
            **self.trust,
            **more,
        }

    def certificate(self, name: str = "kafka") -> dict[str, str]:
        """The properties of a client with a certificate."""
        store = self.ca.issue(f"CN={name}").pem_keystore(self.directory / f"{name}.pem")
        return {"security.protocol": "SSL", **store, **self.trust}

    def file(self, name: str, properties: Mapping[str, str]) -> str:
        path = self.directory / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return str(path)

    def listener(self, name: str, broker: int) -> str:
        """The address of a broker's listener: INTERNAL over mTLS, CLIENT over SASL_SSL."""
        listeners = self.stock.brokers[broker].properties["listeners"]
        return listeners.partition(f"{name}://")[2].partition(",")[0]

    @property
    def internal(self) -> str:
        return ",".join(self.listener("INTERNAL", broker) for broker in BROKERS)

    async def serve(self, name: str, *options: str) -> Process:
        """Start our server with the settings of broker 1."""
        return await self._group.start(
            name,
            "serve",
            *("--kafka-config", str(self.directory / "1" / "server.properties")),
            *("--java-security-auth-login-config", str(self.directory / "jaas.conf")),
            *("--listeners", "INTERNAL://127.0.0.1:0", "--zookeeper-session-timeout-ms", "4000"),
            *("--event-log-dir", str(self.directory / f"events-{name}"), *options),
        )

    async def reassign(self, bootstrap: str, properties: str, *arguments: str) -> Output:
        return await output_of(
            KAFKA_REASSIGN, ["--bootstrap-server", bootstrap, "--command-config", properties, *arguments]
        )


def broker_properties(directory: Path, ca: Authority, ports: list[int]) -> dict[str, str]:
    """Of one broker, whose certificate names User:CN=kafka."""
    store = ca.issue("CN=kafka").pkcs12_keystore(directory / "broker.p12", "store secret")
    users = f'{PLAIN} required username="x" password="y" user_admin="{SECRET}";'
    return {
        **store,
        **ca.pem_truststore(directory / "ca.pem"),
        "ssl.client.auth": "required",
        "listeners": "INTERNAL://127.0.0.1:{},CLIENT://127.0.0.1:{}".format(*ports),
        "listener.security.protocol.map": "INTERNAL:SSL,CLIENT:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.client.plain.sasl.jaas.config": users,
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:CN=kafka;User:admin",
        "zookeeper.set.acl": "true",
    }


def scram_znode() -> bytes:
    salted = hashlib.pbkdf2_hmac("sha512", SECRET.encode(), b"salt of admin", 4096)
    value = credential(Upsertion("admin", 2, 4096, b"salt of admin", salted))
    return json.dumps({"version": 1, "config": {"SCRAM-SHA-512": value}}).encode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("secured")
    jaas = directory / "jaas.conf"
    users, own = f'user_kafka="{SECRET}"', f'username="kafka" password="{SECRET}"'
    sections = {"Server": users, "Client": own}
    jaas.write_text("".join(f"{name} {{ {DIGEST_MODULE} required {sections[name]}; }};\n" for name in sections))
    login = f"-Djava.security.auth.login.config={jaas}"
    provider = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
    ca = Authority("CN=ca")
    entry = JaasEntry(DIGEST_MODULE, {"username": "kafka", "password": SECRET})
    access = Access(sasl=zookeeper_login(entry, "Client"), acl_of=acl_of)
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(
            EmbeddedZooKeeper(directory / "zookeeper", jvm=(*QUICK_START, login), settings=provider)
        )
        zk = await stack.enter_async_context(ZooKeeper(f"{zookeeper.address}/kafka", access=access))
        await zk.ensure_path("/config/users")
        await zk.create("/config/users/admin", scram_znode())
        with free_ports("127.0.0.1", 4) as ports:
            pass
        of_each = {
            broker: broker_properties(directory, ca, ports[2 * index : 2 * index + 2])
            for index, broker in enumerate(BROKERS)
        }
        stock = StockCluster(f"{zookeeper.address}/kafka", directory, BROKERS, per_broker=of_each)
        for broker in stock.brokers.values():
            broker.jvm = (*JVM, login)
        stack.push_async_callback(stock.kill)
        group = await stack.enter_async_context(processes(directory))
        await stock.start()
        yield Secured(directory, stock, zk, group, ca)


def create_topic(configs: dict[str, object], name: str) -> None:
    admin = KafkaAdminClient(**configs)
    try:
        admin.create_topics([NewTopic(name=name, num_partitions=-1, replica_assignments={0: [1], 1: [2]})])
    finally:
        admin.close()


def through_brokers(secured: Secured, mechanism: str) -> dict[str, str | int]:
    """The configs of librdkafka for the user admin."""
    return {
        "bootstrap.servers": secured.listener("CLIENT", 1),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": "admin",
        "sasl.password": SECRET,
        "ssl.ca.location": secured.trust["ssl.truststore.location"],
        "log_level": 0,
    }


def produce(secured: Secured, topic: str, count: int) -> None:
    producer = Producer({**through_brokers(secured, "SCRAM-SHA-512"), "acks": "all"})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(60) == 0


def consume(secured: Secured, topic: str, count: int) -> set[bytes]:
    consumer = Consumer({**through_brokers(secured, "PLAIN"), "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, index, 0) for index in (0, 1)])
    found: set[bytes] = set()
    try:
        for _ in range(60):
            found |= {record.value() for record in consumer.consume(count, timeout=1) if record.error() is None}
            if len(found) == count:
                break
    finally:
        consumer.close()
    return found


async def test_sv_5_a_secured_stock_cluster_runs_under_our_controller_and_goes_back(secured: Secured) -> None:
    server = await secured.serve("server")
    assert await controller(secured.zk) == 1000
    ours = server.ready_value("bootstrap")
    certificate = secured.file("certificate", secured.certificate())
    configs = client_configs(ours, secured.certificate())

    await asyncio.to_thread(create_topic, configs, "t")
    await asyncio.to_thread(produce, secured, "t", 100)
    plan = secured.directory / "plan.json"
    moves = [{"topic": "t", "partition": index, "replicas": [2 - index]} for index in (0, 1)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    file = ("--reassignment-json-file", str(plan))
    started = await secured.reassign(ours, certificate, *file, "--execute", "--throttle", "100000000")
    assert (started.code, "Successfully started" in started.out) == (0, True), started

    async def is_done() -> bool:
        verified = await secured.reassign(ours, certificate, *file, "--verify")
        return verified.out.count("is completed") == 2

    await eventually(is_done, within=60)
    assert await asyncio.to_thread(consume, secured, "t", 100) == {b"%d" % number for number in range(100)}

    for path in (znode_paths.topic("t"), znode_paths.partition_state("t", 0), znode_paths.REASSIGNMENTS):
        assert await secured.zk.acl(path) == [MINE, ALL_READ], path
    assert await secured.zk.acl(znode_paths.config_type("brokers")) == [MINE]
    assert "does not take this server" not in server.log
    for secret in (SECRET, "store secret", "battery"):
        assert secret not in server.log

    assert await server.stop() == 0
    await eventually(lambda: stock_controls(secured), within=60)
    await asyncio.to_thread(delete_topic, client_configs(secured.internal, secured.certificate()), "t")

    async def is_deleted() -> bool:
        return await secured.zk.exists(znode_paths.topic("t")) is None

    await eventually(is_deleted, within=60)


def delete_topic(configs: dict[str, object], name: str) -> None:
    admin = KafkaAdminClient(**configs)
    try:
        admin.delete_topics([name])
    finally:
        admin.close()


async def stock_controls(secured: Secured) -> bool:
    """Whether a stock broker is the controller, and the metadata of every broker is its."""
    if await secured.zk.exists(znode_paths.CONTROLLER) is None or await controller(secured.zk) not in BROKERS:
        return False
    by_broker = [await asyncio.to_thread(known_nodes, secured, broker) for broker in BROKERS]
    return all(known == set(BROKERS) for known in by_broker)


def known_nodes(secured: Secured, broker: int) -> set[int]:
    """The nodes that one broker knows; ours is among them until a stock controller has told it of the live brokers."""
    own = secured.certificate()["ssl.keystore.location"]
    asked = {
        "bootstrap.servers": secured.listener("INTERNAL", broker),
        "security.protocol": "ssl",
        "ssl.ca.location": secured.trust["ssl.truststore.location"],
        "ssl.certificate.location": own,
        "ssl.key.location": own,
        "log_level": 0,
    }
    return set(AdminClient(asked).list_topics(timeout=30).brokers)


async def test_sv_5_our_clients_reach_stock_brokers_by_every_login(secured: Secured) -> None:
    by_certificate = client_configs(secured.internal, secured.certificate())
    for bootstrap, configs in (
        (secured.internal, by_certificate),
        (secured.listener("CLIENT", 1), client_configs(secured.listener("CLIENT", 1), secured.login("PLAIN"))),
        (secured.listener("CLIENT", 2), client_configs(secured.listener("CLIENT", 2), secured.login("SCRAM-SHA-512"))),
    ):
        assert await asyncio.to_thread(nodes, configs) == set(BROKERS), bootstrap
    listed = await secured.reassign(
        secured.listener("CLIENT", 1), secured.file("scram", secured.login("SCRAM-SHA-512")), "--list"
    )
    assert (listed.code, listed.out) == (0, "No partition reassignments found.\n")


def nodes(configs: dict[str, object]) -> set[int]:
    with ReassignmentClient(**configs) as client:
        return {node.id for node in client.describe_cluster()}


async def test_sv_5_a_wrong_password_and_a_wrong_authority_are_said_without_secrets(secured: Secured) -> None:
    strange = Authority("CN=strange").pem_truststore(secured.directory / "strange.pem")
    cases = {
        "plain": (secured.login("PLAIN", "wr0ng"), "Authentication failed: Invalid username or password"),
        "scram": (secured.login("SCRAM-SHA-512", "wr0ng"), "Authentication failed"),
        "authority": (secured.login("PLAIN", **strange), "certificate"),
    }
    for name, (properties, text) in cases.items():
        soon = {"default.api.timeout.ms": "30000", "request.timeout.ms": "30000"}
        said = await secured.reassign(
            secured.listener("CLIENT", 1), secured.file(name, {**properties, **soon}), "--list"
        )
        assert said.code == 1, name
        assert text.lower() in (said.out + said.err).lower(), (name, said)
        assert "wr0ng" not in said.out + said.err
        assert SECRET not in said.out + said.err


async def test_sv_5_a_server_without_the_right_says_so_once(secured: Secured) -> None:
    stranger = secured.certificate("stranger")
    toml = secured.directory / "stranger.toml"
    names = ("ssl.keystore.location", "ssl.keystore.type", "ssl.keystore.password")
    found = {**stranger, "ssl.keystore.password": ""}
    toml.write_text("".join(f'"{name}" = "{found[name]}"\n' for name in names if found[name]))
    properties = dict(secured.stock.brokers[1].properties)
    properties = {name: value for name, value in properties.items() if not name.startswith("ssl.keystore")}
    server = await secured.serve(
        "stranger", "--kafka-config", secured.file("without", properties), "--config", str(toml)
    )
    for broker in secured.stock.brokers.values():
        text = f"broker {broker.id} does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED)"
        await eventually(lambda text=text: text in server.log, within=30)  # type: ignore[misc]
    await asyncio.sleep(2.5)  # it goes on trying every second
    assert server.log.count("CLUSTER_AUTHORIZATION_FAILED") == len(BROKERS)
    assert await server.stop() == 0
    await eventually(lambda: stock_controls(secured), within=60)
