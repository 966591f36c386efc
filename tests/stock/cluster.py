"""Stock Kafka brokers that begin in ZooKeeper mode, as processes: 3.9.1 or older, and after a migration newer ones.

Brokers choose a port at their first start and keep it over restarts. Every wait is for a line in the broker's
log or for the end of its process. Nothing here is bound to an event loop, so one
cluster may serve tests that each have a loop of their own.
"""

import asyncio
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from . import loaded_classes
from .jars import BROKER_VERSION
from .node_jvm import JVM, STARTED, java
from .process import LoggedProcess

_PORT = re.compile(rb"Awaiting socket connections on [^:\s]*:(\d+)")

DEFAULTS: Mapping[str, str] = {
    "controlled.shutdown.enable": "true",
    "controlled.shutdown.max.retries": "6",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "1048577",
    "log.cleaner.enable": "false",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "replica.fetch.max.bytes": "16384",
    "replica.lag.time.max.ms": "5000",
    "zookeeper.session.timeout.ms": "6000",
    "zookeeper.connection.timeout.ms": "30000",
    "file.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
"""Small, quick to notice a lost broker, and no background work that could change an assignment."""


class StockBroker(LoggedProcess):
    """One broker. `overrides` are server.properties on top of DEFAULTS; a start reads `properties` and `version`."""

    jvm: Sequence[str] = JVM
    version = BROKER_VERSION
    protocol = "PLAINTEXT"
    """Of its listener, where `properties` has none."""

    def __init__(self, node_id: int, zookeeper: str, directory: Path, overrides: Mapping[str, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "broker.log")
        self.id = node_id
        self.port = 0
        self._directory = directory
        self.properties = {
            **DEFAULTS,
            "broker.id": str(node_id),
            "zookeeper.connect": zookeeper,
            "log.dirs": str(directory / "data"),
            **overrides,
        }

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, timeout: float = 240) -> None:
        """Start the broker, after a stop with the same port; returns once its log says that it has started."""
        properties = {"listeners": f"{self.protocol}://127.0.0.1:{self.port}", **self.properties}
        path = self._directory / "server.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        jvm = (*self.jvm, *await loaded_classes.of_nodes(self.version, is_kraft="process.roles" in properties))
        self.launch([*java(self.version, jvm), "kafka.Kafka", str(path)])
        if not self.port:
            self.port = int((await self.wait_for_line(_PORT, timeout))[1])
        await self.wait_for_line(STARTED, timeout)

    def has(self, topic: str, partition: int) -> bool:
        """Whether it has the log of a replica of this partition, in its one log dir."""
        return (self._directory / "data" / f"{topic}-{partition}").exists()

    def erase(self) -> None:
        """Remove its files. The broker must not run."""
        shutil.rmtree(self._directory / "data", ignore_errors=True)


class StockCluster:
    """Brokers 3.9.1 with the given ids on the ZooKeeper at `zookeeper` (host:port, with a chroot if wanted)."""

    def __init__(
        self,
        zookeeper: str,
        directory: Path,
        ids: Iterable[int] = (1, 2, 3, 4, 5),
        *,
        overrides: Mapping[str, str] | None = None,
        per_broker: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        self.zookeeper = zookeeper
        self._directory = directory
        self._overrides = overrides or {}
        self.brokers = {node_id: self.broker(node_id, (per_broker or {}).get(node_id, {})) for node_id in ids}

    @property
    def bootstrap(self) -> str:
        """The addresses of the running brokers."""
        return ",".join(broker.address for broker in self.brokers.values() if broker.is_running)

    def broker(self, node_id: int, overrides: Mapping[str, str]) -> StockBroker:
        """A new broker of this cluster. The caller starts it and adds it to `brokers`; it then ends with them."""
        return StockBroker(node_id, self.zookeeper, self._directory / str(node_id), {**self._overrides, **overrides})

    async def start(self) -> None:
        """Start all at once; the first that registers becomes the controller."""
        await asyncio.gather(*(broker.start() for broker in self.brokers.values()))

    async def kill(self) -> None:
        """End every broker at once, without its controlled shutdown."""
        await asyncio.gather(*(broker.kill() for broker in self.brokers.values()))
