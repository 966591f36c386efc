"""Two stock brokers with TLS or SASL between them, ACLs, and a ZooKeeper that knows its users and whose znodes only
brokers may write; our servers, which get a broker's own server.properties; and clients of all of them.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata
from kafka.admin import KafkaAdminClient, NewTopic

from kafka_reassign_rpc.core.configs.scram_credentials import credential_text
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.preflight.command import run as run_command
from tests.processes import Process, Processes, processes
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.node_jvm import JVM
from tests.stock.tools import Output
from tests.waiting import eventually

from .mixed_cluster import OUTLIVES_PAUSES, controller
from .zookeeper_users import SECRET, zookeeper_users

STORE_SECRET = "store secret"
BROKERS = (1, 2)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

PropertiesOf = Callable[[Path, Authority], dict[str, str]]
"""Of all brokers, from the directory and who issues certificates. They have two listeners: the one among brokers, and
CLIENT; their ports are 0 at the first start, and then kept."""


class Secured:
    """The cluster, and the properties of its clients."""

    def __init__(self, directory: Path, stock: StockCluster, zk: ZooKeeper, group: Processes, ca: Authority) -> None:
        self.directory = directory
        self.stock = stock
        self.zk = zk
        self.ca = ca
        self.processes = group
        self._files = 0
        self.trust = ca.pem_truststore(directory / "ca.pem")
        self.inter_broker = _inter_broker(stock.brokers[1].properties)
        """The name of the listener among brokers."""

    def login(self, mechanism: str, password: str = SECRET, *, user: str = "admin", **more: str) -> dict[str, str]:
        """The properties of a user, over SASL_SSL."""
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
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
        """The address of a broker's listener."""
        listeners = self.stock.brokers[broker].properties["listeners"]
        return listeners.partition(f"{name}://")[2].partition(",")[0]

    @property
    def internal(self) -> str:
        return ",".join(self.listener(self.inter_broker, broker) for broker in BROKERS)

    async def serve(self, name: str, *options: str, listeners: str = "") -> Process:
        """Start our server; returns once all brokers know that a server of ours is the controller."""
        started = await self.start(name, *options, listeners=listeners)
        await eventually(self.we_are_known, within=60)
        return started

    async def start(self, name: str, *options: str, listeners: str = "") -> Process:
        """Start our server with the settings of broker 1. `listeners`: the one of the brokers where nothing is said."""
        return await self.processes.start(
            name,
            "serve",
            *("--kafka-config", str(self.directory / "1" / "server.properties")),
            *("--java-security-auth-login-config", str(self.directory / "jaas.conf")),
            *("--listeners", listeners or f"{self.inter_broker}://127.0.0.1:0"),
            *OUTLIVES_PAUSES,
            *("--event-log-dir", str(self.directory / f"events-{name}"), *options),
        )

    async def check(self, **changed: str) -> tuple[int, str]:
        """The exit code of `check` with the settings of broker 1, some of them changed, and what it says of principals
        and of super users."""
        self._files += 1
        path = self.directory / f"changed-{self._files}.properties"
        own = (self.directory / "1" / "server.properties").read_text()
        path.write_text(own + "".join(f"{name.replace('_', '.')}={value}\n" for name, value in changed.items()))
        ended = await run_command("check", "--kafka-config", str(path), *self.as_servers(self.inter_broker))
        assert SECRET not in ended.out + ended.err
        lines = (line for line in ended.out.splitlines() if " authorizer: " in line or " super-users: " in line)
        return ended.code, "\n".join(lines)

    def as_servers(self, listener: str) -> Sequence[str]:
        """The flags of a server that does not start."""
        jaas = ("--java-security-auth-login-config", str(self.directory / "jaas.conf"))
        return (*jaas, "--listeners", f"{listener}://127.0.0.1:9")

    async def we_are_known(self) -> bool:
        """Clients ask any node where the controller is: one whom a broker sends to its predecessor is refused."""
        shown = [await asyncio.to_thread(self._metadata, broker) for broker in BROKERS]
        return all(one.controller_id not in (NO_CONTROLLER, *BROKERS) for one in shown)

    async def reassign(self, bootstrap: str, properties: str, *arguments: str) -> Output:
        return await output_of(
            KAFKA_REASSIGN, ["--bootstrap-server", bootstrap, "--command-config", properties, *arguments]
        )

    async def move(self, bootstrap: str, properties: str, targets: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Move partitions by `kafka-reassign`, and wait until that has been done."""
        plan = self.directory / "plan.json"
        moves = [{"topic": topic, "partition": at, "replicas": [*to]} for (topic, at), to in targets.items()]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        file = ("--reassignment-json-file", str(plan))
        started = await self.reassign(bootstrap, properties, *file, "--execute", "--throttle", "100000000")
        assert (started.code, "Successfully started" in started.out) == (0, True), started

        async def is_done() -> bool:
            verified = await self.reassign(bootstrap, properties, *file, "--verify")
            return verified.out.count("is completed") == len(targets)

        await eventually(is_done, within=120)

    async def stock_controls(self) -> bool:
        """Whether a stock broker is the controller, and the metadata of every broker is its."""
        if await self.zk.exists(znode_paths.CONTROLLER) is None or await controller(self.zk) not in BROKERS:
            return False
        by_broker = [await asyncio.to_thread(self._known_nodes, broker) for broker in BROKERS]
        return all(known == set(BROKERS) for known in by_broker)

    def _known_nodes(self, broker: int) -> set[int]:
        """The nodes that one broker knows; ours is among them until a stock controller has told it of the live ones."""
        return set(self._metadata(broker).brokers)

    async def knows(self, broker: int, topic: str) -> bool:
        """Whether a broker shows a topic with a leader for each partition. One that has just started shows a part."""
        try:
            found = (await asyncio.to_thread(self._metadata, broker)).topics.get(topic)
        except KafkaException:
            return False
        return found is not None and all(one.leader > 0 for one in found.partitions.values())

    def _metadata(self, broker: int) -> ClusterMetadata:
        """As a broker tells it at the listener among brokers."""
        configs = self.librdkafka("PLAIN", broker, self.inter_broker)
        if f"{self.inter_broker}:SSL" in self.stock.brokers[broker].properties["listener.security.protocol.map"]:
            own = self.certificate()["ssl.keystore.location"]
            configs |= {"security.protocol": "SSL", "ssl.certificate.location": own, "ssl.key.location": own}
        return AdminClient(configs).list_topics(timeout=30)

    def librdkafka(self, mechanism: str, broker: int = 1, listener: str = "CLIENT") -> dict[str, str | int]:
        """The configs of librdkafka for the user admin."""
        return {
            "bootstrap.servers": self.listener(listener, broker),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": "admin",
            "sasl.password": SECRET,
            "ssl.ca.location": self.trust["ssl.truststore.location"],
            "log_level": 0,
        }

    def produce(self, topic: str, count: int, more: bytes = b"") -> None:
        """Records 0 to `count` to partitions 0 and 1, in small batches: a first fetch brings a whole one. `more`: what
        each has besides its number. Blocks."""
        producer = Producer({**self.librdkafka("SCRAM-SHA-512"), "acks": "all", "batch.size": 8_192})
        for number in range(count):
            producer.produce(topic, b"%d" % number + more, partition=number % 2)
        assert producer.flush(60) == 0

    def consume(self, topic: str, count: int) -> set[bytes]:
        """The records of partitions 0 and 1, at most after a minute. Blocks."""
        consumer = Consumer({**self.librdkafka("PLAIN"), "group.id": "g", "auto.offset.reset": "earliest"})
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


NO_CONTROLLER = -1
"""As Metadata says it."""


def _inter_broker(properties: Mapping[str, str]) -> str:
    """KafkaConfig.interBrokerListenerName."""
    return properties.get("inter.broker.listener.name") or properties["security.inter.broker.protocol"]


def create_topic(configs: dict[str, object], name: str) -> None:
    """Two partitions with one replica each. Blocks."""
    admin = KafkaAdminClient(**configs)
    try:
        admin.create_topics([NewTopic(name=name, num_partitions=-1, replica_assignments={0: [1], 1: [2]})])
    finally:
        admin.close()


def delete_topic(configs: dict[str, object], name: str) -> None:
    admin = KafkaAdminClient(**configs)
    try:
        admin.delete_topics([name])
    finally:
        admin.close()


def common_properties(directory: Path, ca: Authority) -> dict[str, str]:
    """What brokers of every kind have: stores, the listener CLIENT for the user admin, ACLs on topics and znodes."""
    users = f'{PLAIN} required username="x" password="y" user_admin="{SECRET}";'
    return {
        **ca.issue("CN=kafka").pkcs12_keystore(directory / "broker.p12", STORE_SECRET),
        **ca.pem_truststore(directory / "ca.pem"),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.client.plain.sasl.jaas.config": users,
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "zookeeper.set.acl": "true",
    }


def scram_config(user: str, password: str = SECRET) -> str:
    """A user's credential as Kafka's tools write it."""
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), b"salt of a user", 4096)
    return credential_text("sha512", 4096, b"salt of a user", salted)


async def only_super_users_are_safe(secured: Secured, principal: str) -> None:
    """The check names the brokers' principal, and is UNSAFE where super.users does not have it."""
    comma = f"User:admin,{principal}"
    (code, said), *others = await asyncio.gather(
        secured.check(), secured.check(super_users=""), secured.check(super_users=comma)
    )
    assert (code, f"OK       authorizer: brokers 1, 2 may do as {principal} what brokers do" in said) == (0, True), said
    come = f"brokers 1, 2 would come as {principal}, who lacks CLUSTER_ACTION"
    slips = ("super.users is empty", f"{comma!r}: it looks like a comma instead of a semicolon")
    for (code, said), slip in zip(others, slips, strict=True):
        assert (code, come in said, "ISRs would freeze" in said, slip in said) == (1, True, True, True), said


async def add_user(zk: ZooKeeper, user: str) -> None:
    """A user of SCRAM with the password SECRET."""
    data = json.dumps({"version": 1, "config": {"SCRAM-SHA-512": scram_config(user)}})
    await zk.create(znode_paths.config(f"users/{user}"), data.encode())


@asynccontextmanager
async def secured_cluster(
    directory: Path, properties_of: PropertiesOf, *, users: Sequence[str] = ("admin",), logins: str = ""
) -> AsyncIterator[Secured]:
    """Everything runs, a stock broker is the controller. The end of the block ends it all.

    users    have SCRAM credentials in ZooKeeper, with the password SECRET
    logins   more sections of the file of logins
    """
    require(BROKER_VERSION)
    known = zookeeper_users(directory, logins)
    ca = Authority("CN=ca")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(
            EmbeddedZooKeeper(directory / "zookeeper", jvm=known.jvm, settings=known.settings)
        )
        zk = await stack.enter_async_context(ZooKeeper(f"{zookeeper.address}/kafka", access=known.access))
        await zk.ensure_path("/config/users")
        for user in users:
            await add_user(zk, user)
        stock = StockCluster(f"{zookeeper.address}/kafka", directory, BROKERS, overrides=properties_of(directory, ca))
        for broker in stock.brokers.values():
            broker.jvm = (*JVM, known.login)
        stack.push_async_callback(stock.kill)
        group = await stack.enter_async_context(processes(directory))
        await stock.start()
        for broker in stock.brokers.values():
            registered = json.loads((await zk.get(znode_paths.broker(broker.id)))[0])
            broker.properties["listeners"] = ",".join(registered["endpoints"])
        yield Secured(directory, stock, zk, group, ca)
