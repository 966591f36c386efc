"""Kafka in KRaft mode: 4.1.0 for features that ZooKeeper mode lacks, where node 1 is the only controller and a broker;
and controllers of 3.9.1, to which a cluster migrates.
"""

import asyncio
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from kafka_reassign_rpc.client import AsyncReassignmentClient
from kafka_reassign_rpc.embedded_kraft import (
    are_formatted,
    format_dirs,
    node_properties,
    quorum_properties,
)
from tests.waiting import eventually

from . import loaded_classes
from .cluster import DEFAULTS
from .jars import BROKER_VERSION
from .node_jvm import JVM, STARTED, java
from .ports import kept_ports
from .process import LoggedProcess

VERSION = "4.1.0"
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


class KRaftNode(LoggedProcess):
    """One node. `properties`: server.properties without directories. `controller`: the controller's address.

    A start reads `properties` and `version`.
    """

    version = VERSION
    cluster_id = _CLUSTER_ID
    options: Sequence[str] = ()
    """Further ones of its JVM."""

    def __init__(
        self,
        node_id: int,
        port: int,
        directory: Path,
        properties: Mapping[str, str],
        jvm: Sequence[str] = JVM,
        version: str | None = None,
    ) -> None:
        if version is not None:
            self.version = version
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "node.log")
        self.id = node_id
        self.port = port
        self.controller = properties["controller.quorum.voters"].partition("@")[2].partition(",")[0]
        self._jvm = jvm
        self._config = directory / "server.properties"
        self.properties = {"log.dirs": str(directory / "data"), **properties}

    async def start(self) -> None:
        """Start the node with `properties`, and format its directory before the first start; returns once its log says
        that it has started."""
        self._config.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        jvm = (*self._jvm, *await loaded_classes.of_nodes(self.version, is_kraft=True))
        if not are_formatted(self.properties):
            run_java = partial(_run_java, self.version, jvm)
            await asyncio.to_thread(format_dirs, self.version, run_java, self.cluster_id, self._config, self.properties)
        self.launch([*java(self.version, (*jvm, *self.options)), "kafka.Kafka", str(self._config)])
        await self.wait_for_line(STARTED, 240)


class MigratingController(KRaftNode):
    """A controller of 3.9.1 that takes over the brokers of this ZooKeeper as soon as they let it."""

    version = BROKER_VERSION

    def __init__(self, node_id: int, zookeeper: str, cluster_id: str, directory: Path) -> None:
        [port] = kept_ports(1)
        self.cluster_id = cluster_id
        self.of_brokers: Mapping[str, str] = {
            "zookeeper.metadata.migration.enable": "true",
            **quorum_properties({node_id: port}),
        }
        """What a broker needs as well when it is restarted for the migration."""
        own = {
            **node_properties(node_id, None, port),
            "zookeeper.connect": zookeeper,
            "zookeeper.session.timeout.ms": DEFAULTS["zookeeper.session.timeout.ms"],
        }
        super().__init__(node_id, port, directory, {**self.of_brokers, **own})


async def start_all(nodes: Sequence[KRaftNode]) -> None:
    """Returns once each broker names all: kafka-python fails at once where the controller's address is not known."""
    await asyncio.gather(*(node.start() for node in nodes))

    async def all_are_named() -> bool:
        for node in nodes:
            async with AsyncReassignmentClient(bootstrap_servers=f"127.0.0.1:{node.port}") as client:
                if len(await client.describe_cluster()) < len(nodes):
                    return False
        return True

    await eventually(all_are_named, within=60)


def kraft_cluster(
    directory: Path,
    ids: Iterable[int] = (1, 2),
    per_node: Mapping[int, Mapping[str, str]] | None = None,
    *,
    controllers: Sequence[int] = (1,),
    jvm: Sequence[str] = JVM,
    version: str = VERSION,
) -> list[KRaftNode]:
    """The nodes of a cluster, not started yet: brokers with these ids. `controllers`: the voters, some of which may be
    brokers as well."""
    ids = list(ids)
    all_ports = kept_ports(len(ids) + len(controllers))
    ports, voters = all_ports[: len(ids)], dict(zip(controllers, all_ports[len(ids) :], strict=True))
    common = {key: value for key, value in DEFAULTS.items() if not key.startswith("zookeeper.")}
    common |= quorum_properties(voters)
    brokers = dict(zip(ids, ports, strict=True))

    def node(id_: int, port: int) -> KRaftNode:
        own = node_properties(id_, brokers.get(id_), voters.get(id_)) | dict((per_node or {}).get(id_, {}))
        return KRaftNode(id_, port, directory / str(id_), {**common, **own}, jvm, version)

    of_controllers_alone = {id_: port for id_, port in voters.items() if id_ not in brokers}
    return [node(id_, port) for id_, port in (of_controllers_alone | brokers).items()]


def _run_java(version: str, jvm: Sequence[str], command: Sequence[str]) -> None:
    subprocess.run([*java(version, jvm), *command], check=True, stdout=subprocess.DEVNULL)
