"""Kafka in KRaft mode: 4.1.0 for features that ZooKeeper mode lacks, where node 1 is the only controller and a broker;
and controllers of 3.9.1, to which a cluster migrates.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kafka_reassign_rpc.client import AsyncReassignmentClient
from tests.waiting import eventually

from . import formatted_dirs, loaded_classes
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
        if not formatted_dirs.are_formatted(self.properties):
            await asyncio.to_thread(
                formatted_dirs.write, self.version, jvm, self.cluster_id, self._config, self.properties
            )
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
            "controller.quorum.voters": f"{node_id}@127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        """What a broker needs as well when it is restarted for the migration."""
        own = {
            "process.roles": "controller",
            "node.id": str(node_id),
            "listeners": f"CONTROLLER://127.0.0.1:{port}",
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
    common |= {
        "controller.quorum.voters": ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in voters.items()),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    nodes = []
    for voter, port in voters.items():
        if voter not in ids:
            own = {"process.roles": "controller", "listeners": f"CONTROLLER://127.0.0.1:{port}", "node.id": str(voter)}
            own |= (per_node or {}).get(voter, {})
            nodes.append(KRaftNode(voter, port, directory / str(voter), {**common, **own}, jvm, version))
    for node_id, port in zip(ids, ports, strict=True):
        listeners = f"PLAINTEXT://127.0.0.1:{port}"
        if node_id in voters:
            own = {
                "process.roles": "broker,controller",
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{voters[node_id]}",
            }
        else:
            own = {"process.roles": "broker", "listeners": listeners}
        own |= {"node.id": str(node_id), **(per_node or {}).get(node_id, {})}
        nodes.append(KRaftNode(node_id, port, directory / str(node_id), {**common, **own}, jvm, version))
    return nodes
