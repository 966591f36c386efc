"""What the sentences of docs/migrate.md say of processes: brokers and controllers restart, servers stop."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

from kafka_reassign_rpc.security.properties import parse_properties
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.mixed_clusters.mixed_cluster import MixedCluster
from tests.stock.kraft import MigratingController

from .page import Done, put_program, put_stock_tools

_RELEASE = re.compile(r"kafka_2\.13-(\S+)")

KRAFT = 3000
WAITS = re.compile(rb"Still waiting for ZK brokers .* found in metadata to register with KRaft")
DONE = re.compile(rb"Completed migration of metadata from ZooKeeper to KRaft")


async def cluster_id(zk: ZooKeeper) -> str:
    return str(json.loads((await zk.get(znode_paths.CLUSTER_ID))[0])["id"])


class Hosts:
    """`folder`: of the cluster; each broker has its own below it.

    replaced  the addresses and folders of the page, by those of this cluster
    done      what is done with blocks that are not the operator's, by their titles
    """

    def __init__(self, mixed: MixedCluster, kraft: MigratingController, folder: Path) -> None:
        self._mixed = mixed
        self.kraft = kraft
        self._folder = folder
        self.programs = folder / "bin"
        put_stock_tools(self.programs)
        put_program(self.programs, "systemctl", f"kill {mixed.cluster.servers[mixed.server].pid}")
        self.replaced = {
            "zk1:2181,zk2:2181/kafka": mixed.cluster.connect,
            "broker1:9092,broker2:9092,broker3:9092": mixed.stock.bootstrap,
            "kraft1:9093": kraft.controller,
            "/var/lib/kafka-controller": str(folder / "kraft" / "data"),
            "/var/lib/kafka/": "data/",
            "/opt/": f"{self.programs}/",
        }
        self.done: dict[str, Done] = {
            "controller.properties": self._controller_file,
            "on the host of each controller, again": self._no_controllers_files,
            "on the host of each server": self._servers,
            "on each broker": self._joining_brokers,
            "on each broker in KRaft mode": self._brokers_in_kraft_mode,
            "on each broker, back": self._brokers,
            "on each controller": self._controllers,
            "on each controller, then on each broker": self._upgraded,
        }

    @classmethod
    async def of(cls, mixed: MixedCluster, folder: Path) -> "Hosts":
        kraft = MigratingController(KRAFT, mixed.cluster.connect, await cluster_id(mixed.zk), folder / "kraft")
        return cls(mixed, kraft, folder)

    async def _controller_file(self, text: str) -> None:
        (self._folder / "controller.properties").write_text(text)
        self.kraft.properties = parse_properties(text)

    async def _no_controllers_files(self, text: str) -> None:
        await self._run(text, self._folder)

    async def _servers(self, text: str) -> None:
        await self._run(text, self._folder)
        assert await self._mixed.cluster.servers[self._mixed.server].ended() == 0

    async def _joining_brokers(self, text: str) -> None:
        """The controllers wait for them."""
        if not self.kraft.is_running:
            await self.kraft.start()
        await self._brokers(text)

    async def _brokers(self, text: str) -> None:
        """One after the other."""
        for broker in self._mixed.stock.brokers:
            await self.broker(broker, text)

    async def _brokers_in_kraft_mode(self, text: str) -> None:
        for number, broker in self._mixed.stock.brokers.items():
            if "process.roles" in broker.properties:
                await self.broker(number, text)

    async def broker(self, number: int, text: str) -> None:
        broker = self._mixed.stock.brokers[number]
        await broker.stop()
        file = self._folder / str(number) / "server.properties"
        await self._run(text, file.parent)
        broker.properties = parse_properties(file.read_text())
        del broker.properties["listeners"]  # a start writes the port that was found at the first one
        await broker.start()

    async def _controllers(self, text: str) -> None:
        await self.kraft.kill()
        await self._run(text, self._folder)
        self.kraft.properties = parse_properties((self._folder / "controller.properties").read_text())
        await self.kraft.start()

    async def _upgraded(self, text: str) -> None:
        (version,) = _RELEASE.findall(text)
        self.kraft.version = version
        await self._controllers(text)
        for number, broker in self._mixed.stock.brokers.items():
            broker.version = version
            await self.broker(number, text)

    async def _run(self, text: str, folder: Path) -> None:
        path = f"{self.programs}:/usr/bin:/bin"
        words = ["bash", "-euo", "pipefail", "-c", text]
        await asyncio.to_thread(lambda: subprocess.run(words, cwd=folder, env={"PATH": path}, check=True))
