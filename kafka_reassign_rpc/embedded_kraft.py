"""A cluster of stock Kafka in KRaft mode: its nodes as child processes of this one. It needs Java, and Maven, which
fetches Kafka's jars from its central repository once (`~/.m2`).

Ports are for JVMs that bind them only seconds after they were chosen. The directories of a node are as
`kafka-storage.sh format` makes them. That tool is a JVM of its own: in each process it runs for the first node of a
kind. The metadata that it leaves do not name the node, so later nodes get a copy, and an identity of their own.
"""

import asyncio
import os
import random
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Self
from uuid import uuid4

from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.embedded_zookeeper import QUICK_START, InUse, find_java, locked, tied_to_us

KAFKA_VERSION = "4.1.0"
_LOG4J_VERSION = "2.24.3"
"""As Kafka's distribution of this version has it."""
LONGEST_S = 900
"""Some 100 MB have to come."""
_DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>
    </dependency>"""
_POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>embedded</groupId>
  <artifactId>kafka</artifactId>
  <version>{KAFKA_VERSION}</version>
  <packaging>pom</packaging>
  <dependencies>{_DEPENDENCY.format("org.apache.kafka", "kafka_2.13", KAFKA_VERSION)}{
    _DEPENDENCY.format("org.apache.logging.log4j", "log4j-slf4j-impl", _LOG4J_VERSION)
}
  </dependencies>
</project>
"""
_ADVICE = "or serve a cluster of yours: --bootstrap-server"


class JarsUnavailable(RuntimeError):
    """The message says what to install, or why Maven cannot fetch them."""


def class_path(directory: Path) -> str:
    """What Maven has found is kept in this directory. Blocks. Raises JarsUnavailable."""
    found = directory / f"classpath-{KAFKA_VERSION}"
    if (known := _known(found)) is not None:
        return known
    pom = directory / f"kafka-{KAFKA_VERSION}.xml"
    pom.write_text(_POM)
    run_maven(pom, "dependency:build-classpath", f"-Dmdep.outputFile={found}")
    return found.read_text().strip()


def run_maven(pom: Path, *goal: str) -> None:
    """`pom` names what it fetches by its own name. Blocks. Raises JarsUnavailable."""
    command = ["mvn", "-q", "-B", "-f", str(pom), "-DincludeScope=runtime", *goal]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except FileNotFoundError:
        raise JarsUnavailable(
            f"Maven is needed, which fetches the jars of Kafka: install it so that mvn is on the PATH, {_ADVICE}"
        ) from None
    except subprocess.TimeoutExpired:
        raise JarsUnavailable(f"Maven does not get the jars of {pom.stem} in {LONGEST_S} s") from None
    if result.returncode:
        why = next((line for line in result.stdout.splitlines() if line.startswith("[ERROR]")), "it does not say why")
        raise JarsUnavailable(f"Maven does not get the jars of {pom.stem}, {_ADVICE}: {why}")


def _known(found: Path) -> str | None:
    """None where a jar is gone, too."""
    path = found.read_text().strip() if found.exists() else ""
    return path if path and all(Path(one).exists() for one in path.split(os.pathsep)) else None


HOST = "127.0.0.1"


