"""Kafka 4.1.0 in KRaft mode, for features that ZooKeeper mode lacks. Node 1 is the only controller and a broker."""

import asyncio
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .cluster import DEFAULTS, JVM, STARTED
from .jars import classpath
from .ports import kept_ports
from .process import LoggedProcess

VERSION = "4.1.0"
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_LOG4J = Path(__file__).with_name("log4j2.properties")


class KRaftNode(LoggedProcess):
    """One node. `properties`: server.properties without directories. `controller`: the controller's address."""

    def __init__(
        self, node_id: int, port: int, directory: Path, properties: Mapping[str, str], jvm: Sequence[str] = JVM
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "node.log")
        self.id = node_id
        self.port = port
        self.controller = properties["controller.quorum.voters"].partition("@")[2]
        self._java = [*jvm, f"-Dlog4j2.configurationFile={_LOG4J}", "-cp", classpath(VERSION)]
        self._config = directory / "server.properties"
        properties = {"log.dirs": str(directory / "data"), **properties}
        self._config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    async def start(self) -> None:
        """Format the node's directory and start it; returns once its log says that it has started."""
        format_it = [
            "java",
            *self._java,
            "kafka.tools.StorageTool",
            "format",
            "-t",
            _CLUSTER_ID,
            "-c",
            str(self._config),
        ]
        await asyncio.to_thread(lambda: subprocess.run(format_it, check=True, stdout=subprocess.DEVNULL))
        self.launch(["java", *self._java, "kafka.Kafka", str(self._config)])
        await self.wait_for_line(STARTED, 240)


def kraft_cluster(
    directory: Path,
    ids: Iterable[int] = (1, 2),
    per_node: Mapping[int, Mapping[str, str]] | None = None,
    *,
    jvm: Sequence[str] = JVM,
) -> list[KRaftNode]:
    """The nodes of a cluster, not started yet."""
    ids = list(ids)
    controller_port, *ports = kept_ports(len(ids) + 1)
    common = {key: value for key, value in DEFAULTS.items() if not key.startswith("zookeeper.")}
    common |= {
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    nodes = []
    for node_id, port in zip(ids, ports, strict=True):
        listeners = f"PLAINTEXT://127.0.0.1:{port}"
        if node_id == 1:
            own = {
                "process.roles": "broker,controller",
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller_port}",
            }
        else:
            own = {"process.roles": "broker", "listeners": listeners}
        own |= {"node.id": str(node_id), **(per_node or {}).get(node_id, {})}
        nodes.append(KRaftNode(node_id, port, directory / str(node_id), {**common, **own}, jvm))
    return nodes
