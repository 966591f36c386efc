"""A real KRaft cluster of three brokers, and hand-made truth about it: what was produced, and what lies on disk."""

import asyncio
import json
import threading
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from tests.jvm import QUICK
from tests.stock import class_archives
from tests.stock.jars import classpath
from tests.stock.kraft import KRaftNode, kraft_cluster, start_all
from tests.stock.ports import kept_ports
from tests.stock.tools import MAIN_CLASSES

BROKERS = (1, 2, 3)
RECORD_BYTES = 5_000
CONFIGS = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "500",
    "controller.socket.timeout.ms": "3000",  # brokers wait so long for a controller that is frozen
    "replica.high.watermark.checkpoint.interval.ms": "500",  # writes into each log dir: one that has failed is noticed
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.guests.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_guest="guest-secret";'
    ),
}
GUEST: Mapping[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "guest",
    "sasl_plain_password": "guest-secret",
}
"""Whoever comes by the second listener: a principal without any right."""


class KRaftWorld:
    """`controllers`: the brokers that are voters as well."""

    def __init__(
        self, version: str, folder: Path, controllers: Sequence[int], more: Mapping[int, Mapping[str, str]]
    ) -> None:
        self.version = version
        self.controllers = controllers
        self._folder = folder
        dirs = {one: f"{folder / f'{one}a'},{folder / f'{one}b'}" for one in BROKERS}
        nodes = kraft_cluster(
            folder,
            BROKERS,
            {one: {**CONFIGS, "log.dirs": dirs[one], "metadata.log.dir": str(folder / f"{one}m")} for one in BROKERS},
            controllers=controllers,
            version=version,
        )
        self.nodes: Mapping[int, KRaftNode] = {one.id: one for one in nodes}
        for broker, settings in more.items():
            self.nodes[broker].properties |= settings
        self._of_guests = dict(zip(BROKERS, kept_ports(len(BROKERS)), strict=True))
        for node in nodes:
            node.properties["listeners"] += f",GUESTS://127.0.0.1:{self._of_guests[node.id]}"
            node.properties["listener.security.protocol.map"] += ",GUESTS:SASL_PLAINTEXT"

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{one.port}" for one in self.nodes.values())

    @property
    def bootstrap_of_guests(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._of_guests.values())

    def create(
        self,
        replicas: Mapping[str, Sequence[int]],
        records: int,
        configs: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Topics with one partition each, and as many records in each. Blocks."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        topics = [
            NewTopic(name, 1, replica_assignment=[list(some)], config=dict((configs or {}).get(name, {})))
            for name, some in replicas.items()
        ]
        for created in admin.create_topics(topics, request_timeout=60).values():
            created.result()
        for name in replicas:
            self.produce(name, records)

    def produce(self, topic: str, records: int) -> None:
        """In small batches. Blocks until the leader has them."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "batch.size": 8_192, "acks": 1, "log_level": 0})
        for _ in range(records):
            producer.produce(topic, bytes(RECORD_BYTES), partition=0)
        assert not producer.flush(60)

    @contextmanager
    def producing(self, topic: str) -> Iterator[None]:
        """In a thread of its own, some records again and again."""
        is_over = threading.Event()

        def produce() -> None:
            while not is_over.wait(0.2):
                self.produce(topic, 4)

        thread = threading.Thread(target=produce, name="producer")
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    async def reassign(self, targets: Mapping[str, Sequence[int]], throttle: int) -> None:
        """By the stock tool of this version, in a JVM of its own: `Tools` needs classes that moved in 4.4."""
        plan = self._folder / "plan.json"
        moves = [{"topic": name, "partition": 0, "replicas": list(target)} for name, target in targets.items()]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        tool = [MAIN_CLASSES["reassign-partitions"], "--bootstrap-server", self.bootstrap, "--execute"]
        what = ["--reassignment-json-file", str(plan), "--throttle", str(throttle)]
        jvm = ("java", *QUICK, *class_archives.of_tools(self.version))
        process = await asyncio.create_subprocess_exec(
            *jvm, "-cp", classpath(self.version), *tool, *what, stdout=PIPE, stderr=STDOUT
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out

    def log_dir_of(self, broker: int, topic: str) -> Path:
        """Where the broker has the replica."""
        return next(self._folder.glob(f"{broker}[ab]/{topic}-0")).parent

    def on_disk(self, broker: int, topic: str) -> int:
        """Bytes of the segments of a replica."""
        return sum(one.stat().st_size for one in (self.log_dir_of(broker, topic) / f"{topic}-0").glob("*.log"))

    def allow_guest(self, operation: ACLOperation, resource: ResourceType, name: str) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            found = admin.create_acls(
                [ACL("User:guest", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(resource, name))]
            )
            assert not found["failed"], found
        finally:
            admin.close()

    def move_to_another_port(self, broker: int) -> None:
        """At its next start."""
        node, [port] = self.nodes[broker], kept_ports(1)
        node.properties["listeners"] = node.properties["listeners"].replace(str(node.port), str(port), 1)
        node.port = port

    def replaced(self) -> KRaftNode:
        """Another cluster, of one node, at the address of the first one."""
        [node] = kraft_cluster(self._folder / "other", (1,), version=self.version)
        node.properties["listeners"] = node.properties["listeners"].replace(str(node.port), str(self.nodes[1].port), 1)
        node.cluster_id = "AAAAAAAAAAAAAAAAAAAAAA"
        return node


@contextmanager
def failed(log_dir: Path) -> Iterator[None]:
    """The path is a file meanwhile, since root may write into any directory."""
    aside = log_dir.with_name(f"{log_dir.name}.away")
    log_dir.rename(aside)
    log_dir.touch()
    try:
        yield
    finally:
        log_dir.unlink()
        aside.rename(log_dir)


@asynccontextmanager
async def kraft_world(
    version: str, folder: Path, controllers: Sequence[int], more: Mapping[int, Mapping[str, str]]
) -> AsyncIterator[KRaftWorld]:
    """`more`: settings of single brokers."""
    async with started(KRaftWorld(version, folder, controllers, more)) as world:
        yield world


@asynccontextmanager
async def started(world: KRaftWorld) -> AsyncIterator[KRaftWorld]:
    nodes = [*world.nodes.values()]
    try:
        await start_all(nodes)
        yield world
    finally:
        await asyncio.gather(*(one.kill() for one in nodes))
