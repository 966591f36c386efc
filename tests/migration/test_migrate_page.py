"""docs/migrate.md, word for word, on stock brokers under load that our server controls at the beginning."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from kafka_reassign_rpc.security.properties import parse_properties
from tests.mixed_clusters.mixed_cluster import BROKERS, MixedCluster, behind_our_server
from tests.mixed_clusters.test_migration_to_kraft import KRAFT, cluster_id
from tests.stock.kraft import MigratingController
from tests.stock.tools import Tools

from .page import carry_out, put_program, put_stock_tools, section, shell

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(600)]

RATE = 150_000


class Hosts:
    """What the page's sentences say of processes: brokers and controllers are restarted, servers are stopped."""

    def __init__(self, mixed: MixedCluster, kraft: MigratingController, folder: Path) -> None:
        self._mixed = mixed
        self._kraft = kraft
        self._folder = folder
        self.done = {
            "controller.properties": self.controller_file,
            "on the host of each server": self.servers,
            "on each broker": self.brokers,
            "on each controller": self.controllers,
        }

    async def controller_file(self, text: str) -> None:
        (self._folder / "controller.properties").write_text(text)
        self._kraft.properties = parse_properties(text)

    async def servers(self, text: str) -> None:
        await asyncio.to_thread(self._run, text, self._folder)
        assert await self._mixed.cluster.servers[self._mixed.server].ended() == 0

    async def brokers(self, text: str) -> None:
        """One after the other. Each is a follower in sync again before the next one goes."""
        if not self._kraft.is_running:
            await self._kraft.start()
        for broker in self._mixed.stock.brokers.values():
            await broker.stop()
            file = self._folder / str(broker.id) / "server.properties"
            await asyncio.to_thread(self._run, text, file.parent)
            broker.properties = parse_properties(file.read_text())
            del broker.properties["listeners"]  # a start writes the port that was found at the first one
            await broker.start()

    async def controllers(self, text: str) -> None:
        await self._kraft.kill()
        await asyncio.to_thread(self._run, text, self._folder)
        self._kraft.properties = parse_properties((self._folder / "controller.properties").read_text())
        await self._kraft.start()

    def _run(self, text: str, folder: Path) -> None:
        path = f"{self._folder / 'bin'}:/usr/bin:/bin"
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env={"PATH": path}, check=True)


async def test_mg_5_the_page_takes_a_cluster_under_load_to_kraft_word_for_word_and_nothing_is_lost_or_left(
    tmp_path: Path,
) -> None:
    replicas = {"offsets.topic.replication.factor": "3"}
    async with behind_our_server(tmp_path, BROKERS, overrides=replicas) as mixed:
        connect, cluster = mixed.cluster.connect, mixed.cluster
        kraft = MigratingController(KRAFT, connect, await cluster_id(mixed.zk), tmp_path / "kraft")
        put_stock_tools(tmp_path / "bin")
        put_program(tmp_path / "bin", "systemctl", f"kill {cluster.servers['a'].pid}")
        replaced = {
            "zk1:2181,zk2:2181/kafka": connect,
            "broker1:9092,broker2:9092,broker3:9092": mixed.stock.bootstrap,
            "kraft1:9093": kraft.controller,
            "/var/lib/kafka-controller": str(tmp_path / "kraft" / "data"),
        }
        await mixed.create("load", {0: (1, 2, 3), 1: (2, 3, 1)})
        await mixed.create("moves", {0: (1, 2)})
        await mixed.create("waits", {0: (1, 2)})
        await cluster.configure("a", {"partition.reassignments.max.per.cluster": "1"})
        targets = {("moves", 0): (2, 3), ("waits", 0): (2, 3)}
        assert set((await cluster.alter("a", targets, throttle=RATE)).values()) == {0}
        await cluster.configure("a", {"partition.reassignments.enabled": "false"})  # so one of them waits
        try:
            async with mixed.load("load", 2), shell(tmp_path, tmp_path / "bin") as operator:
                hosts = Hosts(mixed, kraft, tmp_path)
                await carry_out(section("The way"), operator, replaced, hosts.done)
            kept = json.loads((tmp_path / "left.json").read_bytes())
            assert len(kept["partitions"]) == 1
            assert set(await mixed.zk.children("/admin")) == {"delete_topics"}
            await nothing_throttles(mixed.stock.bootstrap)
        finally:
            await kraft.kill()


async def nothing_throttles(bootstrap: str) -> None:
    with Tools("3.9.1") as tools:
        for kind in ("brokers", "topics"):
            shown = await tools.run("configs", "--bootstrap-server", bootstrap, "--entity-type", kind, "--describe")
            assert shown.code == 0, shown
            assert "throttled" not in shown.out
