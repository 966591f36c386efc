"""A cluster of stock Kafka in KRaft mode: its nodes as child processes of this one."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.embedded_kraft import formatted_dirs, node_properties
from kafka_reassign_rpc.embedded_kraft.kafka_jars import KAFKA_VERSION, class_path
from kafka_reassign_rpc.embedded_kraft.kept_ports import kept_ports
from kafka_reassign_rpc.embedded_kraft.node_properties import HOST
from kafka_reassign_rpc.embedded_zookeeper.child_process import InUse, locked, tied_to_us
from kafka_reassign_rpc.embedded_zookeeper.java import QUICK_START, find_java

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

        if not formatted_dirs.are_formatted(properties):
            formatted_dirs.write(KAFKA_VERSION, run_java, self._cluster_id(), self._config(node), properties)

    def _properties(self, node: int) -> dict[str, str]:
        return {
            **SETTINGS,
            **node_properties.of_quorum(self._of_controllers),
            **node_properties.of_node(node, self._ports[node], self._of_controllers[node]),
            "broker.rack": RACKS[node - 1],
            "log.dirs": str(self._folder(node) / "data"),
        }

    def _cluster_id(self) -> str:
        """The same for all nodes, and at every start."""
        file = self.data_dir / "cluster.id"
        if not file.exists():
            file.write_text(formatted_dirs.new_id())
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