def quorum_properties(voters: Mapping[int, int]) -> dict[str, str]:
    """What each node knows of the controllers: their ports by id."""
    return {
        "controller.quorum.voters": ",".join(f"{voter}@{HOST}:{port}" for voter, port in voters.items()),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def node_properties(node: int, as_broker: int | None, as_controller: int | None) -> dict[str, str]:
    """`as_broker`, `as_controller`: its port in this role; None: it has not that role."""
    roles = {"broker": ("PLAINTEXT", as_broker), "controller": ("CONTROLLER", as_controller)}
    listeners = {role: f"{name}://{HOST}:{port}" for role, (name, port) in roles.items() if port is not None}
    return {
        "process.roles": ",".join(listeners),
        "node.id": str(node),
        "listeners": ",".join(listeners.values()),
    }


FIRST_PORT = 10_000
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux takes ports from here where a program lets it choose."""
USUAL_END = 32_768
"""Where other systems begin to, at the earliest."""


def kept_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Free ports, all different, below those that the system gives to others meanwhile."""
    end = int(PORT_RANGE.read_text().split()[0]) if PORT_RANGE.exists() else USUAL_END
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(FIRST_PORT, end)
        if port not in found and is_free(host, port):
            found.append(port)
    return found


def is_free(host: str, port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return False
        return True


_META = "meta.properties"
_lock = Lock()
_left: dict[tuple[str, str, int, bool], list[dict[str, bytes]]] = {}
"""By version, roles, number of log dirs, and whether metadata have a dir of their own: for each dir what the tool has
left there besides `meta.properties`."""


def are_formatted(properties: Mapping[str, str]) -> bool:
    return all((folder / _META).exists() for folder in _folders(properties))


def format_dirs(
    version: str,
    run_java: Callable[[list[str]], object],
    cluster_id: str,
    config: Path,
    properties: Mapping[str, str],
) -> None:
    """`config`: the file with these properties. `run_java` runs a class of Kafka with arguments, and raises what ends
    this. Blocks."""
    folders = _folders(properties)
    kind = version, properties["process.roles"], len(folders), "metadata.log.dir" in properties
    with _lock:
        if kind not in _left:
            # an id of ZooKeeper mode may begin with "-"
            run_java(["kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(config)])
            _left[kind] = [_files(folder) for folder in folders]
            return
    for folder, files in zip(folders, _left[kind], strict=True):
        own = {"version": "1", "cluster.id": cluster_id, "node.id": properties["node.id"], "directory.id": new_id()}
        meta = "".join(f"{key}={value}\n" for key, value in own.items()).encode()
        for name, content in {**files, _META: meta}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def new_id() -> str:
    """Of a cluster or a directory. Kafka's are never like an option."""
    while (made := topic_id_text(uuid4())).startswith("-"):
        """The next one."""
    return made


def _folders(properties: Mapping[str, str]) -> list[Path]:
    names = properties["log.dirs"].split(",")
    if "metadata.log.dir" in properties:
        names.append(properties["metadata.log.dir"])
    return [Path(name) for name in names]


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != _META)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


NODES = (1, 2, 3)
RACKS = "abc"
HEAP_MB = 256
START_S, STOP_S, LOOK_S = 180.0, 15.0, 0.5
SETTINGS: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "controlled.shutdown.enable": "false",  # all nodes end at once, so nobody takes over
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "log.index.size.max.bytes": "1048576",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
"""Besides Kafka's defaults: it starts quickly, and ends at once."""
_LOG4J = """status = off
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
"""


class KRaftFailed(RuntimeError):
    """The message names the log of the node."""


class EmbeddedKRaft:
    """`async with EmbeddedKRaft(data_dir) as cluster: cluster.bootstrap`.

    data_dir   records and metadata, and the nodes' logs; created if absent, kept, and locked while in use

    Its ports are chosen when it is made. Start it from a thread that lives as long as the cluster should.
    """

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.data_dir = Path(data_dir).absolute()
        ports = kept_ports(2 * len(NODES), HOST)
        self._ports = dict(zip(NODES, ports, strict=False))
        self._of_controllers = dict(zip(NODES, ports[len(NODES) :], strict=True))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._lock: IO[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self._ports.values())

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Waits until all brokers are registered. Raises JavaNotFound, JarsUnavailable, KRaftFailed."""
        self._take_lock()
        try:
            java, jars = await asyncio.to_thread(lambda: (find_java(), class_path(self.data_dir)))
            for node in NODES:
                await asyncio.to_thread(self._format, node, java, jars)
            for node in NODES:
                self._processes[node] = self._child(node, java, jars, "kafka.Kafka", str(self._config(node)))
            async with asyncio.timeout(START_S):
                await self._registered()
        except TimeoutError:
            await self.stop()
            raise KRaftFailed(f"the brokers are not there after {START_S:g} s: see {self._log(NODES[0])}") from None
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Ends all nodes and unlocks the data directory."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                await asyncio.to_thread(process.wait, STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                await asyncio.to_thread(process.wait)
        self._processes.clear()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def _registered(self) -> None:
        from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError  # the jars alone need none

        while True:
            self._check()
            with suppress(KafkaError, OSError):
                async with AsyncReassignmentClient(bootstrap_servers=self.bootstrap) as client:
                    if len(await client.describe_cluster()) == len(NODES):
                        return
            await asyncio.sleep(LOOK_S)

    def _check(self) -> None:
        for node, process in self._processes.items():
            if process.poll() is not None:
                last = self._log(node).read_text(errors="replace").strip().splitlines()[-1:]
                raise KRaftFailed(f"broker {node} has ended: {''.join(last)[:300]} (see {self._log(node)})")

    def _format(self, node: int, java: str, jars: str) -> None:
        """Blocks."""
        folder = self._folder(node)
        folder.mkdir(exist_ok=True)
        properties = self._properties(node)
        self._config(node).write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        (folder / "log4j2.properties").write_text(_LOG4J)

        def run_java(command: list[str]) -> None:
            if self._child(node, java, jars, *command).wait():
                raise KRaftFailed(f"the data of broker {node} cannot be prepared: see {self._log(node)}")

        if not are_formatted(properties):
            format_dirs(KAFKA_VERSION, run_java, self._cluster_id(), self._config(node), properties)

    def _properties(self, node: int) -> dict[str, str]:
        return {
            **SETTINGS,
            **quorum_properties(self._of_controllers),
            **node_properties(node, self._ports[node], self._of_controllers[node]),
            "broker.rack": RACKS[node - 1],
            "log.dirs": str(self._folder(node) / "data"),
        }

    def _cluster_id(self) -> str:
        """The same for all nodes, and at every start."""
        file = self.data_dir / "cluster.id"
        if not file.exists():
            file.write_text(new_id())
        return file.read_text().strip()

    def _child(self, node: int, java: str, jars: str, *command: str) -> subprocess.Popen[bytes]:
        """Bound to the thread that starts it. Ctrl-C reaches us, and we stop the nodes in our own order."""
        assert self._lock is not None
        logging = f"-Dlog4j2.configurationFile={self._folder(node) / 'log4j2.properties'}"
        jvm = (java, "-Xms96m", f"-Xmx{HEAP_MB}m", *QUICK_START, logging, "-cp", jars)
        with self._log(node).open("ab") as log:
            return subprocess.Popen(
                tied_to_us([*jvm, *command]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder(node),
                start_new_session=True,
                pass_fds=(self._lock.fileno(),),
            )

    def _folder(self, node: int) -> Path:
        return self.data_dir / f"broker-{node}"

    def _config(self, node: int) -> Path:
        return self._folder(node) / "server.properties"

    def _log(self, node: int) -> Path:
        return self._folder(node) / "broker.log"

    def _take_lock(self) -> None:
        try:
            self._lock = locked(self.data_dir)
        except InUse as error:
            raise KRaftFailed(f"{self.data_dir} is in use by another embedded cluster") from error
